"""Poison records: the record on which a sink has failed is found, kept and skipped."""

"""Poison records: the record on which a failed sink stands is found, kept and skipped."""

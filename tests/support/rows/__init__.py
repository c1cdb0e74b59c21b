"""Datasets and values that a test makes up."""

"""Connectors that are created at offsets, copied, renamed and deleted with their offsets."""

"""Imports of offsets where workers store them."""

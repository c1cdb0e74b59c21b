"""Orphaned offsets: finding and removing them, proved by reading back."""

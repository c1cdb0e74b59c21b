"""Orphaned offsets, found among all that the offsets topics hold."""

"""Orphaned offsets: their snapshot and removal (``orphans``), and the saga of a removal (``orphan_stages``)."""

"""Commit of translated offsets to consumer groups (``group_commit``), and their restore (``group_restore``)."""

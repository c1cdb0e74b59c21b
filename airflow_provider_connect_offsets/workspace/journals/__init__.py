"""Journals of operations, and the audit log, as files of a workspace."""

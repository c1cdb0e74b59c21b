"""Snapshots of a Connect cluster: take and compare them, and restore one."""

"""Compare two snapshots of a Connect cluster: job ``offset-changes``."""

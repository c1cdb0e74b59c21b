"""What changed between two snapshots of a Connect cluster: its report."""

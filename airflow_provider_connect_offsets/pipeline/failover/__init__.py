"""Translate the positions of consumer groups for a failover or failback, and judge it: job ``translation``."""

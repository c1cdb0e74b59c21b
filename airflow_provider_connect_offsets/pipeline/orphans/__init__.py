"""Find offsets of connectors that no longer exist: job ``orphans``."""

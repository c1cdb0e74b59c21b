"""Plan a change of a connector's offsets, and judge it: job ``plan``."""

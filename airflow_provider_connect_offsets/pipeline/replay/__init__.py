"""Plan bounded replays: job ``replay``."""

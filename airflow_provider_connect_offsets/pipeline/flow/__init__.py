"""Judge a MirrorMaker 2 flow's readiness, and plan its reset: jobs ``readiness`` and ``mirror-reset``."""

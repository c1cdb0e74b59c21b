"""A MirrorMaker 2 flow's readiness and reset."""

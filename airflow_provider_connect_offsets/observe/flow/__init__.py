"""One way to observe a MirrorMaker 2 flow, for its reset, failover, failback and readiness."""

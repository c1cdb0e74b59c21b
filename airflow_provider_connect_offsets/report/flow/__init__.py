"""Reports on flows of MirrorMaker 2: reset, failover, readiness."""

"""Observations of a MirrorMaker 2 flow, shared by its reset, failover, failback and readiness.

Entry points, one for each operation:

- ``flow_snapshot``: the snapshot of a reset
- ``failover``: groups, logs and records of a failover, until the commit; ``failback``: the opposite flow
- ``readiness``: the snapshot of a readiness report; ``ledger_observed``: what it keeps in case the source is lost

What they share:

- ``remote_partitions``: both logs of each replicated partition, and how far replication has come
- ``observed_groups``: consumer groups, offset syncs and checkpoints
- ``topic_ids``: ids of the topics on both clusters
- ``single_records``, ``compared``, ``bisected``: offset mappings, proved by records of both logs
- ``kept_mappings``: the mappings at which resets have stopped the flow
"""

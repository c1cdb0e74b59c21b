"""Read-only observations of connectors, logs and flows, written as datasets.

- ``clients``: the clients that observations and operations use, and how long they wait
- ``snapshot``: a connector, its offsets and its logs, as the datasets that a plan is made from
- ``cluster_snapshot``: all connectors of a Connect cluster, to be kept
- ``log_positions``, ``slots``: whether the records, or the changes of a PostgreSQL, at the positions of a change still
  exist
- ``lag``, ``positions``, ``waiting``: how far connectors are, for sensors and triggers
- ``failed_records``: the records on which a sink has failed; ``replay``: an interval of time in the logs
- ``stored_records``, ``partitions``: rows of internal topics, and partitions that exist
- ``flow``: a MirrorMaker 2 flow, for its reset, failover, failback and readiness

Nothing is imported here: the modules import confluent-kafka, which parsing a DAG must not do.
"""

"""Read-only observations of connectors, logs and flows, written as datasets.

- ``clients``: the clients that observations and operations use, and how long they wait
- ``snapshot``: a connector, its offsets and its logs, as the datasets that a plan is made from
- ``log_positions``: whether the records at the positions of a change are still in their logs
- ``lag``, ``positions``, ``waiting``: how far connectors are, for sensors and triggers
- ``stored_records``, ``partitions``: rows of internal topics, and partitions that exist
- ``flow``: a MirrorMaker 2 flow, for its reset, failover, failback and readiness

Nothing is imported here: the modules import confluent-kafka, which parsing a DAG must not do.
"""

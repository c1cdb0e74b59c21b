"""What the suites share, one package for each kind of thing.

- ``model``: the model of replicated partitions: random histories, what is true of them, and both as datasets.
- ``airflow``: DAG runs under Airflow: started by its command, its scheduler or its UI, and what Airflow says of them.
- ``faults``: operations that are broken on purpose, at each step, and what must be true afterwards.
- ``programs``: what that tests start: processes that die in the midst, Java, shells, ``spark-submit``.
- ``flows``: connectors and MirrorMaker 2 flows that run in the sandbox, and operations on them without Airflow.
- ``rows``: datasets and values that a test makes up.
"""

"""What the suites share, one package for each kind of thing.

- ``airflow``: DAG runs by ``airflow``, the scheduler or the UI, DAGs whose tasks break, and the results of runs.
- ``faults``: operations that are broken at each step, and checks of the state afterwards.
- ``flows``: connectors, flows and consumer groups of the sandbox, and operations on them without Airflow.
- ``model``: a model of one replicated partition: random histories, the truth on them, and both as datasets.
- ``programs``: processes that tests start: ones that die half-way, Java, shells, ``spark-submit``; and compose files.
- ``rows``: datasets and values that a test makes up.
- ``workers``: Connect workers that answer by script, and proxies in front of real ones.
"""

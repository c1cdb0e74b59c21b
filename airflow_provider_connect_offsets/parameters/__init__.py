"""Parameters that no Spark job needs; those of requests are in ``offsets.requests``, which defines how both are made.

``connections`` Airflow connections · ``change`` one connector or many · ``backfill`` the records of an interval
· ``copying`` new connectors, copies and renames · ``snapshots`` which are kept or restored · ``flow`` of
MirrorMaker 2 · ``failover`` consumer groups · ``poison`` and ``orphans`` what is done with what was found ·
``tasks`` what tasks hand on to each other, and what only code gives · ``sensors`` what is awaited · ``taking``
how operators, sensors and task groups take them.
"""

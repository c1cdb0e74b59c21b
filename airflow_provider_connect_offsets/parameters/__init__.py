"""Each parameter once: its title, meaning, default and example; operators, task groups, DAG Params and docs follow.

``fields`` how a parameter is defined · ``connections`` Airflow connections · ``change`` one connector or many ·
``backfill`` the records of an interval · ``copying`` new connectors, copies and renames · ``snapshots`` of a Connect
cluster · ``flow`` reset and readiness of a MirrorMaker 2 flow · ``failover`` consumer groups · ``poison`` the record
that makes a sink fail · ``orphans`` stored offsets without a connector · ``tasks`` what tasks hand on to each other,
and what only code gives · ``sensors`` what is awaited · ``taking`` how operators, sensors and task groups take them.
"""

"""From Airflow connections and configuration to clients, directories and failures.

``kafka_connect`` and ``kafka`` the two connections · ``storage`` the storage fields of a Connect connection ·
``strimzi`` its fields of Strimzi, with the ``kubernetes`` connection · ``clients`` the clients of a change ·
``flow`` of the reset of a MirrorMaker 2 flow · ``failover`` of a failover · ``snapshots`` of a snapshot of a Connect
cluster · ``database`` the database that a connector reads · ``connections`` and ``connect_endpoint`` how connections
are read · ``runs`` directories of a run · ``reports`` URLs of reports · ``failures`` errors as failed tasks.
"""

"""Makes clients, run directories and task failures from Airflow connections and configuration.

``kafka_connect`` and ``kafka`` the two connections · ``storage`` the storage fields of a Connect connection ·
``strimzi`` its Strimzi fields, with the ``kubernetes`` connection · ``clients`` the clients of a change, or of the
reset of a MirrorMaker 2 flow · ``failover`` of a failover · ``snapshots`` of a snapshot of a Connect cluster ·
``database`` the database that a connector reads · ``connections`` and ``connect_endpoint`` how connections are read ·
``settings`` the configuration · ``runs`` directories of a run · ``reports`` URLs of reports · ``failures`` errors as
failed tasks.
"""

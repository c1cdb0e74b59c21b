"""Where offsets live, one door each, behind the two protocols of ``protocols``. No Airflow in here.

``connect`` a Connect cluster's REST API · ``kafka`` the logs that positions refer to · ``groups`` consumer groups.
Below ``connect``: ``endpoint`` where it is and who asks, ``rest`` how a call travels, ``refusals`` what a "no" means.
Beside them: ``worker_config`` what a worker's own properties file says of its offsets, by ``java_clients`` how to reach
its Kafka; below that ``settings`` with their references, ``java_tls``, ``java_sasl``, ``key_stores``, ``jaas``.
"""

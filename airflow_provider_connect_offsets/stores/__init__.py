"""Where offsets live, one door each, behind the two protocols of ``protocols``. No Airflow in here.

``connect`` a Connect cluster's REST API · ``topic_storage`` the offsets topics of a cluster · ``standalone`` the file
of a standalone worker · ``storage_control`` whether anyone runs what is stored in those two · ``kafka`` the logs that
positions refer to · ``groups`` consumer groups.
Below ``connect``: ``endpoint`` where it is and who asks, ``rest`` how a call travels, ``refusals`` what a "no" means.
Below the storages: ``offsets_topic`` one topic, ``topic_reader`` and ``topic_writer`` its records, ``config_topic``
what workers say of connectors, ``worker_group`` who they are, ``offsets_file`` and ``java_stream`` the file's bytes.
``java``: what a worker's own properties file says of all that.
"""

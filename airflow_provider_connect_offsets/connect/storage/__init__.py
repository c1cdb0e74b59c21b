"""Offsets where workers store them, for what the REST API can't reach.

``topic_storage`` the offsets topics of a cluster, ``offsets_topic`` one of them · ``standalone`` a standalone worker's
file, ``offsets_file`` and ``java_stream`` its bytes · ``storage_control`` whether anyone runs what is stored there:
``config_topic`` what workers say of connectors, ``worker_group`` who they are · ``java`` what a worker's own properties
file says of all that.
"""

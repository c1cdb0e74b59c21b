"""Offsets in the stores of workers, for changes without the REST API.

``topic_storage`` the offsets topics of a Connect cluster, ``offsets_topic`` one of them · ``standalone`` a standalone
worker's file, ``offsets_file`` and ``java_stream`` its format · ``storage_control`` whether workers run the connectors,
by ``config_topic`` (configurations) and ``worker_group`` (members) · ``damaged`` what can't be read · ``java`` workers'
properties files.
"""

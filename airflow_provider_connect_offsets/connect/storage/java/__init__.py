"""A worker's properties file, read as Java and Kafka read it, and what it says in the words of librdkafka.

``worker_config`` is the way in; ``mirror_maker_config`` the workers of a dedicated MirrorMaker 2. ``settings`` are
those of a file with their references (``properties``, ``config_providers``); ``clients`` maps them to librdkafka's
(``tls``, ``key_stores`` and ``keytool``; ``sasl`` and ``jaas``); ``listeners`` tells where the worker's REST API is.
"""

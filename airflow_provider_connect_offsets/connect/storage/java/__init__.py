"""Reads a worker's properties file as Java and Kafka do, and converts its settings to those of librdkafka.

Start with ``worker_config``; ``mirror_maker_config`` has the workers of a dedicated MirrorMaker 2. ``settings``
resolves references in a file (``properties``, ``config_providers``); ``clients`` maps settings to librdkafka's
(``tls``, ``key_stores`` and ``keytool``; ``sasl`` and ``jaas``); ``listeners`` has the URLs of the worker's REST API.
"""

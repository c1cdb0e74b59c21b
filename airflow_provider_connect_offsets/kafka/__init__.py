"""Clients of a Kafka cluster; every wait has a timeout.

``cluster`` all clients of one cluster · ``logs`` log start and end offsets, retention · ``groups`` consumer groups ·
``spans`` parts of logs, ``remaining`` the first record after a position · ``topic_reader``, ``topic_writer`` whole
topics · ``mirror_cluster`` MirrorMaker 2's internal topics · ``brokers`` requests to brokers, and their errors.
"""

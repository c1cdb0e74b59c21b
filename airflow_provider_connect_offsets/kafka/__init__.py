"""Clients of a Kafka cluster; every wait has a timeout.

``cluster`` the client of one cluster, made of: ``logs`` log start and end offsets, retention · ``remaining`` the first
record after a position · ``groups`` consumer groups, ``group_kinds`` other groups · ``spans`` parts of logs ·
``topic_reader`` whole topics · ``brokers`` requests to brokers, and their errors. Not part of it: ``topic_writer``.
"""

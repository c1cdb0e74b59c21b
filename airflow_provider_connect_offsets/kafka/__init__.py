"""Clients of a Kafka cluster: its logs, consumer groups, topics and records. They wait for nothing for ever.

``cluster`` all of it together · ``logs`` log start and end offsets, retention · ``groups`` consumer groups · ``spans``
and ``remaining`` records of the logs · ``topic_reader``, ``topic_writer`` a topic's records whole · ``mirror_cluster``
MirrorMaker 2's own topics · ``brokers`` how brokers are asked, and what their refusals mean.
"""

"""Clients of a Kafka cluster: its logs, consumer groups, topics and records. They wait for nothing for ever."""

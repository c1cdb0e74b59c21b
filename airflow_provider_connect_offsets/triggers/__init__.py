"""Airflow triggers: they observe what deferred tasks await, without a worker's slot.

``waiting`` connectors and consumer groups · ``mirror`` MirrorMaker 2 flows · ``failed`` connectors that fail.
"""

"""Connectors and their offsets by the custom resources of Strimzi.

``client`` state and offsets by the resources · ``with_rest`` state by the resources, offsets by Connect's REST API.
"""

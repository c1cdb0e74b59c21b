"""Clients of systems that run connectors and store their offsets.

``protocols`` the two protocols that all of them implement · ``rest`` Connect's REST API · ``strimzi`` resources of
Strimzi · ``storage`` offsets topics, files of standalone workers, and workers' properties files · ``group_offsets``
consumer groups that take the place of connectors.
"""

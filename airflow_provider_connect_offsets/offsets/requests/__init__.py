"""Requests as values, parsed and checked: what people type, and what datasets keep of it.

``request`` where a connector or group resumes · ``flow_reset`` and ``readiness`` of a MirrorMaker 2 flow · ``failover``
of consumer groups · ``orphans`` stored offsets without a connector · ``patterns`` and ``values`` what people type.
"""

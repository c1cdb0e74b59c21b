"""Requests as values, parsed and checked: what people type, and what datasets keep of them.

``fields`` how a parameter is defined · ``values`` and ``patterns`` how its value is parsed · ``place`` which
partitions, and where they resume · ``request`` where a connector or group resumes · ``failover`` of consumer
groups · ``flow_reset`` and ``readiness`` of a MirrorMaker 2 flow · ``replay`` of an interval · ``snapshots`` of
a Connect cluster · ``poison`` the record that makes a sink fail · ``orphans`` stored offsets without a
connector · ``guards`` what is allowed here · ``window`` when a change may begin.
"""

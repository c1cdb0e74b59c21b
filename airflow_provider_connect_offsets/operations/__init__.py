"""Operations: each with its stages and its messages, carried out by the executor of ``saga``.

- ``connector``: plans and their outcomes; a change as a whole, in single steps, or without a plan; connectors that a
  run keeps stopped; turns of a scheduled rewind
- ``fleet``: the same change for many connectors; ``snapshot_restore``: a snapshot as changes of its connectors
- ``existence``: connectors that are created, copied, renamed and deleted with their offsets
- ``flow``: the reset of a MirrorMaker 2 flow
- ``groups``: commit and restore of consumer groups
- ``orphans``: removal of offsets whose connector is gone
- ``poison``: the record on which a sink fails, found and skipped
- ``stages``: stages that operations share, and messages about them
- ``imports``: offsets written into the workers' storage
- ``registry``: rebuilds stages from a journal, so that what a dead process left can be settled

Nothing is imported here: the modules import confluent-kafka, which parsing a DAG must not do.
"""

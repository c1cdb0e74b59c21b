"""Translate positions in a source to offsets in its remote topic, by offset mappings, records and checkpoints.

``mirror_records`` decodes MirrorMaker 2's records; ``mappings`` collects offset mappings; ``records`` matches records
by digest; ``elements`` divides the remote topic; ``later`` and ``uncovered`` add what later elements contain and which
records have no copy; ``bounds`` and ``translation`` compute the translated offsets, if need be by checkpoints alone;
``home`` translates positions back to the source; ``ledger`` and ``lost`` serve failovers without the source.
"""

"""The kinds of events and traits that a history of a replicated partition may have."""

from __future__ import annotations

from enum import StrEnum


class Event(StrEnum):
    """An event of a history."""

    PRODUCE = "produce"
    TRANSACTION = "transaction"
    ABORTED = "aborted"
    REPLICATE = "replicate"
    CRASH = "crash"
    RESTART = "restart"
    REWIND = "rewind"
    FORWARD = "forward"
    PAUSE = "pause"
    PARTITION_ADDED = "partition_added"
    COMPACT_SOURCE = "compact_source"
    COMPACT_TARGET = "compact_target"
    RETAIN_SOURCE = "retain_source"
    RETAIN_TARGET = "retain_target"
    SOURCE_ANEW = "source_anew"
    TARGET_ANEW = "target_anew"
    FOREIGN = "foreign"
    SECOND_FLOW = "second_flow"
    SYNCS_LOST = "syncs_lost"
    STALE_SYNCS = "stale_syncs"
    GROUPS_MOVE = "groups_move"
    CHECKPOINT = "checkpoint"
    RESET = "reset"
    CONVERTER = "converter"
    TRANSFORM = "transform"
    TIMESTAMP_TYPE = "timestamp_type"
    CLEANUP_POLICY = "cleanup_policy"
    DELIVERY = "delivery"
    OBSERVE = "observe"


class Trait(StrEnum):
    """A property of a whole history; each is a field of ``Traits``."""

    REPEATS = "repeats"
    LOG_APPEND_TIME = "log_append_time"
    DROPS = "drops"
    CHANGES = "changes"
    CONVERTED = "converted"
    COMPACTED = "compacted"
    TRANSACTIONS = "transactions"
    EXACTLY_ONCE = "exactly_once"

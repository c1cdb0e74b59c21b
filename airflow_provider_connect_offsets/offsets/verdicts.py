"""Findings and verdicts, their severity, and all rules by name, each with a sentence that describes it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Self


class Severity(StrEnum):
    """Severity of a finding: ``error`` stops the run, ``warning`` is shown to the approver, ``info`` is recorded."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


class Rule(StrEnum):
    """All rules by name; ``sentence`` says what is true if a rule finds nothing."""

    sentence: str

    def __new__(cls, name: str, sentence: str) -> Self:
        """Attach the sentence to the member."""
        member = str.__new__(cls, name)
        member._value_ = name
        member.sentence = sentence
        return member

    WRONG_KEYS = "wrong_keys", "A partition or offset map has exactly the keys that its connector class uses."
    WRONG_TYPE = "wrong_type", "Each field of a partition or offset map has the type that its connector class reads."
    NEGATIVE = "negative", "Positions, offsets and partition numbers are not negative."
    FOREIGN_ALIAS = (
        "foreign_alias",
        "The cluster alias in a MirrorMaker 2 partition is the alias in the connector's configuration.",
    )
    ONLY_ZERO = "only_zero", "MirrorCheckpoint and MirrorHeartbeat accept no offset but 0, and never use it."
    UNKNOWN_TOPIC = "unknown_topic", "The topic exists in the cluster that the positions refer to."
    UNKNOWN_PARTITION = "unknown_partition", "The topic has a partition with that number."
    NOT_CONSUMED = "not_consumed", "The connector's configuration makes it read the topic."
    BEFORE_LOG_START = "before_log_start", "A position is not before the first record that still exists."
    EXPIRING = (
        "expiring",
        "The record at a position is younger than the topic's retention.ms, and still will be in an hour.",
    )
    BEYOND_LOG_END = (
        "beyond_log_end",
        "A position is not beyond the log end, where the consumer would fall back to auto.offset.reset.",
    )
    DUPLICATE = "duplicate", "Each partition occurs once."
    NO_POSITION = (
        "no_position",
        "Only connectors whose offsets are positions in a log can move to a position, and only to one in that log.",
    )
    INTERVAL_START_GONE = (
        "interval_start_gone",
        "No record of a replayed interval was deleted: the log still has an older record, or its first offset.",
    )
    NO_STORED_ZERO = (
        "no_stored_zero",
        "A MirrorSource can't resume at 0 while its consumer starts new partitions at the log end.",
    )
    ASSUMED_POSITION = "assumed_position", "If no position is stored, auto.offset.reset decides which position is used."
    FROM_LATEST = "from_latest", "A MirrorSource that starts at the log end gives no at-least-once guarantee."
    CLEAR_EFFECT = "clear_effect", "Without a stored offset, auto.offset.reset decides where the connector resumes."
    REWIND = "rewind", "Moving back delivers records again."
    SKIP = "skip", "Moving forward skips records, which are then never delivered."
    UNPINNED_SKIP = (
        "unpinned_skip",
        "A failed sink's position is the start of the poll that failed, not always the bad record.",
    )
    EXTERNAL_OFFSETS = (
        "external_offsets",
        "Some connectors also keep their position elsewhere, so Connect's offsets alone may not move them.",
    )
    OWN_OFFSETS_TOPIC = (
        "own_offsets_topic",
        "A source connector with its own offsets topic (offsets.storage.topic) uses only the offsets in that topic.",
    )
    ACTIVE_GROUP = "active_group", "A consumer group whose offsets are changed has no members."
    CONNECTORS_GROUP = (
        "connectors_group",
        "The offsets of a sink connector's consumer group are changed through the connector.",
    )
    BEFORE_SLOT = (
        "before_slot",
        "A PostgreSQL replication slot still delivers all changes from the LSN where a connector resumes.",
    )
    BEYOND_WAL = "beyond_wal", "An LSN is not beyond the end of PostgreSQL's write-ahead log."
    SLOT_LOST = "slot_lost", "The connector's replication slot exists, and PostgreSQL still has the log that it needs."
    SLOT_UNCHECKED = "slot_unchecked", "The connector's replication slot was observed before its offsets are changed."
    NOTHING_SELECTED = "nothing_selected", "A selection selects something."
    NOTHING_TO_CHANGE = "nothing_to_change", "The plan changes something."
    UNREADABLE = (
        "unreadable",
        "The file, query or connector that provides the offsets can be read, and has offsets for this connector.",
    )
    FOREIGN_SYNCS = (
        "foreign_syncs",
        "An offset-syncs topic that is emptied has syncs of the flow that is reset, and of no other flow.",
    )
    KEPT_SYNCS = "kept_syncs", "Emptying offset-syncs also removes the syncs of topics that are not replicated again."
    SHARED_SYNCS = "shared_syncs", "No other connector uses the offset-syncs topic that is emptied."
    STALE_CHECKPOINTS = (
        "stale_checkpoints",
        "No checkpoint is beyond the end of its remote topic. (MirrorCheckpoint would never lower it.)",
    )
    RETENTION_LOSS = (
        "retention_loss",
        "No record was deleted from the source before MirrorMaker 2 replicated it.",
    )
    SOURCE_RECREATED = (
        "source_recreated",
        "The source topic has not been deleted and created again since the offset was stored.",
    )
    REMOTE_TOPIC_LOST = (
        "remote_topic_lost",
        "The remote topic exists and still has the records that MirrorMaker 2 wrote to it.",
    )
    NOT_RUNNING = "not_running", "The flow's connectors run, and so do all their tasks."
    STUCK = "stuck", "A partition with records left to read makes progress."
    LAG = "lag", "Records that are not replicated yet are fewer and younger than the thresholds allow."
    SYNC_MISSING = (
        "sync_missing",
        "Each replicated partition has an offset sync. Without it, no group offset can be translated.",
    )
    SYNC_OLD = "sync_old", "The newest offset sync of a partition keeps up with what is replicated."
    CHECKPOINT_MISSING = "checkpoint_missing", "MirrorMaker 2 has a checkpoint for each group and partition."
    CHECKPOINT_OLD = "checkpoint_old", "A group's checkpoint is as new as the offset syncs allow."
    COVERAGE = "coverage", "A failover now would translate enough of each group's partitions."
    UNPLANNED_COVERAGE = (
        "unplanned_coverage",
        "If the source were lost now, a failover would still translate enough of each group's partitions.",
    )
    REREADS = "rereads", "After a failover now, no group would read more records again than the threshold allows."
    TARGET_GROUP = "target_group", "No consumer uses a group's name on the target before the failover."
    UNMOVABLE_GROUP = "unmovable_group", "All groups with positions on the source are consumer groups."
    FLOW_MISMATCH = (
        "flow_mismatch",
        "The flow's connectors agree on aliases, names and the location of the offset syncs.",
    )
    MOVED_BACK = "moved_back", "No position is lower than in the previous snapshot."
    JUMPED = "jumped", "No position is more than max_jump records ahead of the previous snapshot."
    VANISHED = "vanished", "Each offset in the previous snapshot is still stored."
    APPEARED = "appeared", "Each offset was already stored in the previous snapshot."
    UNREAD = "unread", "The offsets of each connector, and the ends of their logs, could be read for the snapshot."
    FAILOVER_SETTING = "failover_setting", "The flow's configuration does not make a failover worse."


@dataclass(frozen=True, slots=True)
class Finding:
    """A rule's finding on an offset, whose connector and partition the caller knows."""

    rule: Rule
    severity: Severity
    message: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """A finding with its connector and its source partition (canonical JSON; None: the whole connector)."""

    rule: str
    severity: Severity
    connector: str
    partition: str | None
    message: str

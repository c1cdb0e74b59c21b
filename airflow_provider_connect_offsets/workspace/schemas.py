"""Columns of every dataset, declared once; pyarrow's and Spark's schemas are derived from these.

JSON columns hold canonical JSON text; positions and offsets are longs; times are UTC timestamps.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class ColumnKind(StrEnum):
    """Column types."""

    STRING = "string"
    INT = "int"
    LONG = "long"
    BINARY = "binary"
    BOOLEAN = "boolean"
    TIMESTAMP = "timestamp"


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its name, its type, and whether null is allowed."""

    name: str
    kind: ColumnKind
    nullable: bool = False


@dataclass(frozen=True, slots=True)
class Schema:
    """A dataset's name and columns, in order."""

    name: str
    columns: tuple[Column, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Column names."""
        return tuple(column.name for column in self.columns)


def _schema(name: str, **columns: str) -> Schema:
    """Declare a schema; a type that ends with ``?`` allows null."""
    return Schema(
        name,
        tuple(
            Column(column, ColumnKind(kind.removesuffix("?")), nullable=kind.endswith("?"))
            for column, kind in columns.items()
        ),
    )


# config: JSON of the settings that ``offsets.kept_config`` names, no other; logins in addresses are masked.
CONNECTORS = _schema(
    "connectors",
    connect_cluster="string",
    connector="string",
    connector_type="string",
    connector_class="string",
    family="string",
    state="string",
    tasks="string",
    config="string",
    group_id="string?",
    observed_at="timestamp",
)

CONNECTOR_OFFSETS = _schema(
    "connector_offsets",
    connect_cluster="string",
    connector="string",
    connector_type="string",
    family="string",
    partition="string",
    offset="string?",
    topic="string?",
    kafka_partition="int?",
    position="long?",
    origin="string",
    raw_key="binary?",
    observed_at="timestamp",
)

# ``expired_offset`` is the first record that is no older than ``retention_ms`` (-1: no limit), ``expiring_offset`` the
# first one of which that is still true an hour later: null where nothing is deleted by its age, and, like the settings,
# where these were not looked at.
LOG_BOUNDS = _schema(
    "log_bounds",
    kafka_cluster="string",
    topic="string",
    kafka_partition="int",
    log_start="long",
    log_end="long",
    lookup_timestamp="timestamp?",
    lookup_offset="long?",
    cleanup_policy="string?",
    retention_ms="long?",
    expired_offset="long?",
    expiring_offset="long?",
)

OFFSET_PLAN = _schema(
    "offset_plan",
    connector="string",
    family="string",
    partition="string",
    topic="string?",
    kafka_partition="int?",
    before="string?",
    before_position="long?",
    after="string?",
    after_position="long?",
    action="string",
    reason="string",
)

VERDICTS = _schema(
    "verdicts",
    rule="string",
    severity="string",
    connector="string",
    partition="string?",
    message="string",
)

STORED_RECORDS = _schema(
    "stored_records",
    topic="string",
    kafka_partition="int",
    log_offset="long",
    written_at="timestamp",
    key="binary",
    value="binary?",
)

ORPHANS = _schema(
    "orphans",
    connector="string",
    partition="string",
    offset="string",
    topic="string",
    kafka_partition="int",
    log_offset="long",
    written_at="timestamp",
    size_bytes="long",
    raw_key="binary",
)

OFFSET_SYNCS = _schema(
    "offset_syncs",
    topic="string",
    kafka_partition="int",
    upstream="long",
    downstream="long",
    log_offset="long",
    log_timestamp="timestamp",
)

CHECKPOINTS = _schema(
    "checkpoints",
    group="string",
    topic="string",
    kafka_partition="int",
    upstream="long",
    downstream="long",
    metadata="string",
    log_offset="long",
    log_timestamp="timestamp",
)

GROUP_OFFSETS = _schema(
    "group_offsets",
    kafka_cluster="string",
    group="string",
    group_state="string",
    topic="string",
    kafka_partition="int",
    offset="long",
    metadata="string",
)

# What a failover replaces, and what stood there before (null: no offset); ``existed``: the group was there already.
PRIOR_GROUP_OFFSETS = _schema(
    "prior_group_offsets",
    group="string",
    existed="boolean",
    topic="string",
    kafka_partition="int",
    offset="long?",
    metadata="string?",
    leader_epoch="int?",
    committed="long",
    digest="string",
)

# What groups are to hold that a restore deletes, as single offsets can't be cleared in any other way; null: no offset.
DELETED_GROUP_OFFSETS = _schema(
    "deleted_group_offsets",
    group="string",
    topic="string",
    kafka_partition="int",
    offset="long?",
    metadata="string?",
    leader_epoch="int?",
)

# A partition that a flow replicates. Null: ``source_*`` where the source is gone, ``target_start`` and ``target_end``
# where the target lacks the partition. ``ends_with_stored``: whether the last record of the remote topic is the one at
# ``stored`` (null: not compared); ``gapless``: neither topic is compacted; ``transformed``: a transformation may have
# dropped or changed records; ``timed``: the remote topic keeps the records' timestamps; ``source_from`` and
# ``target_from``: from which offset on the records of either log were read (null: none).
MIRROR_PARTITIONS = _schema(
    "mirror_partitions",
    topic="string",
    target_topic="string",
    kafka_partition="int",
    source_start="long?",
    source_end="long?",
    stored="long?",
    drained="boolean",
    target_start="long?",
    target_end="long?",
    origin_upstream="long?",
    origin_downstream="long?",
    ends_with_stored="boolean?",
    gapless="boolean",
    transformed="boolean",
    timed="boolean",
    source_from="long?",
    target_from="long?",
)

# Pairs of offsets that resets of the flow have kept (``rewinds``), as far as the records prove them still, and those
# that were found by reading single records (``offsets.bisecting``).
KEPT_PAIRS = _schema(
    "kept_pairs",
    topic="string",
    kafka_partition="int",
    upstream="long",
    downstream="long",
)

# The cluster that groups leave in a failback: where the part of each log ends that the flow from home has written
# (null: it is none of its replicas, or nobody knows), from which offset on copies are at home (null: none was found),
# and how many records of its own stand there before these, which were never replicated.
RETURN_PARTITIONS = _schema(
    "return_partitions",
    topic="string",
    kafka_partition="int",
    log_end="long",
    forward_end="long?",
    copied_from="long?",
    left_behind="long?",
)

RECORD_DIGESTS = _schema(
    "record_digests",
    side="string",
    topic="string",
    kafka_partition="int",
    log_offset="long",
    digest="binary",
)

TRANSLATION = _schema(
    "translation",
    group="string",
    source_topic="string",
    target_topic="string",
    kafka_partition="int",
    upstream="long",
    downstream="long?",
    upper="long?",
    missing="long?",
    exact="boolean",
    max_rereads="long?",
    method="string",
    action="string",
    reason="string",
    covered="boolean?",
    target_before="long?",
    checkpoint="long?",
    checkpoint_rereads="long?",
    position_of="string?",
    position_at="timestamp?",
    claimed="long?",
)

# From where on the records of either log are to be read. ``left_out``: how many that would be worth it are not, of both
# logs, as all partitions together would take more than the limit allows.
COMPARE_RANGES = _schema(
    "compare_ranges",
    topic="string",
    target_topic="string",
    kafka_partition="int",
    source_from="long",
    target_from="long",
    left_out="long?",
)

# Places that nothing but pairs of offsets tells, to be looked at, and what came of it (``same``, null: one of the two
# records is not there any more).
_CLAIM = {
    "topic": "string",
    "target_topic": "string",
    "kafka_partition": "int",
    "upstream": "long",
    "downstream": "long",
}
SAMPLED_CLAIMS = _schema("sampled_claims", **_CLAIM)
CHECKED_CLAIMS = _schema("checked_claims", **_CLAIM, same="boolean?")

# What a reset does to each topic: records that MirrorSource reads again, and of how many the replica holds a copy
# already; offset syncs that go, and whose they are (``offsets.requests.flow_reset.Belongs``).
RESET_TOPICS = _schema(
    "reset_topics",
    topic="string",
    belongs="string",
    partitions="long",
    records_again="long",
    duplicates="long",
    syncs="long",
    newest_sync="timestamp?",
)

# Pairs of offsets (source, replica) that are known exactly where a flow was reset, for each partition: the last record
# replicated before it (null: none), and the next one (null: not known which) with the place that it gets. The ids are
# those that the topics had then.
REWINDS = _schema(
    "rewinds",
    topic="string",
    kafka_partition="int",
    closing_upstream="long?",
    closing_downstream="long?",
    opening_upstream="long?",
    opening_downstream="long",
    written_at="timestamp",
    topic_id="string?",
    target_topic_id="string?",
)

FLOW_TOPICS = _schema(
    "flow_topics",
    topic="string",
    target_topic="string",
    topic_id="string?",
    target_topic_id="string?",
)

REMAINING = _schema(
    "remaining",
    topic="string",
    kafka_partition="int",
    log_offset="long",
    written_at="timestamp?",
)

READINESS = _schema(
    "readiness",
    topic="string",
    kafka_partition="int",
    target_topic="string",
    topic_id="string?",
    target_topic_id="string?",
    log_start="long?",
    log_end="long?",
    target_end="long?",
    position="long?",
    lag="long?",
    lag_ms="long?",
    lost="long?",
    sync_upstream="long?",
    sync_downstream="long?",
    sync_at="timestamp?",
    unsynced="long?",
    sync_age_ms="long?",
    observed_at="timestamp",
)

# What ``mirror_failover`` would make of a group's position now, either way, in the words of ``translation``: planned,
# by the position itself and without records that are read; unplanned, by ``unplanned_position``, which its last
# checkpoint or the ledger tells. ``…_reason``: why it would be left alone (null: it is translated).
# ``checkpoint_behind_since``: since when an offset sync that the group has passed lies beyond its checkpoint (null:
# none does).
GROUP_READINESS = _schema(
    "group_readiness",
    group="string",
    group_state="string",
    topic="string",
    target_topic="string",
    kafka_partition="int",
    position="long",
    planned_downstream="long?",
    planned_upper="long?",
    planned_missing="long?",
    planned_exact="boolean?",
    planned_max_rereads="long?",
    planned_method="string?",
    planned_reason="string?",
    unplanned_position="long?",
    unplanned_downstream="long?",
    unplanned_upper="long?",
    unplanned_missing="long?",
    unplanned_exact="boolean?",
    unplanned_max_rereads="long?",
    unplanned_method="string?",
    unplanned_reason="string?",
    checkpoint_upstream="long?",
    checkpoint_downstream="long?",
    checkpoint_at="timestamp?",
    checkpoint_rereads="long?",
    checkpoint_behind_since="timestamp?",
    target_state="string?",
    target_position="long?",
)

# What looks at a flow's readiness keep for a failover without the source, each row of a kind: ``log`` (both logs of a
# partition; ``synced_to``: the last offset sync in its topic; ``renewed``: either topic was created anew since the
# first look), ``mapping`` (the record at ``upstream`` stands at ``downstream``), ``record`` (the digest of the source's
# record at ``upstream``), ``position`` (``group`` reads ``upstream`` next; ``checkpoints_end``: all checkpoints before
# this offset of their topic are older than that, null where there was none). ``observed_at``: of the last look.
MIRROR_LEDGER = _schema(
    "mirror_ledger",
    kind="string",
    observed_at="timestamp",
    topic="string",
    target_topic="string",
    kafka_partition="int",
    topic_id="string?",
    target_topic_id="string?",
    group="string?",
    upstream="long?",
    downstream="long?",
    digest="binary?",
    source_start="long?",
    source_end="long?",
    target_start="long?",
    target_end="long?",
    gapless="boolean?",
    transformed="boolean?",
    timed="boolean?",
    synced_to="long?",
    renewed="boolean?",
    checkpoints_end="long?",
)

LAG_HISTORY = _schema(
    "lag_history",
    run_uri="string",
    observed_at="timestamp",
    topic="string",
    kafka_partition="int",
    topic_id="string?",
    target_topic_id="string?",
    position="long?",
    lag="long?",
    lag_ms="long?",
)

LAG_TREND = _schema(
    "lag_trend",
    observed_at="timestamp",
    topic="string?",
    kafka_partition="int?",
    lag="long?",
    lag_ms="long?",
)

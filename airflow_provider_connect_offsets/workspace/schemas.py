"""Columns of every dataset, from which the schemas of pyarrow and Spark are derived; standard library only.

JSON columns are canonical JSON text; positions and offsets are longs; times are UTC timestamps.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class ColumnKind(StrEnum):
    """Types of columns."""

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


def dataset_schema(name: str, **columns: str) -> Schema:
    """Declare a schema; ``columns`` maps name to type, and a type that ends with ``?`` allows null."""
    return Schema(
        name,
        tuple(
            Column(column, ColumnKind(kind.removesuffix("?")), nullable=kind.endswith("?"))
            for column, kind in columns.items()
        ),
    )


#: Columns of a partition of a Kafka topic.
KAFKA_PARTITION = {"topic": "string", "kafka_partition": "int"}
# Columns of a change of one source partition: offsets (JSON) and positions.
_CHANGE = {
    "partition": "string",
    "topic": "string?",
    "kafka_partition": "int?",
    "before": "string?",
    "before_position": "long?",
    "after": "string?",
    "after_position": "long?",
}
# Columns of an offset to be committed for a group; null: no offset.
_GROUP_OFFSET = {**KAFKA_PARTITION, "offset": "long?", "metadata": "string?", "leader_epoch": "int?"}

# config: the settings that ``offsets.kept_config`` lists (JSON), with credentials in addresses masked.
CONNECTORS = dataset_schema(
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

CONNECTOR_OFFSETS = dataset_schema(
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

# ``expired_offset``: first record no older than ``retention_ms`` (-1: no limit); ``expiring_offset``: first record no
# older than that in an hour. Both are null if no record is deleted by age; they and the settings are null if they were
# not observed.
LOG_BOUNDS = dataset_schema(
    "log_bounds",
    kafka_cluster="string",
    **KAFKA_PARTITION,
    log_start="long",
    log_end="long",
    lookup_timestamp="timestamp?",
    lookup_offset="long?",
    cleanup_policy="string?",
    retention_ms="long?",
    expired_offset="long?",
    expiring_offset="long?",
)

# Where a marker of a transaction, or a gap, lies at a connector's position: the record that it reads next.
NEXT_RECORDS = dataset_schema("next_records", connector="string", **KAFKA_PARTITION, next_record="long")

# A replication slot of PostgreSQL that a connector reads, and the end of the log; LSNs as numbers. The columns that
# allow null are null if there is no such slot.
REPLICATION_SLOTS = dataset_schema(
    "replication_slots",
    connector="string",
    slot="string",
    restart_lsn="long?",
    confirmed_flush_lsn="long?",
    current_wal_lsn="long",
    wal_status="string?",
    observed_at="timestamp",
)

OFFSET_PLAN = dataset_schema(
    "offset_plan",
    connector="string",
    family="string",
    **_CHANGE,
    action="string",
    reason="string",
)

VERDICTS = dataset_schema(
    "verdicts",
    rule="string",
    severity="string",
    connector="string",
    partition="string?",
    message="string",
)

# A row for each source partition with an offset in either of two snapshots. ``moved``: records between both positions;
# ``state`` and ``lag``: in the later snapshot, null if the connector or the log's end is unknown there.
OFFSET_CHANGES = dataset_schema(
    "offset_changes",
    connector="string",
    connector_type="string",
    family="string",
    state="string?",
    **_CHANGE,
    moved="long?",
    log_end="long?",
    lag="long?",
    change="string",
)

# Columns of a partition that a replay's connector reads, and its clone may read.
_REPLAYED = {
    "connector": "string",
    "clone": "string",
    "family": "string",
    "partition": "string",
    **KAFKA_PARTITION,
}

# The partitions that a replayed connector reads. ``begins``, ``ends``: the first record at or after the start, and the
# end, of the interval; ``first_record``: the first from ``begins`` on that a consumer gets; others as ``log_bounds``.
REPLAY_RANGES = dataset_schema(
    "replay_ranges",
    kafka_cluster="string",
    **_REPLAYED,
    log_start="long",
    log_end="long",
    begins="long",
    ends="long",
    first_record="long?",
    retention_ms="long?",
    expiring_offset="long?",
)

REPLAY_PLAN = dataset_schema(
    "replay_plan",
    **_REPLAYED,
    begins="long",
    ends="long",
    action="string",
    reason="string",
)

STORED_RECORDS = dataset_schema(
    "stored_records",
    **KAFKA_PARTITION,
    log_offset="long",
    written_at="timestamp",
    key="binary",
    value="binary?",
)

ORPHANS = dataset_schema(
    "orphans",
    connector="string",
    partition="string",
    offset="string",
    **KAFKA_PARTITION,
    log_offset="long",
    written_at="timestamp",
    size_bytes="long",
    raw_key="binary",
)

# Records on which a sink failed. ``key``, ``value`` and ``headers`` (JSON: a list of name and Base64 value) are null if
# the content is not kept, and ``message`` too, which may have content; ``digest``: SHA-256 (hex) of key and value.
# ``position``: the committed position when the record was found; null: none.
POISON_RECORDS = dataset_schema(
    "poison_records",
    connector="string",
    **KAFKA_PARTITION,
    offset="long",
    written_at="timestamp",
    position="long?",
    way="string",
    why="string",
    message="string?",
    key="binary?",
    value="binary?",
    headers="string?",
    key_size="long?",
    value_size="long?",
    headers_count="int",
    digest="string",
    kept_at="timestamp",
)

OFFSET_SYNCS = dataset_schema(
    "offset_syncs",
    **KAFKA_PARTITION,
    upstream="long",
    downstream="long",
    log_offset="long",
    log_timestamp="timestamp",
)

CHECKPOINTS = dataset_schema(
    "checkpoints",
    group="string",
    **KAFKA_PARTITION,
    upstream="long",
    downstream="long",
    metadata="string",
    log_offset="long",
    log_timestamp="timestamp",
)

GROUP_OFFSETS = dataset_schema(
    "group_offsets",
    kafka_cluster="string",
    group="string",
    group_state="string",
    **KAFKA_PARTITION,
    offset="long",
    metadata="string",
)

# Offsets that a failover replaces (null: none was committed); ``existed``: whether the group existed before.
PRIOR_GROUP_OFFSETS = dataset_schema(
    "prior_group_offsets",
    group="string",
    existed="boolean",
    **_GROUP_OFFSET,
    committed="long",
    digest="string",
)

# Offsets to commit again for groups that a restore deletes, the only way to clear single offsets; null: no offset.
DELETED_GROUP_OFFSETS = dataset_schema(
    "deleted_group_offsets",
    group="string",
    **_GROUP_OFFSET,
)

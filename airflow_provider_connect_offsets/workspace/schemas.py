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


def dataset_schema(name: str, **columns: str) -> Schema:
    """Declare a schema; a type that ends with ``?`` allows null."""
    return Schema(
        name,
        tuple(
            Column(column, ColumnKind(kind.removesuffix("?")), nullable=kind.endswith("?"))
            for column, kind in columns.items()
        ),
    )


# config: JSON of the settings that ``offsets.kept_config`` names, no other; logins in addresses are masked.
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

# ``expired_offset`` is the first record that is no older than ``retention_ms`` (-1: no limit), ``expiring_offset`` the
# first one of which that is still true an hour later: null where nothing is deleted by its age, and, like the settings,
# where these were not looked at.
LOG_BOUNDS = dataset_schema(
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

OFFSET_PLAN = dataset_schema(
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

VERDICTS = dataset_schema(
    "verdicts",
    rule="string",
    severity="string",
    connector="string",
    partition="string?",
    message="string",
)

STORED_RECORDS = dataset_schema(
    "stored_records",
    topic="string",
    kafka_partition="int",
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
    topic="string",
    kafka_partition="int",
    log_offset="long",
    written_at="timestamp",
    size_bytes="long",
    raw_key="binary",
)

OFFSET_SYNCS = dataset_schema(
    "offset_syncs",
    topic="string",
    kafka_partition="int",
    upstream="long",
    downstream="long",
    log_offset="long",
    log_timestamp="timestamp",
)

CHECKPOINTS = dataset_schema(
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

GROUP_OFFSETS = dataset_schema(
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
PRIOR_GROUP_OFFSETS = dataset_schema(
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
DELETED_GROUP_OFFSETS = dataset_schema(
    "deleted_group_offsets",
    group="string",
    topic="string",
    kafka_partition="int",
    offset="long?",
    metadata="string?",
    leader_epoch="int?",
)

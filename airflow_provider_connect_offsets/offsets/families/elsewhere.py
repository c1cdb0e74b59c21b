"""Connectors that keep their position outside Connect's offsets too: where, and what a change of offsets alone does.

PostgreSQL's was tried on a real database (docs/seen.md); the others say how the connectors are known to work.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """Where else a connector keeps its position, as part of a message, and what a change does, as sentences."""

    where: str
    effect: str


_OVERWRITES = (
    "the connector resumes at the new offset, and names each file by the first offset in it. After a rewind, it writes "
    "files again that exist, and other files that overlap them. Remove the files from the new offset on first, or make "
    "readers drop repeated records."
)
_OWN_OFFSETS_WIN = (
    "when the connector starts, it resumes after what it has written, and ignores the offset of its consumer group. A "
    "rewind has no effect until the position that is kept there is removed, too."
)
_AT_LEAST_ONCE = (
    "the connector resumes at the new offset. After a rewind, it writes rows again that already exist. This changes "
    "nothing only with primary keys and upserts."
)
_HISTORY = (
    "the connector reads table definitions from this topic. At a position before the start of the history it fails, or "
    "reads changes with a wrong definition. Leave the topic as it is, and rewind no further back than the history "
    "reaches."
)
_ICEBERG = (
    "its coordinator commits only records after the offsets in the last snapshot, so records of a rewind may be "
    "written to files and never appear in the table. First roll the table back to a snapshot from before these records."
)
# Part of the class name, where else, and the effect; the first match counts. A source of S3 stores its own offsets.
_SOURCES = (
    (
        "io.debezium.connector.postgresql",
        "its PostgreSQL replication slot",
        "PostgreSQL sends no changes from before the LSN that the slot has confirmed, and reports no error.",
    ),
    *(
        (f"io.debezium.connector.{name}", "its schema history topic", _HISTORY)
        for name in ("mysql", "mariadb", "sqlserver", "oracle")
    ),
    ("couchbase", "the stream offsets that Couchbase's DCP keeps", "read the connector's manual before you go on."),
)
_SINKS = (
    (
        "iceberg",
        "the snapshot summaries of its Iceberg tables and its control topic",
        _ICEBERG,
    ),
    ("snowflakestreamingsink", "the offset tokens of its Snowpipe Streaming channels", _OWN_OFFSETS_WIN),
    (
        "snowflake",
        "the file names in its Snowflake stage and, with Snowpipe Streaming, offset tokens",
        _OWN_OFFSETS_WIN,
    ),
    ("connect.hdfs", "the file names it has written", _OWN_OFFSETS_WIN),
    ("connect.s3", "the object names it has written", _OVERWRITES),
    ("connect.gcs", "the object names it has written", _OVERWRITES),
    ("bigquery", "the rows of its BigQuery tables", _AT_LEAST_ONCE),
    ("jdbcsink", "the rows of its tables", _AT_LEAST_ONCE),
    ("debezium.connector.jdbc", "the rows of its tables", _AT_LEAST_ONCE),
    ("clickhouse", "its state table, if it delivers exactly once", _OWN_OFFSETS_WIN),
)


def find_elsewhere(connector_class: str, *, is_sink: bool) -> Elsewhere | None:
    """Return where else connectors of this class keep their position; None if that is unknown."""
    name, known = connector_class.lower(), _SINKS if is_sink else _SOURCES
    return next((Elsewhere(where, effect) for part, where, effect in known if part in name), None)

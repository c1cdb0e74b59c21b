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
    "it resumes at the new offset, and writes files named by the first offset in them. After a rewind, files with the "
    "same name are written again and others overlap them; remove those from that offset on first, or make readers drop "
    "repeated records."
)
_OWN_OFFSETS_WIN = (
    "when it starts, it seeks to what it has written, and ignores the group's offset. A rewind has no effect until "
    "that is removed, too."
)
_AT_LEAST_ONCE = (
    "it resumes at the new offset. After a rewind it writes rows again that are there already; only with primary keys "
    "and upserts that changes nothing."
)
_HISTORY = (
    "it reads table definitions from there. At a position before the history begins it fails, or reads changes by a "
    "wrong definition; keep that topic as it is, and rewind no further than it reaches."
)
_ICEBERG = (
    "its coordinator commits only what lies after the offsets in the last snapshot, so records of a rewind may be "
    "written to files and never appear in the table; roll the table back to a snapshot before them first."
)
# Part of the class name, where else, and the effect; the first match counts. A source of S3 stores its own offsets.
_SOURCES = (
    (
        "io.debezium.connector.postgresql",
        "its PostgreSQL replication slot",
        "PostgreSQL sends no change from before what the slot has confirmed, without any error.",
    ),
    *(
        (f"io.debezium.connector.{name}", "its schema history topic", _HISTORY)
        for name in ("mysql", "mariadb", "sqlserver", "oracle")
    ),
    ("couchbase", "the stream offsets that Couchbase's DCP keeps", "read its manual before you go on."),
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


def kept_elsewhere(connector_class: str, *, is_sink: bool) -> Elsewhere | None:
    """Return where else connectors of this class keep their position; None if that is unknown."""
    name, known = connector_class.lower(), _SINKS if is_sink else _SOURCES
    return next((Elsewhere(where, effect) for part, where, effect in known if part in name), None)

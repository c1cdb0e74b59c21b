"""Decode MirrorMaker 2's offset syncs and checkpoints, with Catalyst expressions only.

Numbers are big-endian; a text is its length in two bytes, then UTF-8. Records of another shape (tombstones, other
versions, records of other writers) are dropped. Sources: ``OffsetSync``, ``Checkpoint`` (connect-mirror-client).
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from airflow_provider_connect_offsets.pipeline.frames import conform
from airflow_provider_connect_offsets.workspace.schemas import CHECKPOINTS, OFFSET_SYNCS

_SHORT, _INT, _LONG = 2, 4, 8
# Most bytes of a text: its length is a Java short.
_LONGEST = 2**15 - 1


def offset_syncs(records: DataFrame) -> DataFrame:
    """Dataset ``offset_syncs``.

    A sync maps the record at ``upstream`` of the source to its copy at ``downstream`` of the remote topic.

    Args:
        records: dataset ``stored_records`` of an offset-syncs topic
    """
    topic = f"(length(key) - {_SHORT + _INT})"
    syncs = records.where(f"length(value) = {2 * _LONG} AND {_is_size('key', '1', topic)}")
    return conform(
        syncs.selectExpr(
            f"{_text('key', '1', topic)} AS topic",
            f"{_sign(_number(_bytes('key', -_INT, _INT)))} AS kafka_partition",
            f"{_number(_bytes('value', 1, _LONG))} AS upstream",
            f"{_number(_bytes('value', 1 + _LONG, _LONG))} AS downstream",
            "log_offset",
            "written_at AS log_timestamp",
        ),
        OFFSET_SYNCS,
    )


def checkpoints(records: DataFrame) -> DataFrame:
    """Dataset ``checkpoints``.

    A checkpoint translates a group's position ``upstream`` in the source to ``downstream`` or later in the remote
    topic.

    Args:
        records: dataset ``stored_records`` of a checkpoints topic
    """
    # Combine all fixed-size fields at known offsets in one number: converting bytes costs more than everything else.
    metadata_at = 1 + _SHORT + 2 * _LONG
    fixed = [_bytes("key", 1, _SHORT), _bytes("value", metadata_at, _SHORT), _bytes("key", -_INT, _INT)]
    sized = _once(records, fixed=_number(f"concat({', '.join(fixed)})"))
    group, topic_at = "CAST(shiftright(fixed, 48) AS INT)", f"(shiftright(fixed, 48) + {_SHORT + 1})"
    topic = f"(length(key) - shiftright(fixed, 48) - {2 * _SHORT + _INT})"
    metadata = f"(length(value) - {2 * _SHORT + 2 * _LONG})"
    whole = f"{_is_size('key', topic_at, topic)} AND fixed >= 0 AND (shiftright(fixed, 32) & 65535) = {metadata}"
    first_version = f"{_bytes('value', 1, _SHORT)} = X'0000'"
    return conform(
        sized.where(f"{metadata} BETWEEN 0 AND {_LONGEST} AND {first_version} AND {whole}").selectExpr(
            f"{_text('key', '1', group)} AS `group`",
            f"{_text('key', topic_at, topic)} AS topic",
            f"{_sign('fixed')} AS kafka_partition",
            f"{_number(_bytes('value', 1 + _SHORT, _LONG))} AS upstream",
            f"{_number(_bytes('value', 1 + _SHORT + _LONG, _LONG))} AS downstream",
            f"{_text('value', str(metadata_at), metadata)} AS metadata",
            "log_offset",
            "written_at AS log_timestamp",
        ),
        CHECKPOINTS,
    )


def latest_checkpoints(rows: DataFrame) -> DataFrame:
    """The last checkpoint of each group, topic and partition. ``rows``: dataset ``checkpoints``."""
    key = ("group", "topic", "kafka_partition")
    # Column by column, as Spark need not sort for aggregates of numbers, but would for aggregates of a struct.
    last = [F.max_by(name, "log_offset").alias(name) for name in CHECKPOINTS.names if name not in key]
    return conform(rows.groupBy(*key).agg(*last), CHECKPOINTS)


def _once(records: DataFrame, **values: str) -> DataFrame:
    """Add columns that are computed once per row.

    Catalyst would repeat the expressions of a projection in each filter above it, and decode each record several times.
    It pushes no filter through a generator.
    """
    fields = ", ".join(f"'{name}', {value}" for name, value in values.items())
    return records.selectExpr("*", f"inline(array(named_struct({fields})))")


def _is_size(column: str, start: str, size: str) -> str:
    """Make the SQL condition that the two bytes at ``start`` (counted from 1) are the number ``size``."""
    expected = f"lpad(hex({size}), {2 * _SHORT}, '0')"
    return f"({size} BETWEEN 0 AND {_LONGEST} AND hex({_bytes(column, start, _SHORT)}) = {expected})"


def _number(eight_bytes_or_less: str) -> str:
    """Make the SQL expression of a number from bytes; signed if there are 8 bytes, null if there are none."""
    return f"CAST(conv(hex({eight_bytes_or_less}), 16, -10) AS BIGINT)"


def _sign(number: str) -> str:
    """Make the SQL expression of the last 4 bytes of a number, as Java's ``int``."""
    return f"CAST(shiftright(shiftleft({number}, 32), 32) AS INT)"


def _bytes(column: str, start: int | str, size: int) -> str:
    """Make the SQL expression of ``size`` bytes at ``start``, counted from 1, or from the end if it is negative."""
    return f"substr({column}, {start}, {size})"


def _text(column: str, start: str, size: str) -> str:
    """Make the SQL expression of the text whose two bytes of length are at ``start``."""
    return f"CAST(substr({column}, CAST({start} + {_SHORT} AS INT), CAST({size} AS INT)) AS STRING)"

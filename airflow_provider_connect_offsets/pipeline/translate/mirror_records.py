"""MirrorMaker 2's own records, decoded by Catalyst: how offsets of a source and of its remote topic belong together.

All are big-endian; a text is its length in two bytes, then UTF-8. What is not of that shape (a tombstone, another
version, a record of someone else) is left out. Sources: ``OffsetSync``, ``Checkpoint`` (connect-mirror-client).
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from airflow_provider_connect_offsets.pipeline.frames import shaped
from airflow_provider_connect_offsets.workspace.schemas import CHECKPOINTS, OFFSET_SYNCS

_SHORT, _INT, _LONG = 2, 4, 8
# A text that says it is longer is none: Java's short would be negative.
_LONGEST = 2**15 - 1


def offset_syncs(records: DataFrame) -> DataFrame:
    """Dataset ``offset_syncs``. records: dataset ``stored_records`` of an offset-syncs topic.

    A sync says that the record at ``upstream`` of the source is the one at ``downstream`` of its remote topic.
    """
    topic = f"(length(key) - {_SHORT + _INT})"
    found = records.where(f"length(value) = {2 * _LONG} AND {_is_size('key', '1', topic)}")
    return shaped(
        found.selectExpr(
            f"{_text('key', '1', topic)} AS topic",
            f"{_signed(_number(_bytes('key', -_INT, _INT)))} AS kafka_partition",
            f"{_number(_bytes('value', 1, _LONG))} AS upstream",
            f"{_number(_bytes('value', 1 + _LONG, _LONG))} AS downstream",
            "log_offset",
            "written_at AS log_timestamp",
        ),
        OFFSET_SYNCS,
    )


def checkpoints(records: DataFrame) -> DataFrame:
    """Dataset ``checkpoints``. records: dataset ``stored_records`` of a checkpoints topic.

    A checkpoint says that a group which is to read ``upstream`` of the source next, reads ``downstream`` of the topic
    as it is called on the target, or a record after that.
    """
    # All that stands at a known place, in one number: reading one from bytes costs more than all the rest.
    metadata_at = 1 + _SHORT + 2 * _LONG
    fixed = [_bytes("key", 1, _SHORT), _bytes("value", metadata_at, _SHORT), _bytes("key", -_INT, _INT)]
    sized = _once(records, fixed=_number(f"concat({', '.join(fixed)})"))
    group, topic_at = "CAST(shiftright(fixed, 48) AS INT)", f"(shiftright(fixed, 48) + {_SHORT + 1})"
    topic = f"(length(key) - shiftright(fixed, 48) - {2 * _SHORT + _INT})"
    metadata = f"(length(value) - {2 * _SHORT + 2 * _LONG})"
    whole = f"{_is_size('key', topic_at, topic)} AND fixed >= 0 AND (shiftright(fixed, 32) & 65535) = {metadata}"
    first_version = f"{_bytes('value', 1, _SHORT)} = X'0000'"
    return shaped(
        sized.where(f"{metadata} BETWEEN 0 AND {_LONGEST} AND {first_version} AND {whole}").selectExpr(
            f"{_text('key', '1', group)} AS `group`",
            f"{_text('key', topic_at, topic)} AS topic",
            f"{_signed('fixed')} AS kafka_partition",
            f"{_number(_bytes('value', 1 + _SHORT, _LONG))} AS upstream",
            f"{_number(_bytes('value', 1 + _SHORT + _LONG, _LONG))} AS downstream",
            f"{_text('value', str(metadata_at), metadata)} AS metadata",
            "log_offset",
            "written_at AS log_timestamp",
        ),
        CHECKPOINTS,
    )


def latest_checkpoints(found: DataFrame) -> DataFrame:
    """The last checkpoint of each group, topic and partition, of all groups in one pass. found: ``checkpoints``.

    Each column by itself: where numbers only are asked for, Spark then needs no sorting, as it would for a struct.
    """
    key = ("group", "topic", "kafka_partition")
    last = [F.max_by(name, "log_offset").alias(name) for name in CHECKPOINTS.names if name not in key]
    return shaped(found.groupBy(*key).agg(*last), CHECKPOINTS)


def _once(records: DataFrame, **values: str) -> DataFrame:
    """Add columns that are worked out once for each row, however often they are asked for.

    Of a projection Catalyst would write them out again in each filter above it, and decode each record many times over;
    it takes no filter past a generator.
    """
    fields = ", ".join(f"'{name}', {value}" for name, value in values.items())
    return records.selectExpr("*", f"inline(array(named_struct({fields})))")


def _is_size(column: str, start: str, size: str) -> str:
    """Whether the two bytes at ``start`` (from 1) are this size: that which makes the whole of the right length."""
    told = f"lpad(hex({size}), {2 * _SHORT}, '0')"
    return f"({size} BETWEEN 0 AND {_LONGEST} AND hex({_bytes(column, start, _SHORT)}) = {told})"


def _number(eight_bytes_or_less: str) -> str:
    """A number; one of 8 bytes is signed. Null where there are no bytes."""
    return f"CAST(conv(hex({eight_bytes_or_less}), 16, -10) AS BIGINT)"


def _signed(number: str) -> str:
    """The last 4 bytes of a number, as Java's ``int``."""
    return f"CAST(shiftright(shiftleft({number}, 32), 32) AS INT)"


def _bytes(column: str, start: int | str, size: int) -> str:
    """From ``start`` on, which counts from 1, or from the end where it is negative."""
    return f"substr({column}, {start}, {size})"


def _text(column: str, start: str, size: str) -> str:
    """What follows its size, which stands at ``start``."""
    return f"CAST(substr({column}, CAST({start} + {_SHORT} AS INT), CAST({size} AS INT)) AS STRING)"

"""MirrorMaker 2's own records, decoded by Catalyst: how offsets of a source and of its replica belong together.

All are big-endian; a text is its length in two bytes, then UTF-8. What is not of that shape (a tombstone, another
version, a record of someone else) is left out. Sources: ``OffsetSync``, ``Checkpoint`` (connect-mirror-client).
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from airflow_provider_connect_offsets.pipeline.frames import shaped
from airflow_provider_connect_offsets.workspace.schemas import CHECKPOINTS, OFFSET_SYNCS

_SHORT, _INT, _LONG = 2, 4, 8


def offset_syncs(records: DataFrame) -> DataFrame:
    """Dataset ``offset_syncs``. records: dataset ``stored_records`` of an offset-syncs topic.

    A sync says that the record at ``upstream`` of the source is the one at ``downstream`` of its replica.
    """
    size = F.col("topic_size")
    sized = _once(records, topic_size=_text_size("key", F.lit(1)))
    found = sized.where((F.length("key") == size + _SHORT + _INT) & (F.length("value") == 2 * _LONG))
    return shaped(
        found.select(
            _text("key", F.lit(1), size).alias("topic"),
            _number("key", size + _SHORT + 1, _INT).alias("kafka_partition"),
            _number("value", F.lit(1), _LONG).alias("upstream"),
            _number("value", F.lit(1 + _LONG), _LONG).alias("downstream"),
            "log_offset",
            F.col("written_at").alias("log_timestamp"),
        ),
        OFFSET_SYNCS,
    )


def checkpoints(records: DataFrame) -> DataFrame:
    """Dataset ``checkpoints``. records: dataset ``stored_records`` of a checkpoints topic.

    A checkpoint says that a group which is to read ``upstream`` of the source next, reads ``downstream`` of the topic
    as it is called on the target, or a record after that.
    """
    metadata_at = F.lit(1 + _SHORT + 2 * _LONG)
    sized = _once(
        records,
        group_size=_text_size("key", F.lit(1)),
        topic_size=_text_size("key", _text_size("key", F.lit(1)) + _SHORT + 1),
        metadata_size=_text_size("value", metadata_at),
    )
    group, topic, metadata = F.col("group_size"), F.col("topic_size"), F.col("metadata_size")
    whole_key = F.length("key") == group + topic + 2 * _SHORT + _INT
    whole_value = F.length("value") == metadata + 2 * _SHORT + 2 * _LONG
    first_version = _digits("value", F.lit(1), _SHORT) == "0000"
    found = sized.where(whole_key & whole_value & first_version)
    return shaped(
        found.select(
            _text("key", F.lit(1), group).alias("group"),
            _text("key", group + _SHORT + 1, topic).alias("topic"),
            _number("key", group + topic + 2 * _SHORT + 1, _INT).alias("kafka_partition"),
            _number("value", F.lit(1 + _SHORT), _LONG).alias("upstream"),
            _number("value", F.lit(1 + _SHORT + _LONG), _LONG).alias("downstream"),
            _text("value", metadata_at, metadata).alias("metadata"),
            "log_offset",
            F.col("written_at").alias("log_timestamp"),
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


def _once(records: DataFrame, **values: Column) -> DataFrame:
    """Add columns that are worked out once for each row, however often they are asked for.

    Of a projection Catalyst would write them out again in each filter above it, and decode each record many times over;
    it takes no filter past a generator.
    """
    row = F.struct(*[value.alias(name) for name, value in values.items()])
    return records.select("*", F.inline(F.array(row)))


def _number(column: str, start: Column, size: int) -> Column:
    """A signed number of ``size`` bytes at ``start`` (from 1); null where the bytes end before it does."""
    if size == _LONG:
        return F.conv(_digits(column, start, size), 16, -10).cast("long")
    unsigned, sign = F.conv(_digits(column, start, size), 16, 10).cast("long"), 8 * (_LONG - size)
    return F.shiftright(F.shiftleft(unsigned, sign), sign)


def _text_size(column: str, start: Column) -> Column:
    """How many bytes; a negative number is read as a great one, which no record is long enough for."""
    return F.conv(_digits(column, start, _SHORT), 16, 10).cast("int")


def _digits(column: str, start: Column, size: int) -> Column:
    return F.hex(F.substr(column, start, F.lit(size)))


def _text(column: str, start: Column, size: Column) -> Column:
    return F.substr(column, start + _SHORT, size).cast("string")

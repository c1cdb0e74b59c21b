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
    size = _text_size("key", F.lit(1))
    found = records.where((F.length("key") == size + _SHORT + _INT) & (F.length("value") == 2 * _LONG))
    return shaped(
        found.select(
            _text("key", F.lit(1)).alias("topic"),
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
    group = _text_size("key", F.lit(1))
    topic_at = group + _SHORT + 1
    topic = _text_size("key", topic_at)
    metadata_at = F.lit(1 + _SHORT + 2 * _LONG)
    metadata = _text_size("value", metadata_at)
    whole_key = F.length("key") == group + topic + 2 * _SHORT + _INT
    whole_value = F.length("value") == metadata + 2 * _SHORT + 2 * _LONG
    first_version = _digits("value", F.lit(1), _SHORT) == "0000"
    found = records.where(whole_key & whole_value & first_version)
    return shaped(
        found.select(
            _text("key", F.lit(1)).alias("group"),
            _text("key", topic_at).alias("topic"),
            _number("key", topic_at + topic + _SHORT, _INT).alias("kafka_partition"),
            _number("value", F.lit(1 + _SHORT), _LONG).alias("upstream"),
            _number("value", F.lit(1 + _SHORT + _LONG), _LONG).alias("downstream"),
            _text("value", metadata_at).alias("metadata"),
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


def _number(column: str, start: Column, size: int) -> Column:
    """A signed number of ``size`` bytes at ``start`` (from 1); null where the bytes end before it does."""
    if size == _LONG:
        return F.conv(_digits(column, start, size), 16, -10).cast("long")
    unsigned, range_ = F.conv(_digits(column, start, size), 16, 10).cast("long"), 1 << 8 * size
    return F.when(unsigned >= range_ // 2, unsigned - range_).otherwise(unsigned)


def _text_size(column: str, start: Column) -> Column:
    """How many bytes; a negative number is read as a great one, which no record is long enough for.

    It stands many times in what is made of it: any more of an expression, and Java would not compile the sum of them.
    """
    return F.conv(_digits(column, start, _SHORT), 16, 10).cast("int")


def _digits(column: str, start: Column, size: int) -> Column:
    return F.hex(F.substr(column, start, F.lit(size)))


def _text(column: str, start: Column) -> Column:
    return F.substr(column, start + _SHORT, _text_size(column, start)).cast("string")

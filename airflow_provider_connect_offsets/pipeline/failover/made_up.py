"""Records as the final observation will read them, made up from a preview's ranges, so that a driver can get ready."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from airflow_provider_connect_offsets.offsets.flow import Side
from airflow_provider_connect_offsets.pipeline.events import KEY
from airflow_provider_connect_offsets.pipeline.frames import conform, is_finished, read_dataset, write_dataset
from airflow_provider_connect_offsets.workspace.flow_schemas import COMPARE_RANGES, MIRROR_PARTITIONS, RECORD_DIGESTS
from airflow_provider_connect_offsets.workspace.layout import FailoverDirectory

_FROM = ("source_from", "target_from")


def write_made_up_records(spark: SparkSession, preview: FailoverDirectory, outputs: FailoverDirectory) -> None:
    """Write ``record_digests`` and ``mirror_partitions`` as if the ranges that a preview has chosen had been read.

    Each record is alike the one that is as far from the end of the other log. Writes nothing without ranges.

    Args:
        spark: the session
        preview: the run whose dataset ``compare_ranges`` says what will be read
        outputs: where to write; never ``preview``
    """
    if not is_finished(spark, preview.compare_ranges):
        return
    ranges = read_dataset(spark, preview.compare_ranges, COMPARE_RANGES).select(*KEY, *_FROM)
    unread = read_dataset(spark, preview.mirror_partitions, MIRROR_PARTITIONS).drop(*_FROM)
    partitions = unread.join(F.broadcast(ranges), list(KEY), "left")
    write_dataset(conform(partitions, MIRROR_PARTITIONS), outputs.mirror_partitions)
    records = _records(partitions, Side.SOURCE).unionByName(_records(partitions, Side.TARGET))
    write_dataset(conform(records, RECORD_DIGESTS), outputs.record_digests)


def _records(partitions: DataFrame, side: Side) -> DataFrame:
    start, end = F.col(f"{side.value}_from"), F.col(f"{side.value}_end")
    offsets = F.explode(F.sequence(start, end - 1)).alias("log_offset")
    records = partitions.where(start < end).select(*KEY, end.alias("end"), F.lit(side.value).alias("side"), offsets)
    left = F.col("end") - F.col("log_offset")
    return records.withColumn("digest", F.unhex(F.md5(left.cast("string"))))

"""Collect offset mappings: a record of the source and the offset of its copy in the remote topic."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from airflow_provider_connect_offsets.pipeline.events import KEY

#: Columns of a mapping whose neighbours were read.
NEXT = ("next_upstream", "next_downstream")


def known_mappings(syncs: DataFrame, partitions: DataFrame, kept: DataFrame | None = None) -> DataFrame:
    """All offset mappings of each partition, except mappings of an earlier or truncated topic of the same name.

    Args:
        syncs: dataset ``offset_syncs``: all syncs that the topic still has
        partitions: dataset ``mirror_partitions``
        kept: dataset ``kept_mappings``, or None

    Returns:
        topic, kafka_partition, seq (long, in order of time), upstream, downstream, weak (the only evidence is that the
        last records of both logs look the same), next_upstream, next_downstream (neither log has a record between the
        mapping's own and this offset; null: unknown)
    """
    synced = _select_valid(syncs)
    origin = partitions.where("origin_upstream is not null").select(
        *KEY,
        F.lit(-1).cast("long").alias("seq"),
        F.col("origin_upstream").alias("upstream"),
        F.col("origin_downstream").alias("downstream"),
    )
    last = partitions.where("ends_with_stored and drained and stored >= source_start and target_end > 0").select(
        *KEY,
        F.lit(2**62).alias("seq"),
        F.col("stored").alias("upstream"),
        F.coalesce("target_last", F.col("target_end") - 1).alias("downstream"),
    )
    weak = (F.col("seq") == 2**62).alias("weak")
    current = _mark(origin.unionByName(synced).unionByName(last), partitions).where(_is_current())
    unknown = F.lit(None).cast("long")
    mappings = current.select(*KEY, "seq", "upstream", "downstream", weak, *[unknown.alias(name) for name in NEXT])
    if kept is None:
        return mappings
    # Within one topic, order by offset is order of time. A mapping may be both kept and synced.
    in_topic = F.when(F.col("seq") >= 0, F.col("downstream")).otherwise(F.lit(-1)).cast("long")
    proved = kept.select(
        *KEY, F.col("downstream").alias("seq"), "upstream", "downstream", F.expr("false").alias("weak"), *NEXT
    )
    return mappings.withColumn("seq", in_topic).unionByName(proved).distinct()


def find_recreated(syncs: DataFrame, partitions: DataFrame) -> DataFrame:
    """Partitions whose source or remote topic was recreated after the first sync, according to the syncs.

    Returns:
        topic, kafka_partition
    """
    return _mark(_select_valid(syncs), partitions).where(~_is_current()).select(*KEY).distinct()


def distance(mapping: str) -> Column:
    """``downstream`` minus ``upstream`` of the struct in a column."""
    return F.col(f"{mapping}.downstream") - F.col(f"{mapping}.upstream")


def _select_valid(syncs: DataFrame) -> DataFrame:
    mapped = syncs.where((F.col("upstream") >= 0) & (F.col("downstream") >= 0))
    return mapped.select(*KEY, F.col("log_offset").alias("seq"), "upstream", "downstream")


def gaps_of(mappings: DataFrame) -> DataFrame:
    """Whether a record between two mappings has no copy: topic, kafka_partition, has_gaps."""
    after = F.lead(F.struct("upstream", "downstream")).over(Window.partitionBy(*KEY).orderBy("downstream"))
    rise, length = F.col("after.upstream") - F.col("upstream"), F.col("after.downstream") - F.col("downstream")
    return mappings.withColumn("after", after).groupBy(*KEY).agg(F.max(length < rise).alias("has_gaps"))


def _mark(mappings: DataFrame, partitions: DataFrame) -> DataFrame:
    """Add alien, first and newest.

    alien: seq of the last mapping beyond the source's end; first: seq of the last mapping at which offsets fell;
    newest: downstream of the last mapping.
    """
    of_partition = Window.partitionBy(*KEY)
    # An offset beyond the end belongs to an earlier topic of the same name.
    beyond = F.greatest("upstream", "stored") >= F.col("source_end")
    rises = F.col("downstream") > F.col("before.downstream")
    repeats = F.struct("upstream", "downstream") == F.col("before")
    before = F.lag(F.struct("upstream", "downstream")).over(of_partition.orderBy("seq"))
    return (
        mappings.join(F.broadcast(partitions.select(*KEY, "target_end", "source_end", "stored")), list(KEY))
        .withColumn("alien", F.max(F.when(beyond, F.col("seq"))).over(of_partition))
        .withColumn("before", before)
        .withColumn("first", F.max(F.when(~(rises | repeats), F.col("seq"))).over(of_partition))
        .withColumn("newest", F.max_by("downstream", "seq").over(of_partition))
    )


def _is_current() -> Column:
    """Whether a mapping belongs to the current topics: after the last fall of offsets, and within both logs."""
    behind = F.coalesce(F.col("seq") > F.col("alien"), F.expr("true"))
    return (F.col("newest") < F.col("target_end")) & behind & F.coalesce(F.col("seq") >= F.col("first"), F.expr("true"))

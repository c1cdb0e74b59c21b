"""Offset mappings: a record of the source, and where its copy stands in the remote topic, whatever tells of it."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from airflow_provider_connect_offsets.pipeline.events import KEY


def known_mappings(syncs: DataFrame, partitions: DataFrame, kept: DataFrame | None = None) -> DataFrame:
    """Put together what is known of each partition.

    syncs: dataset ``offset_syncs``, all that the topic still holds
    partitions: dataset ``mirror_partitions``
    kept: dataset ``kept_mappings``, or None
    returns: topic, kafka_partition, seq (long, in the order in which they came about), upstream, downstream, weak
    (nothing tells of it but that the last records of both logs look the same)

    Mappings of a remote topic that was created anew since, or cut off, are left out.
    """
    told = syncs.where((F.col("upstream") >= 0) & (F.col("downstream") >= 0))
    synced = told.select(*KEY, F.col("log_offset").alias("seq"), "upstream", "downstream")
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
        (F.col("target_end") - 1).alias("downstream"),
    )
    weak = (F.col("seq") == 2**62).alias("weak")
    found = _of_this_topic(origin.unionByName(synced).unionByName(last), partitions).select("*", weak)
    if kept is None:
        return found
    # Of one and the same topic, what stands further in it came about later; a mapping may be known by a sync as well.
    in_topic = F.when(F.col("seq") >= 0, F.col("downstream")).otherwise(F.lit(-1)).cast("long")
    surely = F.expr("false").alias("weak")
    proved = kept.select(*KEY, F.col("downstream").alias("seq"), "upstream", "downstream", surely)
    return found.withColumn("seq", in_topic).unionByName(proved).distinct()


def created_anew(syncs: DataFrame, partitions: DataFrame) -> DataFrame:
    """Tell of which partitions the offset syncs show that either topic was created anew since the first of them.

    returns: topic, kafka_partition
    """
    told = syncs.where((F.col("upstream") >= 0) & (F.col("downstream") >= 0))
    marked = _marked(told.select(*KEY, F.col("log_offset").alias("seq"), "upstream", "downstream"), partitions)
    return marked.where(~_is_current()).select(*KEY).distinct()


def gaps_of(mappings: DataFrame) -> DataFrame:
    """Tell whether some record surely has no copy behind the one before it: topic, kafka_partition, has_gaps."""
    after = F.lead(F.struct("upstream", "downstream")).over(Window.partitionBy(*KEY).orderBy("downstream"))
    rise, length = F.col("after.upstream") - F.col("upstream"), F.col("after.downstream") - F.col("downstream")
    return mappings.withColumn("after", after).groupBy(*KEY).agg(F.max(length < rise).alias("has_gaps"))


def _of_this_topic(mappings: DataFrame, partitions: DataFrame) -> DataFrame:
    """Leave out what is of earlier topics of these names."""
    return _marked(mappings, partitions).where(_is_current()).select(*KEY, "seq", "upstream", "downstream")


def _marked(mappings: DataFrame, partitions: DataFrame) -> DataFrame:
    """Add alien (the last that lies beyond the source's end), first (where the remote offsets fell last), newest."""
    of_partition = Window.partitionBy(*KEY)
    # Such an offset was stored, or told, of another topic of that name.
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
    """Whether a mapping is of the topics that are there now: behind the last fall, and where both logs reach."""
    behind = F.coalesce(F.col("seq") > F.col("alien"), F.expr("true"))
    return (F.col("newest") < F.col("target_end")) & behind & F.coalesce(F.col("seq") >= F.col("first"), F.expr("true"))

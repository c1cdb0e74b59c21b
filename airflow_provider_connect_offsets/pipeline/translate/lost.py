"""Rebuild the log of a lost source from its remote topic.

Offset mappings show which source records the remote topic contains; a record that occurs twice was replicated twice. So
if the whole remote topic was read, all replicated records are known, and positions are translated as for a drained
flow. Records of the source that were not replicated are unknown.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from airflow_provider_connect_offsets.offsets.flow import Side
from airflow_provider_connect_offsets.pipeline.events import KEY, SO_FAR, union_of
from airflow_provider_connect_offsets.pipeline.frames import materialise
from airflow_provider_connect_offsets.pipeline.translate.mappings import distance

# This many records in a row with the expected digests are no coincidence.
COMPANY = 3
_POINT, _RECORD = 0, 1


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """Partitions and digests in the form of a drained flow's.

    Attributes:
        partitions: dataset ``mirror_partitions``, and known_to (the last source record with a known offset; null: the
            partition could not be rebuilt and is unchanged)
        digests: dataset ``record_digests``
    """

    partitions: DataFrame
    digests: DataFrame


def rebuild(partitions: DataFrame, mappings: DataFrame, digests: DataFrame, ledger: DataFrame) -> Rebuilt:
    """Rebuild the source of each partition whose remote topic was read whole.

    A partition is not rebuilt if a topic is compacted or records are transformed; if mappings don't cover the source
    from its log start; if two records look the same; or if the remote topic doesn't have the order in which records are
    replicated: each record follows its predecessor, or begins a row of repeated records. Such a row has at least
    ``COMPANY`` records, or a record that follows it later, and is new, has a known offset.

    Args:
        partitions: dataset ``mirror_partitions``
        mappings: what ``known_mappings`` returns
        digests: dataset ``record_digests`` of the remote topics
        ledger: dataset ``mirror_ledger``, of the current topics
    """
    facts = ledger.where("kind = 'log'").select(*KEY, "source_start", "gapless", "transformed")
    read_whole = (F.col("target_from") <= F.col("target_start")) & F.col("kept.gapless") & ~F.col("kept.transformed")
    kept = facts.select(*KEY, F.struct("source_start", "gapless", "transformed").alias("kept"))
    eligible = partitions.join(F.broadcast(kept), list(KEY)).where(read_whole & F.col("gapless"))
    numbered = materialise(_number_records(_map_records(digests, mappings, eligible)))
    kept_digests = ledger.where("kind = 'record'").select(
        *KEY, F.col("upstream").alias("number"), F.col("digest").alias("kept_digest")
    )
    good = materialise(_select_believed(numbered, eligible, kept_digests))
    source = numbered.join(F.broadcast(good.select(*KEY)), list(KEY)).select(*KEY, "number", "digest").distinct()
    of_source = source.select(
        F.lit(Side.SOURCE.value).alias("side"), *KEY, F.col("number").alias("log_offset"), "digest"
    )
    return Rebuilt(materialise(_as_drained(partitions, good)), materialise(digests.unionByName(of_source)))


def _map_records(digests: DataFrame, mappings: DataFrame, eligible: DataFrame) -> DataFrame:
    """Records of the remote topics with their source offsets, according to the mappings around each record.

    Returns topic, kafka_partition, downstream, digest, upstream (null: unknown), last (the highest upstream of all
    mappings), begins_at_origin (both logs began with the same record).
    """
    certain = mappings.where(~F.col("weak")).groupBy(*KEY, "downstream").agg(F.max("upstream").alias("upstream"))
    records = (
        digests.where(F.col("side") == Side.TARGET.value)
        .join(F.broadcast(eligible.select(*KEY)), list(KEY))
        .select(*KEY, F.col("log_offset").alias("at"), F.lit(_RECORD).alias("kind"), "digest")
    )
    points = certain.join(F.broadcast(eligible.select(*KEY)), list(KEY)).select(
        *KEY,
        F.col("downstream").alias("at"),
        F.lit(_POINT).alias("kind"),
        F.struct("upstream", "downstream").alias("point"),
    )
    in_order = Window.partitionBy(*KEY).orderBy("at", "kind")
    backwards = Window.partitionBy(*KEY).orderBy(F.desc("at"), F.desc("kind"))
    nearest = F.last("point", ignorenulls=True)
    before = nearest.over(in_order.rowsBetween(*SO_FAR))
    after = nearest.over(backwards.rowsBetween(Window.unboundedPreceding, -1))
    events = union_of(points, records).withColumns({"before": before, "after": after})
    along = F.col("before.upstream") + F.col("at") - F.col("before.downstream")
    level = distance("before") == distance("after")
    upstream = F.when((F.col("before.downstream") == F.col("at")) | level, along)
    known_to = F.max("point.upstream").over(Window.partitionBy(*KEY))
    at_origin = F.coalesce(F.col("before.upstream") == -1, F.expr("false"))
    named = events.withColumns({"upstream": upstream, "last": known_to, "begins_at_origin": at_origin})
    records_only = named.where(F.col("kind") == _RECORD).withColumnRenamed("at", "downstream")
    return records_only.select(*KEY, "downstream", "digest", "upstream", "last", "begins_at_origin")


def _number_records(mapped: DataFrame) -> DataFrame:
    """Add number (source offset of each record) and twice (two records look the same, or one offset has two records).

    A new record without a mapping gets the offset after the highest offset before it; null if no offset is known.
    """
    alike, in_order = Window.partitionBy("digest", *KEY), Window.partitionBy(*KEY).orderBy("downstream")
    by_digest = F.min("upstream").over(alike)
    repeats = F.coalesce(F.max("upstream").over(alike) > by_digest, F.expr("false"))
    known = mapped.withColumns({"known": F.coalesce("upstream", by_digest), "repeats": repeats})
    is_first = F.min("downstream").over(alike) == F.col("downstream")
    is_new = F.when(F.col("known").isNull() & is_first, 1).otherwise(0)
    counted = known.withColumn("new", is_new).withColumn("count", F.sum("new").over(in_order.rowsBetween(*SO_FAR)))
    # The first copy of the highest known record; new records after this copy have higher offsets.
    highest = F.max(F.when(F.col("known").isNotNull(), F.struct("known", (-F.col("count")).alias("before"))))
    walked = counted.withColumn("highest", highest.over(in_order.rowsBetween(*SO_FAR)))
    base = F.coalesce("highest.known", F.when(F.col("begins_at_origin"), F.lit(-1)))
    after = F.when(F.col("new") == 1, base + F.col("count") + F.coalesce("highest.before", F.lit(0)))
    numbered = walked.withColumn("after", after).withColumn("number", F.coalesce("known", F.min("after").over(alike)))
    conflict = F.min("digest").over(Window.partitionBy("number", *KEY)) != F.col("digest")
    return numbered.select(
        *KEY, "downstream", "digest", "upstream", "last", "number", (F.col("repeats") | conflict).alias("twice")
    )


def _select_believed(numbered: DataFrame, eligible: DataFrame, kept_digests: DataFrame) -> DataFrame:
    """Partitions whose records are in the order of replication: topic, kafka_partition, first, known_to, end."""
    sums = numbered.groupBy(*KEY).agg(
        F.count_if(F.col("number").isNull()).alias("unknown"),
        F.max("twice").alias("twice"),
        F.max("last").alias("last"),
        F.max("upstream").alias("mapped_to"),
        F.min("number").alias("first"),
        (F.max("number") + 1).alias("end"),
        F.count_distinct("number").alias("different"),
    )
    floor = F.greatest(F.col("kept.source_start"), F.lit(0))
    whole = (F.col("first") <= floor) & (F.col("different") == F.col("end") - F.col("first"))
    unproved = F.col("open_to").isNotNull() & ~F.coalesce(
        F.greatest("mapped_to", "proved_to") > F.col("open_to"), F.expr("false")
    )
    return (
        sums.join(_check_order(numbered), list(KEY))
        .join(F.broadcast(eligible.select(*KEY, "kept")), list(KEY))
        .join(_prove(numbered, kept_digests), list(KEY), "left")
        .where((F.col("unknown") == 0) & ~F.col("twice") & whole)
        .where(~F.col("ahead") & ~(F.col("short") & unproved))
        .where(F.coalesce("refuted", F.lit(0)) == 0)
        .select(*KEY, "first", "end", F.greatest("last", "proved_to").alias("known_to"))
    )


def _check_order(numbered: DataFrame) -> DataFrame:
    """What is odd about the order of records, in rows of them without a mapping.

    If fewer than ``COMPANY`` records are repeated, they may be new records that look like earlier ones. Then the source
    has more records than were numbered, and a record behind them with a known offset would leave a gap. Where a row is
    that short, each row has to be proved so, as another one may begin with such a record.

    Returns topic, kafka_partition, ahead (a row begins beyond the record before it), short (a row has fewer records),
    open_to (the highest record before the last row that repeats fewer; null: no row does).
    """
    in_order = Window.partitionBy(*KEY).orderBy("downstream")
    before = F.lag("number").over(in_order)
    begins = F.coalesce(F.col("number") != before + 1, F.expr("true"))
    highest = F.max("number").over(in_order.rowsBetween(Window.unboundedPreceding, -1))
    stretches = numbered.withColumns({"begins": begins, "before": before, "highest": highest}).withColumn(
        "stretch", F.sum(F.when(F.col("begins"), 1).otherwise(0)).over(in_order.rowsBetween(*SO_FAR))
    )
    unmapped = ~F.col("mapped")
    return (
        stretches.groupBy(*KEY, "stretch")
        .agg(
            F.count("*").alias("length"),
            F.count_if(F.col("number") <= F.col("highest")).alias("repeated"),
            F.min("highest").alias("highest"),
            F.max(F.col("upstream").isNotNull()).alias("mapped"),
            F.max(F.col("begins") & (F.col("number") > F.col("before"))).alias("ahead"),
        )
        .groupBy(*KEY)
        .agg(
            F.max(unmapped & F.coalesce("ahead", F.expr("true"))).alias("ahead"),
            F.max(unmapped & (F.col("length") < COMPANY)).alias("short"),
            F.max(F.when(unmapped & (F.col("repeated") < COMPANY), F.col("highest"))).alias("open_to"),
        )
    )


def _prove(numbered: DataFrame, kept_digests: DataFrame) -> DataFrame:
    """Compare with digests of the source's records.

    Returns topic, kafka_partition, proved_to (the last record with the computed offset), refuted (how many records have
    another offset).
    """
    computed = numbered.groupBy(*KEY, "number").agg(F.min("digest").alias("digest"))
    compared = kept_digests.join(computed, ["number", *KEY]).withColumn("same", F.col("kept_digest") == F.col("digest"))
    in_order = Window.partitionBy(*KEY).orderBy("number")
    near = [F.lag(F.struct("number", "same"), steps).over(in_order) for steps in range(1, COMPANY)]
    straight = [(row["number"] == F.col("number") - steps) & row["same"] for steps, row in enumerate(near, start=1)]
    in_company = F.col("same") & reduce(Column.__and__, straight)
    return (
        compared.withColumn("proved", F.when(in_company, F.col("number")))
        .groupBy(*KEY)
        .agg(F.max("proved").alias("proved_to"), F.count_if(~F.col("same")).alias("refuted"))
    )


def _as_drained(partitions: DataFrame, good: DataFrame) -> DataFrame:
    is_rebuilt = F.col("known_to").isNotNull()

    def instead(name: str, value: Column) -> Column:
        return F.when(is_rebuilt, value).otherwise(F.col(name))

    values = {
        "source_start": F.col("first"),
        "source_end": F.col("end"),
        "stored": F.col("end") - 1,
        "drained": F.expr("true"),
        "source_from": F.col("first"),
    }
    names = partitions.columns
    return (
        partitions.join(F.broadcast(good), list(KEY), "left")
        .withColumns({name: instead(name, value) for name, value in values.items()})
        .withColumn("target_from", F.when(is_rebuilt, F.col("target_from")))
        .select(*names, "known_to")
    )

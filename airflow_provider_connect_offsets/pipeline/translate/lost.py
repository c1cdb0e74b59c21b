"""A source that is gone, rebuilt from its remote topic: what was replicated stands for what the source had.

Offset mappings say which records of the source the remote topic holds; a record that stands there twice was replicated
twice. So all that was replicated is known again, where the remote topic was read whole, and the records engine answers
as of a flow that was drained. What the source had beyond that, nobody knows.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from airflow_provider_connect_offsets.offsets.flow import Side
from airflow_provider_connect_offsets.pipeline.events import KEY, SO_FAR, union_of
from airflow_provider_connect_offsets.pipeline.frames import worked_out

# So many records in a row with digests as expected are no chance.
COMPANY = 3
_POINT, _RECORD = 0, 1


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """Partitions and digests as of a flow that was drained, and how far the source's offsets are known.

    partitions: dataset ``mirror_partitions``, and known_to (the last record of the source of which its offset is known;
    null: the partition could not be rebuilt, and is as it was); digests: dataset ``record_digests``
    """

    partitions: DataFrame
    digests: DataFrame


def rebuilt(partitions: DataFrame, mappings: DataFrame, digests: DataFrame, ledger: DataFrame) -> Rebuilt:
    """Rebuild the source of each partition whose remote topic was read whole.

    partitions: dataset ``mirror_partitions``; mappings: of ``known_mappings``; digests: dataset ``record_digests`` of
    the remote topics; ledger: dataset ``mirror_ledger``, of the topics that are there now

    A partition is left as it is where a topic is compacted or records are transformed, where mappings don't reach from
    the source's log start on, where two records look the same, and where records stand in the remote topic in an order
    in which no flow replicates: a record after the one before it, or from somewhere before in a row of ``COMPANY``.
    """
    facts = ledger.where("kind = 'log'").select(*KEY, "source_start", "gapless", "transformed")
    read_whole = (F.col("target_from") <= F.col("target_start")) & F.col("kept.gapless") & ~F.col("kept.transformed")
    kept = facts.select(*KEY, F.struct("source_start", "gapless", "transformed").alias("kept"))
    asked = partitions.join(F.broadcast(kept), list(KEY)).where(read_whole & F.col("gapless"))
    numbered = worked_out(_numbered(_placed(digests, mappings, asked)))
    told = ledger.where("kind = 'record'").select(
        *KEY, F.col("upstream").alias("number"), F.col("digest").alias("told")
    )
    good = worked_out(_believed(numbered, asked, told))
    source = numbered.join(F.broadcast(good.select(*KEY)), list(KEY)).select(*KEY, "number", "digest").distinct()
    of_source = source.select(
        F.lit(Side.SOURCE.value).alias("side"), *KEY, F.col("number").alias("log_offset"), "digest"
    )
    return Rebuilt(worked_out(_as_drained(partitions, good)), worked_out(digests.unionByName(of_source)))


def _placed(digests: DataFrame, mappings: DataFrame, asked: DataFrame) -> DataFrame:
    """Records of the remote topics, by the mappings around each.

    returns: topic, kafka_partition, downstream, digest, upstream (null: no mapping tells), last (the highest upstream
    of all mappings), begins_at_origin (both logs began with the same record)
    """
    surely = mappings.where(~F.col("weak")).groupBy(*KEY, "downstream").agg(F.max("upstream").alias("upstream"))
    records = (
        digests.where(F.col("side") == Side.TARGET.value)
        .join(F.broadcast(asked.select(*KEY)), list(KEY))
        .select(*KEY, F.col("log_offset").alias("at"), F.lit(_RECORD).alias("kind"), "digest")
    )
    points = surely.join(F.broadcast(asked.select(*KEY)), list(KEY)).select(
        *KEY,
        F.col("downstream").alias("at"),
        F.lit(_POINT).alias("kind"),
        F.struct("upstream", "downstream").alias("point"),
    )
    in_order = Window.partitionBy(*KEY).orderBy("at", "kind")
    before = F.last("point", ignorenulls=True).over(in_order.rowsBetween(*SO_FAR))
    after = F.first("point", ignorenulls=True).over(in_order.rowsBetween(1, Window.unboundedFollowing))
    found = union_of(points, records).withColumns({"before": before, "after": after})
    along = F.col("before.upstream") + F.col("at") - F.col("before.downstream")
    level = _distance("before") == _distance("after")
    upstream = F.when((F.col("before.downstream") == F.col("at")) | level, along)
    known_to = F.max("point.upstream").over(Window.partitionBy(*KEY))
    at_origin = F.coalesce(F.col("before.upstream") == -1, F.expr("false"))
    named = found.withColumns({"upstream": upstream, "last": known_to, "begins_at_origin": at_origin})
    records_only = named.where(F.col("kind") == _RECORD).withColumnRenamed("at", "downstream")
    return records_only.select(*KEY, "downstream", "digest", "upstream", "last", "begins_at_origin")


def _distance(point: str) -> Column:
    return F.col(f"{point}.downstream") - F.col(f"{point}.upstream")


def _numbered(placed: DataFrame) -> DataFrame:
    """Add number: the source offset of each record, and twice: two look the same, or one offset has two records.

    One that stands there for the first time, and of which no mapping tells, is taken for the one after the highest
    that came before it. Null where nothing came before it.
    """
    alike, in_order = Window.partitionBy(*KEY, "digest"), Window.partitionBy(*KEY).orderBy("downstream")
    by_digest = F.min("upstream").over(alike)
    repeats = F.coalesce(F.max("upstream").over(alike) > by_digest, F.expr("false"))
    seen = placed.withColumns({"told": F.coalesce("upstream", by_digest), "repeats": repeats})
    is_first = F.min("downstream").over(alike) == F.col("downstream")
    is_new = F.when(F.col("told").isNull() & is_first, 1).otherwise(0)
    counted = seen.withColumn("new", is_new).withColumn("count", F.sum("new").over(in_order.rowsBetween(*SO_FAR)))
    # Of the highest one the first copy: what is new since then came after it.
    come_to = F.max(F.when(F.col("told").isNotNull(), F.struct("told", (-F.col("count")).alias("before"))))
    walked = counted.withColumn("come_to", come_to.over(in_order.rowsBetween(*SO_FAR)))
    highest = F.coalesce("come_to.told", F.when(F.col("begins_at_origin"), F.lit(-1)))
    after = F.when(F.col("new") == 1, highest + F.col("count") + F.coalesce("come_to.before", F.lit(0)))
    numbered = walked.withColumn("after", after).withColumn("number", F.coalesce("told", F.min("after").over(alike)))
    conflict = F.min("digest").over(Window.partitionBy(*KEY, "number")) != F.col("digest")
    return numbered.select(
        *KEY, "downstream", "digest", "upstream", "last", "number", (F.col("repeats") | conflict).alias("twice")
    )


def _believed(numbered: DataFrame, asked: DataFrame, told: DataFrame) -> DataFrame:
    """Partitions of which all is as a flow replicates it: topic, kafka_partition, first, known_to, end."""
    in_order = Window.partitionBy(*KEY).orderBy("downstream")
    before = F.lag("number").over(in_order)
    begins = F.coalesce(F.col("number") != before + 1, F.expr("true"))
    stretches = numbered.withColumns({"begins": begins, "before": before}).withColumn(
        "stretch", F.sum(F.when(F.col("begins"), 1).otherwise(0)).over(in_order.rowsBetween(*SO_FAR))
    )
    ordinary = (
        stretches.groupBy(*KEY, "stretch")
        .agg(
            F.count("*").alias("length"),
            F.max(F.col("upstream").isNotNull()).alias("placed"),
            F.max(F.col("begins") & (F.col("number") > F.col("before"))).alias("ahead"),
        )
        .withColumn("bad", ~F.col("placed") & ((F.col("length") < COMPANY) | F.coalesce("ahead", F.expr("true"))))
        .groupBy(*KEY)
        .agg(F.max("bad").alias("bad"))
    )
    sums = numbered.groupBy(*KEY).agg(
        F.count_if(F.col("number").isNull()).alias("unknown"),
        F.max("twice").alias("twice"),
        F.max("last").alias("last"),
        F.min("number").alias("first"),
        (F.max("number") + 1).alias("end"),
        F.count_distinct("number").alias("different"),
    )
    floor = F.greatest(F.col("kept.source_start"), F.lit(0))
    whole = (F.col("first") <= floor) & (F.col("different") == F.col("end") - F.col("first"))
    return (
        sums.join(ordinary, list(KEY))
        .join(F.broadcast(asked.select(*KEY, "kept")), list(KEY))
        .join(_proved(numbered, told), list(KEY), "left")
        .where((F.col("unknown") == 0) & ~F.col("twice") & ~F.col("bad") & whole)
        .where(F.coalesce("refuted", F.lit(0)) == 0)
        .select(*KEY, "first", "end", F.greatest("last", "proved_to").alias("known_to"))
    )


def _proved(numbered: DataFrame, told: DataFrame) -> DataFrame:
    """What digests of the source's records say.

    returns: topic, kafka_partition, proved_to (the last record that is where it was taken to be), refuted (how many
    are not)
    """
    there = numbered.groupBy(*KEY, "number").agg(F.min("digest").alias("digest"))
    compared = told.join(there, [*KEY, "number"]).withColumn("same", F.col("told") == F.col("digest"))
    in_order = Window.partitionBy(*KEY).orderBy("number")
    near = [F.lag(F.struct("number", "same"), steps).over(in_order) for steps in range(1, COMPANY)]
    straight = [(one["number"] == F.col("number") - steps) & one["same"] for steps, one in enumerate(near, start=1)]
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

    told = {
        "source_start": F.col("first"),
        "source_end": F.col("end"),
        "stored": F.col("end") - 1,
        "drained": F.expr("true"),
        "source_from": F.col("first"),
    }
    names = partitions.columns
    return (
        partitions.join(F.broadcast(good), list(KEY), "left")
        .withColumns({name: instead(name, value) for name, value in told.items()})
        .withColumn("target_from", F.when(is_rebuilt, F.col("target_from")))
        .select(*names, "known_to")
    )

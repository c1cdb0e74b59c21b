"""Places in a replica that the records themselves decide: those of the source and those of the replica, side by side.

Records are known by a digest of timestamp, key and value (dataset ``record_digests``), so that no content is kept. This
presumes that replication has caught up with the source: whatever lies behind a record of the source then comes after
each copy of that record in the replica.
"""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from airflow_provider_connect_offsets.offsets.flow import Side
from airflow_provider_connect_offsets.pipeline.events import ASKED, KEY, KNOWN, SO_FAR, asked_events, union_of


def recognised(digests: DataFrame) -> DataFrame:
    """Give each record of the replica the offset that it has in the source, as far as its digest tells.

    digests: dataset ``record_digests``
    returns: topic, kafka_partition, downstream, upstream (null: no record of the source fits, or several do), doubtful
    (it may be any record), unclear_after (how many without ``upstream`` follow directly)

    A record that isn't recognised between two that are, the second one later in the source than the first, lies behind
    the first one in the source too: to come from before it, replication would have come by the first once more.
    """
    of_source = digests.where(F.col("side") == Side.SOURCE.value)
    known = of_source.groupBy(*KEY, "digest").agg(F.min("log_offset").alias("upstream"), F.count("*").alias("times"))
    of_target = digests.where(F.col("side") == Side.TARGET.value).withColumnRenamed("log_offset", "downstream")
    once = known.where("times = 1").drop("times")
    in_order = Window.partitionBy(*KEY).orderBy("downstream")
    backwards = Window.partitionBy(*KEY).orderBy(F.desc("downstream")).rowsBetween(Window.unboundedPreceding, -1)
    place = F.when(F.col("upstream").isNotNull(), F.struct("upstream", "number"))
    return (
        of_target.join(once, [*KEY, "digest"], "left")
        .withColumn("number", F.row_number().over(in_order))
        .withColumn("before", F.last(place, ignorenulls=True).over(in_order.rowsBetween(*SO_FAR)))
        .withColumn("next", F.last(place, ignorenulls=True).over(backwards))
        .withColumn("rises", F.coalesce(F.col("next.upstream") > F.col("before.upstream"), F.expr("false")))
        .select(
            *KEY,
            "downstream",
            "upstream",
            (F.col("upstream").isNull() & ~F.col("rises")).alias("doubtful"),
            F.coalesce(F.col("next.number") - F.col("number") - 1, F.lit(0)).cast("long").alias("unclear_after"),
        )
    )


def matched(positions: DataFrame, records: DataFrame) -> DataFrame:
    """Place positions by the records that were read; as ``brackets.placed`` does, by unions and windows.

    positions: topic, kafka_partition, position, lowest, and whatever else; from ``lowest`` on all was read
    records: of ``recognised``
    returns: positions + matched (behind the last record that is before ``position``, and not before ``lowest``),
    in_doubt (how many records from there on might lie before ``position``: at most so many are read again), follows
    (whether what is read first is the first one that the replica has from ``position`` on)
    """
    behind = records.where("upstream is not null").select(
        *KEY,
        (F.col("upstream") + 1).alias("at"),
        F.lit(KNOWN).alias("kind"),
        F.struct((F.col("downstream") + 1).alias("place"), "unclear_after").alias("behind"),
    )
    upwards = Window.partitionBy(*KEY).orderBy("at", "kind").rowsBetween(*SO_FAR)
    downwards = Window.partitionBy(*KEY).orderBy(F.desc("at"), F.desc("kind")).rowsBetween(*SO_FAR)
    found = (
        union_of(asked_events(positions), behind)
        .withColumn("behind", F.max("behind").over(upwards))
        .withColumn("first", F.last(F.when(F.col("kind") == KNOWN, F.col("at") - 1), ignorenulls=True).over(downwards))
        .where(F.col("kind") == ASKED)
        .select("asked.*", F.greatest("lowest", "behind.place").alias("matched"), "behind.unclear_after", "first")
    )
    return _with_doubts(found, records)


def _with_doubts(found: DataFrame, records: DataFrame) -> DataFrame:
    read = records.select(
        *KEY,
        F.col("downstream").alias("place"),
        F.lit(KNOWN).alias("kind"),
        "upstream",
        F.when(F.col("doubtful"), 1).otherwise(0).alias("doubt"),
    )
    asked = found.select(
        *KEY, F.col("matched").alias("place"), F.lit(ASKED).alias("kind"), F.struct(*found.columns).alias("asked")
    )
    downwards = Window.partitionBy(*KEY).orderBy(F.desc("place"), "kind").rowsBetween(*SO_FAR)
    seen = (
        union_of(asked, read)
        .withColumn("doubts", F.sum("doubt").over(downwards))
        .withColumn("read_first", F.last("upstream", ignorenulls=True).over(downwards))
        .where(F.col("kind") == ASKED)
        .select("asked.*", "doubts", "read_first")
    )
    in_doubt = F.coalesce("doubts", F.lit(0)) + F.coalesce("unclear_after", F.lit(0))
    return seen.withColumns(
        {"in_doubt": in_doubt.cast("long"), "follows": F.col("read_first").eqNullSafe(F.col("first"))}
    ).drop("doubts", "read_first", "unclear_after", "first")


def mismatches(exact: DataFrame, digests: DataFrame) -> DataFrame:
    """Find claims that the records disprove.

    exact: topic, kafka_partition, position, downstream, and whatever else
    digests: dataset ``record_digests``
    returns: exact + checked (both records were read), mismatched (they are not the same)
    """
    source = _at(digests, Side.SOURCE, "position", "source_digest")
    target = _at(digests, Side.TARGET, "downstream", "target_digest")
    both = exact.join(source, [*KEY, "position"], "left").join(target, [*KEY, "downstream"], "left")
    checked = F.col("source_digest").isNotNull() & F.col("target_digest").isNotNull()
    return both.select(
        *exact.columns,
        checked.alias("checked"),
        (checked & (F.col("source_digest") != F.col("target_digest"))).alias("mismatched"),
    )


def _at(digests: DataFrame, side: Side, place: str, digest: str) -> DataFrame:
    own = digests.where(F.col("side") == side.value)
    return own.select(*KEY, F.col("log_offset").alias(place), F.col("digest").alias(digest))

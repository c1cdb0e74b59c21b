"""Records of both logs side by side: which record of the source each one of the remote topic is a copy of.

Records are known by a digest of timestamp, key and value (dataset ``record_digests``), so that no content is kept.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from airflow_provider_connect_offsets.offsets.flow import Side
from airflow_provider_connect_offsets.pipeline.events import KEY, SO_FAR
from airflow_provider_connect_offsets.pipeline.translate.mappings import gaps_of

# Below the lowest position that is asked for, so that a record before it is among those that are read.
MARGIN = 200
_FACTS = ("source_start", "source_end", "source_from", "stored", "gapless", "transformed", "timed")


def source_records(digests: DataFrame) -> DataFrame:
    """Records of the source that were read.

    digests: dataset ``record_digests``
    returns: topic, kafka_partition, upstream, digest, next (the offset of the record after it; null: it is the last),
    number (the first one is 1)
    """
    in_order = Window.partitionBy(*KEY).orderBy("upstream")
    of_source = digests.where(F.col("side") == Side.SOURCE.value).withColumnRenamed("log_offset", "upstream")
    following, number = F.lead("upstream").over(in_order), F.row_number().over(in_order)
    return of_source.select(*KEY, "upstream", "digest", following.alias("next"), number.alias("number"))


def remote_records(digests: DataFrame, partitions: DataFrame, mappings: DataFrame) -> DataFrame:
    """Tell of each record of the remote topic that was read what it may be a copy of.

    digests: dataset ``record_digests``; partitions: dataset ``mirror_partitions``; mappings: of ``known_mappings``
    returns: topic, kafka_partition, downstream, upstream (the record it is a copy of; null: not certain), low, high (it
    may be a copy of what lies between; null: of none that is unread or read), refuted (a mapping says otherwise)

    Certain is a record whose digest only one of the source has, where none that was not read can have it as well and no
    two records of the source look alike, or where it is one of three in a row that are so; one of which a mapping
    tells, or that stands straight between two certain ones, and has the digest of that record, if that was read.
    """
    source = source_records(digests)
    alike = source.groupBy(*KEY, "digest").agg(
        F.count("*").alias("times"),
        F.min("upstream").alias("first"),
        F.max("upstream").alias("last"),
        F.min("number").alias("number"),
    )
    found = (
        digests.where(F.col("side") == Side.TARGET.value)
        .select(*KEY, F.col("log_offset").alias("downstream"), "digest")
        .withColumn("copies", F.count("*").over(Window.partitionBy(*KEY, "digest")))
        .join(alike, [*KEY, "digest"], "left")
        .join(_points(mappings, source), [*KEY, "downstream"], "left")
        .join(F.broadcast(_partition_facts(partitions, alike, mappings)), list(KEY))
    )
    # What a transform has changed has another digest, and its sync tells of it all the same.
    changed = F.col("transformed") & F.col("gapless") & ~F.col("weak")
    told = F.col("told").isNotNull() & (_may_be(F.col("told"), F.col("told_digest")) | changed)
    denied = F.col("told_digest") != F.col("digest")
    numbered = F.when(F.col("times") == 1, F.col("number"))
    # Where contents repeat, one that stands there twice may be somebody else's, and so may one without its neighbours.
    alone = (F.col("times") == 1) & ~F.col("may_hide") & ((F.col("copies") == 1) | ~F.col("repeats"))
    only_one = _all_read() | (_is_unique() & (F.col("first") <= F.col("stored")))
    recognised = alone & (F.col("whole") & ~F.col("repeats") & only_one | _in_company())
    seen = found.withColumn("number", numbered).withColumn("recognised", F.coalesce(recognised, F.expr("false")))
    seen = seen.withColumns(
        {
            "upstream": F.when(F.col("recognised"), F.col("first")).when(told & ~F.col("weak"), F.col("told")),
            "perhaps": F.when(told, F.col("told")),
            "refuted": F.coalesce(denied & ~F.col("transformed") & ~F.col("weak"), F.expr("false")),
        }
    )
    return _straight(seen, source).select(*KEY, "downstream", "upstream", _low(), _high(), "refuted")


def _points(mappings: DataFrame, source: DataFrame) -> DataFrame:
    """What mappings say of the record at an offset of the remote topic: downstream, told, told_digest, weak.

    told_digest: null where that record of the source was not read
    """
    told = (
        mappings.where("upstream >= 0")
        .groupBy(*KEY, "downstream")
        .agg(F.max("upstream").alias("upstream"), F.min("weak").alias("weak"))
    )
    digests = source.select(*KEY, "upstream", F.col("digest").alias("told_digest"))
    return told.join(digests, [*KEY, "upstream"], "left").withColumnRenamed("upstream", "told")


def _partition_facts(partitions: DataFrame, alike: DataFrame, mappings: DataFrame) -> DataFrame:
    """What decides how far a digest is to be believed; repeats: two records may have the same.

    may_hide: one that was not read may have any of them; edge: the last mapping before those of the remote topic that
    were read; believed: what lies straight between two mappings needs no digest
    """
    repeats = alike.groupBy(*KEY).agg((F.max("times") > 1).alias("repeats"))
    read = partitions.where("target_from is not null").select(*KEY, *_FACTS)
    known = read.join(repeats, list(KEY), "left").withColumn(
        "repeats", F.coalesce("repeats", F.expr("false")) | ~F.col("timed")
    )
    begins = F.broadcast(partitions.select(*KEY, "target_from"))
    edges = mappings.where(~F.col("weak")).join(begins, list(KEY)).where(F.col("downstream") < F.col("target_from"))
    place = F.struct("upstream", "downstream", F.expr("false").alias("sole"))
    edge = edges.groupBy(*KEY).agg(F.max_by(place, "downstream").alias("edge"))
    straight = F.col("gapless") & ~F.col("transformed") & ~F.coalesce("has_gaps", F.expr("false"))
    told = known.join(edge, list(KEY), "left").join(gaps_of(mappings), list(KEY), "left")
    return told.withColumns(
        {
            "whole": F.col("source_from") <= F.col("source_start"),
            "may_hide": (~_all_read() | F.col("transformed")) & F.col("repeats"),
            "believed": straight,
        }
    ).drop("has_gaps")


def _all_read() -> Column:
    """Whether all that the source has ever had was read."""
    return (F.col("source_from") <= 0) & F.col("gapless")


def _is_unique() -> Column:
    """Whether no other record of the remote topic looks the same.

    The copy of one that is deleted at the source would stand there beside the copy of one that is not, once
    replication has come by both.
    """
    return F.col("copies") == 1


def _may_be(offset: Column, digest: Column) -> Column:
    """Whether it may be a copy of that record of the source, which has this digest (null: it was not read)."""
    elsewhere = F.col("times").isNotNull() & ~F.col("repeats")
    unread = digest.isNull() & (offset < F.col("source_from")) & F.col("believed") & ~elsewhere
    return F.coalesce(digest == F.col("digest"), unread)


def _in_company() -> Column:
    """Whether it is one of three that follow each other on either side, and of whose digests there is one each.

    What was not read may hold a record with the same digest, but hardly three in a row.
    """
    in_order = Window.partitionBy(*KEY).orderBy("downstream")

    def follows(steps: int) -> Column:
        near = F.lag("number", steps) if steps > 0 else F.lead("number", -steps)
        return F.coalesce(near.over(in_order) == F.col("number") - steps, F.expr("false"))

    return follows(1) & follows(2) | follows(1) & follows(-1) | follows(-1) & follows(-2)


def _straight(records: DataFrame, source: DataFrame) -> DataFrame:
    """Make those certain too that lie straight between two that are, as their content says."""
    in_order = Window.partitionBy(*KEY).orderBy("downstream")
    backwards = Window.partitionBy(*KEY).orderBy(F.desc("downstream"))
    # Whether any other copy of it would be recognised as well, or there surely is none.
    sole = (F.col("recognised") & (_all_read() | _is_unique())).alias("sole")
    place = F.when(F.col("upstream").isNotNull(), F.struct("upstream", "downstream", sole))
    perhaps = F.struct(F.coalesce("upstream", "perhaps").alias("upstream"), "downstream", sole)
    maybe = F.when(perhaps["upstream"].isNotNull(), perhaps)
    near = records.withColumns(
        {
            "before": F.last(place, ignorenulls=True).over(in_order.rowsBetween(*SO_FAR)),
            "after": F.last(maybe, ignorenulls=True).over(backwards.rowsBetween(*SO_FAR)),
        }
    )
    since = near.withColumn("since", F.coalesce("before", "edge"))
    along = F.col("since.upstream") + F.col("downstream") - F.col("since.downstream")
    level = _distance("since") == _distance("after")
    expected = since.withColumn("expected", F.when(F.col("upstream").isNull() & level, along))
    there = source.select(*KEY, F.col("upstream").alias("expected"), F.col("digest").alias("expected_digest"))
    agreed = F.when(_may_be(F.col("expected"), F.col("expected_digest")), F.col("expected"))
    joined = expected.join(there, [*KEY, "expected"], "left")
    rises = F.col("whole") & ~F.col("repeats") & (F.col("after.upstream") > F.col("before.upstream"))
    return joined.withColumns(
        {
            "upstream": F.coalesce("upstream", agreed),
            # To come from before the one, or from behind the other, replication would have come by it once more, which
            # shows unless a transform has changed that record.
            "floor": F.when(rises & F.col("before.sole"), F.col("before.upstream") + 1),
            "ceiling": F.when(rises & F.col("gapless") & F.col("after.sole"), F.col("after.upstream") - 1),
        }
    )


def _distance(place: str) -> Column:
    return F.col(f"{place}.downstream") - F.col(f"{place}.upstream")


def _low() -> Column:
    """Of what was not read nobody knows."""
    somewhere = F.when(_may_hide() | F.col("times").isNull(), F.lit(0).cast("long")).otherwise(F.col("first"))
    within = F.greatest(somewhere, "floor")
    return F.when(_somebodys(), F.lit(None)).otherwise(F.coalesce("upstream", within)).alias("low")


def _may_hide() -> Column:
    """Whether what was not read may have a record of the same digest."""
    return F.col("may_hide") | ~_all_read()


def _high() -> Column:
    unread = F.when(F.col("transformed"), F.col("source_end") - 1).otherwise(F.col("source_from") - 1)
    within = F.least(F.greatest("last", unread), "ceiling")
    return F.when(_somebodys(), F.lit(None)).otherwise(F.coalesce("upstream", within)).alias("high")


def _somebodys() -> Column:
    """Whether a record is a copy of none: all that this source has ever had was read, and it is not among it."""
    return F.col("upstream").isNull() & F.col("times").isNull() & _all_read() & ~F.col("transformed")

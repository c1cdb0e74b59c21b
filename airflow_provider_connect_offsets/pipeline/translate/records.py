"""Match records of the remote topic with records of the source, by their digests.

A digest is computed from timestamp, key and value (dataset ``record_digests``), so no content is kept.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from airflow_provider_connect_offsets.offsets.flow import Side
from airflow_provider_connect_offsets.pipeline.events import KEY, SO_FAR, WHOLE
from airflow_provider_connect_offsets.pipeline.translate.mappings import distance, gaps_of

# How many offsets before the lowest position are read, too, so that a record before it is among them.
MARGIN = 200
_FACTS = (
    "source_start",
    "source_end",
    "source_from",
    "stored",
    "gapless",
    "transformed",
    "timed",
    "contradicted_upstream",
)


def source_records(digests: DataFrame) -> DataFrame:
    """Records of the source that were read.

    Args:
        digests: dataset ``record_digests``

    Returns:
        topic, kafka_partition, upstream, digest, next (offset of the next record; null: it is the last), number (the
        first one is 1)
    """
    in_order = Window.partitionBy(*KEY).orderBy("upstream")
    of_source = digests.where(F.col("side") == Side.SOURCE.value).withColumnRenamed("log_offset", "upstream")
    following, number = F.lead("upstream").over(in_order), F.row_number().over(in_order)
    return of_source.select(*KEY, "upstream", "digest", following.alias("next"), number.alias("number"))


def remote_records(digests: DataFrame, partitions: DataFrame, mappings: DataFrame) -> DataFrame:
    """Find for each record of the remote topic that was read which source record it may be a copy of.

    A copy is certain if only one source record has its digest, provided that no unread record can have it and no two
    source records look alike, or that the records around it match as well (three in a row). It is also certain if a
    mapping refers to it, or it lies between two certain copies at the same distance, and the digest of that source
    record is the same, if it was read.

    Args:
        digests: dataset ``record_digests``
        partitions: dataset ``mirror_partitions``
        mappings: what ``known_mappings`` returns

    Returns:
        topic, kafka_partition, downstream, upstream (the record that it is a copy of; null: uncertain), low, high (it
        may be a copy of a record between, both included), shown (false: it is certain, but not compared with its
        original), unlike (it is uncertain and looks like no record of the source), refuted (the offset of the source
        that a mapping maps to it, if the digests differ; else null), mapped_next (offset of the source's next record,
        if a mapping has it; else null)
    """
    source = source_records(digests)
    alike = source.groupBy("digest", *KEY).agg(
        F.count("*").alias("times"),
        F.min("upstream").alias("first"),
        F.max("upstream").alias("last"),
        F.min("number").alias("number"),
    )
    candidates = (
        digests.where(F.col("side") == Side.TARGET.value)
        .select(*KEY, F.col("log_offset").alias("downstream"), "digest")
        .withColumn("copies", F.count("*").over(Window.partitionBy("digest", *KEY)))
        .join(alike, ["digest", *KEY], "left")
        .join(_points(mappings, source), ["downstream", *KEY], "left")
        .join(F.broadcast(_partition_facts(partitions, source, alike, mappings)), list(KEY))
    )
    candidates = _with_contradictions(candidates)
    # A transformed record has another digest; the mapping holds all the same.
    exists = F.col("mapped_digest").isNotNull() | (F.col("mapped") < F.col("source_from"))
    changed = F.col("transformed") & F.col("gapless") & ~F.col("weak") & exists
    may_be = _may_be(F.col("mapped"), F.col("mapped_digest"))
    is_mapped = F.col("mapped").isNotNull() & (may_be | changed | F.col("proved"))
    numbered = F.when(F.col("times") == 1, F.col("number"))
    # If digests repeat, a record with two copies, or without its neighbours, may come from another writer.
    alone = (F.col("times") == 1) & ~F.col("may_hide") & ((F.col("copies") == 1) | ~F.col("repeats"))
    only_one = _all_read() | (_is_unique() & (F.col("first") <= F.col("stored")))
    recognised = alone & (F.col("whole") & ~F.col("repeats") & only_one | _in_company())
    rows = candidates.withColumn("number", numbered).withColumn("recognised", F.coalesce(recognised, F.expr("false")))
    rows = rows.withColumns(
        {
            "upstream": F.when(F.col("recognised"), F.col("first")).when(is_mapped & ~F.col("weak"), F.col("mapped")),
            "perhaps": F.when(is_mapped, F.col("mapped")),
            "shown": F.col("recognised") | F.col("proved") | (is_mapped & (F.col("mapped_digest") == F.col("digest"))),
        }
    )
    shown = (F.col("upstream").isNull() | F.coalesce("shown", F.expr("false"))).alias("shown")
    unlike = (F.col("upstream").isNull() & F.col("times").isNull()).alias("unlike")
    return _with_straight(rows, source).select(
        *KEY, "downstream", "upstream", _lowest_source(), _highest_source(), shown, unlike, "refuted", "mapped_next"
    )


def _with_contradictions(candidates: DataFrame) -> DataFrame:
    """Add refuted, and set may_hide where a mapping is refuted: digests prove less where some copies were changed."""
    denied = (F.col("mapped_digest") != F.col("digest")) & ~F.col("transformed") & ~F.col("weak")
    refuted = candidates.withColumn("refuted", F.when(denied, F.col("mapped")))
    # The same order as in the windows that follow, so that the records are sorted once.
    in_order = Window.partitionBy(*KEY).orderBy("downstream")
    doubtful = F.count("refuted").over(in_order.rowsBetween(*WHOLE)) > 0
    return refuted.withColumn("may_hide", F.col("may_hide") | doubtful & F.col("repeats"))


def _points(mappings: DataFrame, source: DataFrame) -> DataFrame:
    """Mappings by offset in the remote topic.

    Returns topic, kafka_partition, downstream, mapped (upstream), mapped_digest (null: the record was not read), weak,
    proved (the mapping's neighbours were read), mapped_next (the mapping's ``next_upstream``).
    """
    points = (
        mappings.where("upstream >= 0")
        .groupBy(*KEY, "downstream")
        .agg(
            F.max("upstream").alias("upstream"),
            F.min("weak").alias("weak"),
            (F.count("next_downstream") > 0).alias("proved"),
            F.max("next_upstream").alias("mapped_next"),
        )
    )
    digests = source.select(*KEY, "upstream", F.col("digest").alias("mapped_digest"))
    return points.join(digests, ["upstream", *KEY], "left").withColumnRenamed("upstream", "mapped")


def _partition_facts(partitions: DataFrame, source: DataFrame, alike: DataFrame, mappings: DataFrame) -> DataFrame:
    """Facts of each partition that decide how far digests are trusted.

    Adds repeats (two records may have the same digest), may_hide (unread records may have any digest), edge (the last
    mapping before the first remote record that was read), believed (records between two mappings at the same distance
    need no digest).
    """
    repeats = alike.groupBy(*KEY).agg((F.max("times") > 1).alias("repeats"))
    read = partitions.where("target_from is not null").select(*KEY, *_FACTS)
    between = F.sum(F.coalesce(F.col("next") - F.col("upstream") - 1, F.lit(0))).alias("skipped")
    skipped = source.groupBy(*KEY).agg(between, F.min("upstream").alias("first_read"))
    known = (
        read.join(repeats, list(KEY), "left")
        .join(skipped, list(KEY), "left")
        .withColumn("repeats", F.coalesce("repeats", F.expr("false")) | ~F.col("timed"))
    )
    begins = F.broadcast(partitions.select(*KEY, "target_from"))
    edges = mappings.where(~F.col("weak")).join(begins, list(KEY)).where(F.col("downstream") < F.col("target_from"))
    point = F.struct("upstream", "downstream", F.expr("false").alias("sole"))
    edge = edges.groupBy(*KEY).agg(F.max_by(point, "downstream").alias("edge"))
    straight = F.col("gapless") & ~F.col("transformed") & ~F.coalesce("has_gaps", F.expr("false"))
    facts = known.join(edge, list(KEY), "left").join(gaps_of(mappings), list(KEY), "left")
    return facts.withColumns(
        {
            "whole": F.col("source_from") <= F.col("source_start"),
            "may_hide": (~_all_read() | F.col("transformed") | F.col("contradicted_upstream").isNotNull())
            & F.col("repeats"),
            "believed": straight,
        }
    ).drop("has_gaps")


def _all_read() -> Column:
    """Whether all records that the source ever had were read.

    Compaction may have removed the record of an offset without one, even if the topic's policy is different today.
    """
    return (F.col("source_from") <= 0) & F.col("gapless") & (F.col("skipped") == 0) & (F.col("first_read") == 0)


def _is_unique() -> Column:
    """Whether no other record of the remote topic has the digest.

    If a deleted source record had the same digest, the remote topic would contain copies of both.
    """
    return F.col("copies") == 1


def _may_be(offset: Column, digest: Column) -> Column:
    """Whether a record may be a copy of the source record at ``offset`` with ``digest`` (null: it was not read)."""
    elsewhere = F.col("times").isNotNull() & ~F.col("repeats")
    unread = digest.isNull() & (offset < F.col("source_from")) & F.col("believed") & ~elsewhere
    return F.coalesce(digest == F.col("digest"), unread)


def _in_company() -> Column:
    """Whether it is one of three records in a row in both logs, each with a unique digest.

    An unread record may have the same digest by chance, but hardly three in a row.
    """
    in_order = Window.partitionBy(*KEY).orderBy("downstream")

    def follows(steps: int) -> Column:
        near = F.lag("number", steps) if steps > 0 else F.lead("number", -steps)
        return F.coalesce(near.over(in_order) == F.col("number") - steps, F.expr("false"))

    return follows(1) & follows(2) | follows(1) & follows(-1) | follows(-1) & follows(-2)


def _with_straight(records: DataFrame, source: DataFrame) -> DataFrame:
    """Make records certain that lie between two certain records at the same distance, if their digests agree."""
    in_order = Window.partitionBy(*KEY).orderBy("downstream")
    backwards = Window.partitionBy(*KEY).orderBy(F.desc("downstream"))
    # Whether any other copy would be recognised too, or certainly does not exist.
    known = F.col("recognised") | F.coalesce("proved", F.expr("false"))
    sole = (known & (_all_read() | _is_unique())).alias("sole")
    certain = F.when(F.col("upstream").isNotNull(), F.struct("upstream", "downstream", sole))
    perhaps = F.struct(F.coalesce("upstream", "perhaps").alias("upstream"), "downstream", sole)
    likely = F.when(perhaps["upstream"].isNotNull(), perhaps)
    near = records.withColumns(
        {
            "before": F.last(certain, ignorenulls=True).over(in_order.rowsBetween(*SO_FAR)),
            "after": F.last(likely, ignorenulls=True).over(backwards.rowsBetween(*SO_FAR)),
        }
    )
    since = near.withColumn("since", F.coalesce("before", "edge"))
    along = F.col("since.upstream") + F.col("downstream") - F.col("since.downstream")
    level = distance("since") == distance("after")
    expected = since.withColumn("expected", F.when(F.col("upstream").isNull() & level, along))
    digests = source.select(*KEY, F.col("upstream").alias("expected"), F.col("digest").alias("expected_digest"))
    agreed = F.when(_may_be(F.col("expected"), F.col("expected_digest")), F.col("expected"))
    joined = expected.join(digests, ["expected", *KEY], "left")
    rises = F.col("whole") & ~F.col("repeats") & (F.col("after.upstream") > F.col("before.upstream"))
    room = F.col("after.downstream") - F.col("before.downstream") - 1 + F.col("skipped")
    floor, ceiling = F.col("after.upstream") - room, F.col("before.upstream") + room
    return joined.withColumns(
        {
            "upstream": F.coalesce("upstream", agreed),
            "shown": F.coalesce("shown", F.expr("false")) | (F.col("expected_digest") == F.col("digest")),
            # Replication goes on from one record to the next. So between two copies there is room only for copies of
            # ``room`` records before the later copy's original or after the earlier one's, even if bytes were changed.
            "floor": F.when(rises & F.col("before.sole"), F.least(F.col("before.upstream") + 1, floor)),
            "ceiling": F.when(
                rises & F.col("gapless") & F.col("after.sole"), F.greatest(F.col("after.upstream") - 1, ceiling)
            ),
        }
    )


def _lowest_source() -> Column:
    # An unread record may have the same digest.
    may_hide = F.col("may_hide") | ~_all_read()
    lowest = F.when(may_hide | F.col("times").isNull(), F.lit(0).cast("long")).otherwise(F.col("first"))
    return F.coalesce("upstream", F.greatest(lowest, "floor")).alias("low")


def _highest_source() -> Column:
    # A copy whose bytes were changed has a different digest, and so has a record of another writer.
    unlike = F.col("transformed") | F.col("times").isNull()
    highest = F.when(unlike, F.col("source_end") - 1).otherwise(F.greatest("last", F.col("source_from") - 1))
    return F.coalesce("upstream", F.least(highest, "ceiling")).alias("high")

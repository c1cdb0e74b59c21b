"""Divide the remote topic into elements: ranges of offsets with the source records that they may be copies of.

Each remote record that was read is an element (``record``). Before the first of these records, elements come from
offset mappings, whose distance is downstream - upstream:

- ``point``: the copy that a mapping names
- ``run``: from a mapping to the next mapping with the same distance; certainly the copies of consecutive source records
- ``stretch``: between two mappings with different distances, or after the last mapping; any copies that fit there
- ``blind``: before the first mapping
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from airflow_provider_connect_offsets.pipeline.events import KEY
from airflow_provider_connect_offsets.pipeline.translate.mappings import NEXT
from airflow_provider_connect_offsets.pipeline.translate.record_elements import by_records, narrow

#: Kinds of elements.
RUN, POINT, STRETCH, BLIND = "run", "point", "stretch", "blind"
_COLUMNS = (*KEY, "start", "end", "upstream", "next", "low", "high", "certain", "shown", "unlike", "kind")


def elements(
    partitions: DataFrame, mappings: DataFrame, records: DataFrame | None = None, source: DataFrame | None = None
) -> DataFrame:
    """Return the elements of each partition.

    Args:
        partitions: dataset ``mirror_partitions``
        mappings: what ``known_mappings`` returns
        records: what ``remote_records`` returns; None if no records were read
        source: what ``source_records`` returns; None if no records were read

    Returns:
        topic, kafka_partition, start, end (offsets in the remote topic, both included), upstream (the record copied to
        ``start``; null: uncertain), next (the source record after the last record of a certain element; for another
        element, the record that replication had reached after it, null if unknown), low, high (it may contain copies of
        the records between, both included), certain (it contains all records from ``upstream`` to before ``next``),
        shown (the records themselves show all of this), unlike (a record that looks like no record of the source), kind
    """
    # A mapping that records contradict may belong to an earlier topic, and so may all mappings before it; or copies up
    # to there have changed bytes. So up to there, only records that were read count.
    doubtful = F.broadcast(
        find_contradicted(partitions, records).select(*KEY, F.col("contradicted.downstream").alias("doubted_to"))
    )
    believed = mappings.join(doubtful, list(KEY), "left").where(
        "doubted_to is null or downstream > doubted_to or next_downstream is not null"
    )
    marked = partitions.join(doubtful, list(KEY), "left")
    pieces = _by_mappings(_with_ends(believed.drop("doubted_to"), _with_skipped(marked, source)))
    by_mappings = _cut(pieces).select(*_COLUMNS)
    if records is None or source is None:
        return by_mappings
    return by_mappings.unionByName(by_records(narrow(records, pieces), source).select(*_COLUMNS))


def find_contradicted(partitions: DataFrame, records: DataFrame | None = None) -> DataFrame:
    """Partitions with a mapping whose two records differ, though the flow changes no record.

    Returns:
        topic, kafka_partition, contradicted (struct of downstream and upstream: the last such mapping)
    """
    mapping = F.struct(*[F.col(f"contradicted_{name}").alias(name) for name in ("downstream", "upstream")])
    found = partitions.where("contradicted_upstream is not null").select(*KEY, mapping.alias("contradicted"))
    if records is not None:
        refuted = records.where("refuted is not null").select(
            *KEY, F.struct("downstream", F.col("refuted").alias("upstream")).alias("contradicted")
        )
        found = found.unionByName(refuted)
    return found.groupBy(*KEY).agg(F.max("contradicted").alias("contradicted"))


def is_single() -> Column:
    """Whether an element is a single uncertain record."""
    return (F.col("start") == F.col("end")) & ~F.col("certain")


def _with_skipped(partitions: DataFrame, source: DataFrame | None) -> DataFrame:
    """Add ``skipped``: how many offsets between the source records that were read have no record."""
    if source is None:
        return partitions.withColumn("skipped", F.lit(0).cast("long"))
    between = F.coalesce(F.col("next") - F.col("upstream") - 1, F.lit(0))
    skipped = source.groupBy(*KEY).agg(F.sum(between).alias("skipped"))
    return partitions.join(skipped, list(KEY), "left").withColumn(
        "skipped", F.coalesce("skipped", F.lit(0).cast("long"))
    )


def _with_ends(mappings: DataFrame, partitions: DataFrame) -> DataFrame:
    """Mappings, each with the next mapping, and a row without a mapping for the offsets before the first mapping."""
    facts = partitions.where("target_end is not null").select(
        *KEY,
        "source_end",
        "stored",
        "skipped",
        "target_start",
        # From this offset on, elements are made from records.
        F.least("target_end", "target_from", F.col("target_last") + 1).alias("mapped_end"),
        "gapless",
        (F.col("gapless") & ~F.col("transformed")).alias("whole"),
        "doubted_to",
    )
    null = F.lit(None).cast("long")
    beginning = facts.select(*KEY, null.alias("upstream"), null.alias("downstream"), F.expr("false").alias("weak"))
    in_order = Window.partitionBy(*KEY).orderBy(F.asc_nulls_first("downstream"))
    of_partition = Window.partitionBy(*KEY)
    distance = F.col("downstream") - F.col("upstream")
    following = (
        _of_current_topics(mappings)
        .unionByName(beginning, allowMissingColumns=True)
        .withColumns(
            {
                "after": F.lead(F.struct("upstream", "downstream", "weak", "next_downstream")).over(in_order),
                "level": F.coalesce(distance == F.lag(distance).over(in_order), F.expr("false")),
                "has_gaps": F.coalesce(F.max("has_gaps").over(of_partition), F.expr("false")),
                "found_gaps": F.coalesce(
                    F.sum(F.col("next_upstream") - F.col("upstream") - 1).over(of_partition), F.lit(0)
                ),
            }
        )
    )
    length, rise = F.col("after.downstream") - F.col("downstream"), F.col("after.upstream") - F.col("upstream")
    return (
        following.withColumns({"length": length, "rise": rise})
        .join(F.broadcast(facts), list(KEY))
        .withColumn("doubtful", F.coalesce(F.coalesce("downstream", F.lit(-1)) <= F.col("doubted_to"), F.expr("false")))
        .withColumn("believed", F.col("whole") & ~F.col("has_gaps") & ~F.col("doubtful"))
    )


def _of_current_topics(mappings: DataFrame) -> DataFrame:
    """Keep each mapping once, drop mappings of an earlier remote topic, and add the column ``has_gaps``.

    If fewer records were copied between two mappings than the source has offsets, either offsets without a record lie
    between, or the later mapping belongs to a new remote topic. A new topic has at most the records after the earlier
    mapping, so it is ruled out if the later mapping lies further from its log start, and also if both logs began
    together.
    """
    distinct = mappings.groupBy(*KEY, "upstream", "downstream").agg(
        F.min("weak").alias("weak"), *[F.max(name).alias(name) for name in NEXT]
    )
    of_partition = Window.partitionBy(*KEY)
    after = F.lead(F.struct("upstream", "downstream")).over(of_partition.orderBy("downstream"))
    rise = F.col("after.upstream") - F.col("upstream")
    gap = F.coalesce(F.col("after.downstream") - F.col("downstream") < rise, F.expr("false"))
    has_room = gap & (F.col("after.downstream") < rise)
    marked = distinct.withColumn("after", after).withColumns(
        {
            "has_gaps": F.max(gap).over(of_partition),
            "earlier_to": F.max(F.when(has_room, F.col("downstream"))).over(of_partition),
            "together": F.min("upstream").over(of_partition) == -1,
        }
    )
    current = F.col("together") | F.col("earlier_to").isNull() | (F.col("downstream") > F.col("earlier_to"))
    return marked.where(current).drop("after", "earlier_to", "together")


def _by_mappings(mappings: DataFrame) -> DataFrame:
    # No record of the remote topic lies before the next mapping, or before the end.
    closed = F.coalesce(F.col("next_downstream") >= F.coalesce("after.downstream", "mapped_end"), F.expr("false"))
    level = F.coalesce(F.col("length") == F.col("rise"), F.expr("false"))
    straight = F.col("believed") & level & F.col("next_downstream").isNull()
    # Compaction deletes all copies but the last, which may look like other records.
    shown = F.col("next_downstream").isNotNull()
    certain = shown | F.when(F.col("weak"), F.col("level")).otherwise(F.col("gapless"))
    here = mappings.where("downstream is not null").select(
        *KEY,
        "target_start",
        "mapped_end",
        F.col("downstream").alias("start"),
        F.when(straight, F.col("after.downstream") - 1).otherwise(F.col("downstream")).alias("end"),
        "upstream",
        F.when(straight, F.col("after.upstream"))
        .otherwise(F.coalesce("next_upstream", F.col("upstream") + 1))
        .alias("next"),
        F.when(certain, F.col("upstream")).otherwise(F.lit(0)).alias("low"),
        F.when(straight, F.col("after.upstream") - 1).otherwise(F.col("upstream")).alias("high"),
        certain.alias("certain"),
        shown.alias("shown"),
        F.expr("false").alias("unlike"),
        F.when(straight, F.lit(RUN)).otherwise(F.lit(POINT)).alias("kind"),
        (~F.col("weak")).alias("firm"),
    )
    between = mappings.where(~straight & ~closed).select(
        *KEY,
        "target_start",
        "mapped_end",
        F.coalesce("next_downstream", F.col("downstream") + 1, "target_start").alias("start"),
        (F.coalesce("after.downstream", "mapped_end") - 1).alias("end"),
        F.lit(None).cast("long").alias("upstream"),
        # With room for all records between two mappings, replication copied all of them.
        F.when(F.col("believed") & (F.col("length") >= F.col("rise")), F.col("after.upstream")).alias("next"),
        _stretch_low().alias("low"),
        _stretch_high().alias("high"),
        F.expr("false").alias("certain"),
        _all_read_between().alias("shown"),
        F.expr("false").alias("unlike"),
        F.when(F.col("downstream").isNull(), F.lit(BLIND)).otherwise(F.lit(STRETCH)).alias("kind"),
        (~(F.col("weak") | F.coalesce("after.weak", F.expr("false")))).alias("firm"),
    )
    return here.unionByName(between)


def _all_read_between() -> Column:
    """Whether all records of a stretch were read, although they were not recognised."""
    last = F.col("after").isNull()
    return F.col("next_downstream").isNotNull() & (last | F.col("after.next_downstream").isNotNull())


def _rises_between() -> Column:
    """Whether all records of a stretch were read, and replication went from its beginning to its end.

    With a transform that drops records, replication may have come from further back.
    """
    rises = F.coalesce(F.col("after.upstream") > F.col("upstream"), F.expr("false"))
    return _all_read_between() & rises & F.col("whole")


def _stretch_low() -> Column:
    """The lowest record of a stretch: a run up to the next mapping can't have more records than the stretch.

    The run also reaches back over offsets without a record. If mappings show such gaps, a single record may be any
    earlier record. A stretch in which something was copied twice hides gaps, so gaps between read records count too.
    """
    longest = _length() + F.col("skipped")
    fits = F.least(F.coalesce("upstream", F.lit(-1)) + 1, F.col("after.upstream") - longest + 1)
    limits = F.col("after").isNotNull() & F.col("believed") & F.col("next_downstream").isNull()
    reaches = F.least(F.col("upstream") + 1, F.col("after.upstream") - _length() + 1) - F.col("found_gaps")
    read = F.when(_rises_between(), reaches)
    return F.greatest(F.coalesce(F.when(limits, fits), read, F.lit(0)), F.lit(0))


def _stretch_high() -> Column:
    """The highest record of a stretch: below the next mapping, if the stretch has no room for more records.

    Otherwise some records were copied twice. If the source's offsets have gaps, a few records may span many offsets.
    """
    beyond = F.greatest(F.col("source_end") - 1, "stored", "after.upstream", "upstream", F.lit(0))
    unknown = F.when(F.col("source_end").isNull(), F.lit(2**62)).otherwise(beyond)
    repeated = _length() > F.col("after.upstream") - F.coalesce("upstream", F.lit(-1))
    limits = ~F.col("doubtful") & F.col("next_downstream").isNull()
    reaches = F.greatest(F.col("after.upstream"), F.col("upstream") + _length()) - 1 + F.col("found_gaps")
    unknown = F.when(_rises_between(), F.least(unknown, reaches)).otherwise(unknown)
    return F.when(F.col("after").isNotNull() & ~repeated & limits, F.col("after.upstream") - 1).otherwise(unknown)


def _length() -> Column:
    """Offsets of the remote topic between two mappings; both logs begin at 0."""
    return F.col("after.downstream") - F.coalesce("downstream", F.lit(-1))


def _cut(pieces: DataFrame) -> DataFrame:
    """Cut elements to the remote log, before the first record that was read."""
    begins = F.greatest("start", "target_start")
    ends = F.least("end", F.col("mapped_end") - 1)
    ahead, behind = begins - F.col("start"), F.col("end") - ends
    return (
        pieces.withColumns({"ahead": ahead, "behind": behind, "from": begins, "to": ends})
        .where("from <= to")
        .withColumns(
            {
                "start": F.col("from"),
                "end": F.col("to"),
                "upstream": F.col("upstream") + F.col("ahead"),
                # Replication reached ``next`` at the end of the element, which may be cut off.
                "next": F.when(F.col("certain"), F.col("next") - F.col("behind")).when(
                    ends == F.col("end"), F.col("next")
                ),
                "low": F.when(F.col("certain"), F.col("low") + F.col("ahead")).otherwise(F.col("low")),
                "high": F.when(F.col("certain"), F.col("high") - F.col("behind")).otherwise(F.col("high")),
            }
        )
    )

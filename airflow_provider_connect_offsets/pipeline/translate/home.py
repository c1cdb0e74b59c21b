"""Translate positions in a remote topic back to its source.

A group has read each record with a copy before its position, and resumes at the lowest record that it has not read.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from airflow_provider_connect_offsets.offsets.requests.failover import Method
from airflow_provider_connect_offsets.pipeline.events import KEY, KNOWN, QUERY, SO_FAR, query_events, union_of
from airflow_provider_connect_offsets.pipeline.frames import materialise
from airflow_provider_connect_offsets.pipeline.translate.elements import BLIND, POINT, STRETCH, elements
from airflow_provider_connect_offsets.pipeline.translate.mappings import known_mappings
from airflow_provider_connect_offsets.pipeline.translate.record_elements import RECORD
from airflow_provider_connect_offsets.pipeline.translate.records import MARGIN, remote_records, source_records
from airflow_provider_connect_offsets.pipeline.translate.translation import method_of_kind

# Rounds in which later elements are searched for copies of skipped records.
_ROUNDS = 3
_ADDED = ("lowest", "before", "goes_to", "joined", "copied_to", "presumed", "length")
_READ = (
    "start",
    "end",
    "upstream",
    "certain",
    "kind",
    "goes_to",
    "joined",
    "before",
    "copied_to",
    "high",
    "presumed",
    "length",
)


def combine_replicated(
    partitions: DataFrame, *, syncs: DataFrame, digests: DataFrame | None = None, kept: DataFrame | None = None
) -> DataFrame:
    """Combine the offset mappings and the records of a stopped flow.

    Args:
        partitions: dataset ``mirror_partitions``; ``drained`` if ``stored`` is the last replicated record
        syncs: dataset ``offset_syncs``
        digests: dataset ``record_digests`` of the ranges of ``choose_ranges``; None if no records were read
        kept: dataset ``kept_mappings``, or None

    Returns:
        what ``with_earlier`` returns
    """
    # Groups may have read records that retention has since deleted from the remote topic.
    ever = partitions.withColumn("target_start", F.when(F.col("target_end").isNotNull(), F.lit(0)).cast("long"))
    mappings = materialise(known_mappings(syncs, ever, kept))
    if digests is None:
        unread = ever.withColumns(dict.fromkeys(("source_from", "target_from"), F.lit(None).cast("long")))
        return materialise(with_earlier(materialise(elements(unread, mappings)), ever))
    records = materialise(remote_records(digests, ever, mappings))
    read = materialise(elements(ever, mappings, records, source_records(digests)))
    return materialise(with_earlier(read, ever))


def positions_at_home(positions: DataFrame, partitions: DataFrame, of: DataFrame) -> DataFrame:
    """Translate each position in a remote topic to its source.

    From the first replicated record on, no unread record is skipped, provided that replication skipped no records in
    parts that were not read. ``exact`` means: replication certainly skipped no record, and no record is read again.

    Args:
        positions: topic (of the source), kafka_partition, position (long; in the remote topic, at most its end), and
            any others
        partitions: dataset ``mirror_partitions``
        of: what ``combine_replicated`` returns for ``partitions``

    Returns:
        ``positions`` with downstream (offset in the source; null: unknown), exact, max_rereads, method, claimed (the
        offset in the remote topic of the copy of the record at ``downstream``; null: unknown), by_records (whether
        records that were read prove it)
    """
    ends = partitions.select(*KEY, "target_end")
    exact = F.col("proved")
    at_the_end = exact & (F.col("position") >= F.col("target_end"))
    method = (
        F.when(F.col("lower").isNull(), F.lit(Method.NONE.value))
        .when(at_the_end, F.lit(Method.END.value))
        .otherwise(F.coalesce(method_of_kind()[F.col("kind")], F.lit(Method.BRACKET.value)))
    )
    by_records = F.col("lower").isNotNull() & F.coalesce(F.col("kind") == RECORD, F.expr("false"))
    return (
        find_read_up_to(positions, of, partitions)
        .join(F.broadcast(ends), list(KEY))
        .select(
            *positions.columns,
            F.col("lower").alias("downstream"),
            exact.alias("exact"),
            "max_rereads",
            method.alias("method"),
            "claimed",
            by_records.alias("by_records"),
        )
    )


def choose_ranges(lowest: DataFrame, partitions: DataFrame, of: DataFrame, *, compared: int) -> DataFrame:
    """Ranges of records of both logs to read in order to prove offsets in the source.

    Args:
        lowest: topic (of the source), kafka_partition, position (the lowest position in the remote topic)
        partitions: dataset ``mirror_partitions``
        of: what ``combine_replicated`` returns for ``partitions``
        compared: most records to read of a remote partition

    Returns:
        topic, kafka_partition, target_topic, source_from, target_from, begins (what ``find_uncertain`` returns; null:
        none)
    """
    logs = partitions.where("source_end is not null")
    uncertain = find_uncertain(partitions, of, compared=compared)
    needed = F.least("position", "begins") - MARGIN
    first = F.greatest(needed, F.col("target_end") - compared, F.col("target_start"), F.lit(0))
    located = lowest.join(F.broadcast(logs), list(KEY)).join(F.broadcast(uncertain), list(KEY), "left")
    ranges = located.select(
        *KEY, "target_topic", "source_start", "source_end", "stored", first.alias("target_from"), "begins"
    )
    along = F.col("upstream") + F.col("target_from") - F.col("start")
    low = F.when(F.col("certain") & (F.col("start") < F.col("target_from")), along).otherwise(F.col("low"))
    within = (
        of.join(F.broadcast(ranges.select(*KEY, "target_from")), list(KEY))
        .where("end >= target_from")
        .groupBy(*KEY)
        .agg(F.min(low).alias("lowest"))
    )
    # No record after the stored one has a copy. Twice ``compared``, as records may have been replicated twice.
    bound = F.least("source_end", F.coalesce("stored", F.lit(-1)) + 1) - 2 * compared
    return ranges.join(within, list(KEY), "left").select(
        *KEY,
        "target_topic",
        F.greatest(F.coalesce("lowest", F.lit(0)), bound, "source_start", F.lit(0)).alias("source_from"),
        "target_from",
        "begins",
    )


def find_uncertain(partitions: DataFrame, of: DataFrame, *, compared: int) -> DataFrame:
    """Where reading has to begin so that no position depends on copies that no mapping names.

    Args:
        partitions: dataset ``mirror_partitions``
        of: what ``combine_replicated`` returns for ``partitions``
        compared: most records to read of a remote partition

    Returns:
        topic, kafka_partition, begins (start of the first element that is not certain), of partitions whose records
        from there on are all there, are at most ``compared``, and can be recognised
    """
    first = of.where(~F.col("certain")).groupBy(*KEY).agg(F.min("start").alias("begins"))
    logs = partitions.where("source_end is not null and gapless and not transformed")
    return (
        first.join(F.broadcast(logs.select(*KEY, "target_start", "target_end")), list(KEY))
        .where((F.col("begins") >= F.col("target_start")) & (F.col("target_end") - F.col("begins") <= compared))
        .select(*KEY, "begins")
    )


def with_earlier(rows: DataFrame, partitions: DataFrame) -> DataFrame:
    """Add to each element what was replicated before it.

    Replication continues at its position or at an earlier one, unless someone moves it forward. A move forward is
    visible only between records that were read: too few records lie between two certain records.

    Args:
        rows: what ``elements`` returns, from the beginning of the remote topic, also of records that retention has
            deleted
        partitions: dataset ``mirror_partitions``

    Returns:
        ``rows`` with lowest (the lowest replicated record of the partition), before (before the element, all records
        from ``lowest`` to below this one have a copy), goes_to (``before`` after the element, if it is ``joined``),
        joined (the element continues from ``before``), copied_to (no record from this one on has a copy before the
        element; null: it is the first), presumed (something up to here depends on replication not skipping records),
        length (offsets of all elements up to here)
    """
    in_order = Window.partitionBy(*KEY).orderBy("start")
    earlier, so_far = in_order.rowsBetween(Window.unboundedPreceding, -1), in_order.rowsBetween(*SO_FAR)
    last = F.coalesce("target_last", F.col("target_end") - 1).alias("target_last")
    facts = partitions.select(*KEY, "source_start", "source_end", last, "gapless", "transformed")
    # A record that looks like no record of the source need not be a copy, and makes no room for skipped records.
    unclear = F.when(F.col("certain") | F.col("unlike"), F.lit(0)).otherwise(F.col("end") - F.col("start") + 1)
    is_record = F.col("kind") == RECORD
    known = (
        rows.join(F.broadcast(facts), list(KEY))
        .withColumns(
            {
                "replicated_to": _last_certain(F.col("next")).over(earlier),
                "next_to_record": F.lag(is_record).over(in_order),
                "high_before": F.last(F.when(~F.col("unlike"), F.col("high")), ignorenulls=True).over(earlier),
                "room": F.coalesce(F.sum(unclear).over(earlier), F.lit(0)),
                "length": F.sum(F.col("end") - F.col("start") + 1).over(so_far),
                "high": _highest_record(),
            }
        )
        .withColumn("copied_to", F.max(F.when(F.col("low") <= F.col("high"), F.col("high") + 1)).over(earlier))
    )
    room = F.col("room") - F.coalesce(_last_certain(F.col("room")).over(earlier), F.lit(0))
    due = F.coalesce("replicated_to", F.greatest("source_start", F.lit(0)))
    jump = F.col("upstream") - due
    visible = F.col("gapless") & ~F.col("transformed") & is_record & F.col("certain") & F.col("next_to_record")
    skipped = F.coalesce(visible & (jump > 0) & ((room < jump) | (F.col("high_before") < due)), F.expr("false"))
    chained = known.withColumn("skipped", skipped).withColumns(
        {
            "chain": F.sum(F.when(F.col("skipped"), 1).otherwise(0)).over(so_far),
            "presumed": F.max((~F.col("skipped") & _presumes(jump)) | ~F.col("gapless") | ~F.col("shown")).over(so_far),
            "begins": F.coalesce(_begins(), F.when(F.col("replicated_to").isNull(), F.col("low"))),
        }
    )
    return _join_chains(chained).select(*rows.columns, *_ADDED)


def _highest_record() -> Column:
    """The highest record that an element may contain, raised where its own bound is not reliable.

    If a flow broke off, its last record may only look like the stored record, and be a copy of a later record. If
    offsets have gaps, the unread part may contain any record that was replicated before replication went back.
    """
    doubtful = ~F.col("certain") & (F.col("kind") == POINT) & (F.col("end") == F.col("target_last"))
    blind = F.col("kind") == BLIND
    far = F.col("transformed") & (blind | (F.col("kind") == STRETCH)) | ~F.col("gapless") & blind
    return F.when(doubtful | far, F.greatest("high", F.col("source_end") - 1)).otherwise(F.col("high"))


def _begins() -> Column:
    """First record of an element; 0 if compaction may have deleted earlier copies before the first element."""
    compacted = ~F.col("gapless") & F.col("replicated_to").isNull() & (F.col("start") > 0)
    return F.when(compacted & F.col("upstream").isNotNull(), F.lit(0)).otherwise(F.col("upstream"))


def _last_certain(value: Column) -> Column:
    return F.last(F.when(F.col("certain"), value), ignorenulls=True)


def _presumes(jump: Column) -> Column:
    """Whether replication may have skipped records before an element."""
    uncertain = F.col("next").isNotNull() & ~F.col("certain")
    return F.coalesce((jump > 0) | uncertain | (F.col("kind") == BLIND), F.expr("false"))


def _join_chains(chained: DataFrame) -> DataFrame:
    """Add up to where all records were replicated before each element, and whether the element continues from there."""
    in_order = Window.partitionBy(*KEY).orderBy("start")
    earlier, so_far = in_order.rowsBetween(Window.unboundedPreceding, -1), in_order.rowsBetween(*SO_FAR)
    lowest = F.min("begins").over(Window.partitionBy(*KEY))
    rows = chained.withColumn("lowest", lowest).withColumns({"before": F.col("lowest"), "goes_to": F.col("next")})
    for _ in range(_ROUNDS):
        chain = F.max(F.when(F.col("begins") <= F.col("before"), F.col("chain"))).over(so_far)
        rows = rows.withColumn("joined", F.coalesce(chain == F.col("chain"), F.expr("false")))
        replicated_to = F.max(F.when(F.col("joined"), F.col("goes_to"))).over(earlier)
        rows = rows.withColumn("before", F.greatest("lowest", replicated_to))
    return rows


def find_read_up_to(positions: DataFrame, of: DataFrame, partitions: DataFrame) -> DataFrame:
    """Find the lowest record that groups at these positions of the remote topic have not read.

    Args:
        positions: topic (of the source), kafka_partition, position (long; in the remote topic), and any others
        of: what ``with_earlier`` returns
        partitions: dataset ``mirror_partitions``

    Returns:
        ``positions`` with lower (all records before it were read, except those before the first replicated record;
        null: unknown), max_rereads (how many records from ``lower`` on were read, at most), proved (no record from
        there on was read, and nothing is presumed), kind (of the element before the position; null: there is none),
        claimed (the position, if the record at ``lower`` was copied there; else null)
    """
    read = F.struct(*_READ).alias("read")
    known = of.select(*KEY, (F.col("start") + 1).alias("at"), F.lit(KNOWN).alias("event"), read)
    queries = query_events(positions).withColumnRenamed("kind", "event")
    upwards = Window.partitionBy(*KEY).orderBy("at", "event").rowsBetween(*SO_FAR)
    lowest = of.groupBy(*KEY).agg(F.min("lowest").alias("lowest"))
    joined = (
        union_of(known, queries)
        .withColumn("read", F.last("read", ignorenulls=True).over(upwards))
        .where(F.col("event") == QUERY)
        .select("query.*", "read")
        .join(F.broadcast(partitions.select(*KEY, "source_start", "gapless")), list(KEY))
        .join(F.broadcast(lowest), list(KEY), "left")
    )
    within = F.col("position") <= F.col("read.end")
    along = F.when(F.col("read.certain"), F.col("read.upstream") + F.col("position") - F.col("read.start"))
    behind = F.when(within, along).otherwise(F.col("read.goes_to"))
    blind = F.col("read.kind") == BLIND
    unread = F.coalesce(F.greatest("read.before", F.when(F.col("read.joined"), behind)), "lowest")
    lower = F.when(~F.coalesce(blind, F.expr("false")), unread)
    reach = F.when(within & F.col("read.certain"), along).otherwise(F.col("read.high") + 1)
    # If compaction may have deleted copies, each offset without a record may have been one.
    length = F.when(within, F.col("read.length") - F.col("read.end") + F.col("position") - 1).otherwise(
        F.coalesce("read.length", F.lit(0))
    )
    compacted = F.when(F.col("gapless"), F.lit(0)).otherwise(F.greatest(F.col("position") - length, F.lit(0)))
    reread = F.greatest(unread, "read.copied_to", reach) - unread + compacted
    presumed = F.coalesce("read.presumed", F.expr("false")) | (F.col("lowest") > F.greatest("source_start", F.lit(0)))
    return joined.withColumns(
        {
            "lower": lower,
            "max_rereads": F.when(lower.isNotNull(), reread),
            "proved": F.coalesce((reread == 0) & ~presumed, F.expr("false")),
            "kind": F.col("read.kind"),
            "claimed": F.when(within & (along == lower), F.col("position")),
        }
    ).select(*positions.columns, "lower", "max_rereads", "proved", "kind", "claimed")

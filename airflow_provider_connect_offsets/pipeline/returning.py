"""Where a position in a replica lies in its source: the way back, for consumer groups that have read the replica.

A group at a position of the replica has read all that stands before it there. Since MirrorMaker 2 reads on from where
it stands or from somewhere before, whatever lies before the highest of these records in the source was replicated
before it. So the group goes on behind that one: nothing that it has not read is passed. To know that record exactly,
all that stands before the position counts, as a rewind may have put records of the far end there early. Only of a
replica that did not begin with its source may something earlier still come, the first time, behind the position.

Pairs (u, d) bound it: who has read the record at ``d`` has come to ``u`` at least, and between two pairs replication
can't have come further than one record of the source for each of the replica.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from airflow_provider_connect_offsets.offsets.flow import Side
from airflow_provider_connect_offsets.pipeline.events import ASKED, KEY, KNOWN, SO_FAR, asked_events, union_of
from airflow_provider_connect_offsets.pipeline.translate.mappings import known_mappings

# Below the lowest position that is asked for, so that a record before it is among those that are read.
MARGIN = 200
_OF_LOGS = ("source_start", "source_end", "target_end")


def returned(
    positions: DataFrame,
    partitions: DataFrame,
    *,
    syncs: DataFrame,
    digests: DataFrame | None = None,
    kept: DataFrame | None = None,
) -> DataFrame:
    """Place each position of a replica in its source.

    positions: topic (of the source), kafka_partition, position (long; in the replica, at most its end), and whatever
    else
    partitions: dataset ``mirror_partitions`` of the flow that made the replica; ``drained`` where ``stored`` tells
    what its last record is
    syncs: dataset ``offset_syncs``; kept: dataset ``kept_pairs``, or None
    digests: dataset ``record_digests`` of what ``worth_reading`` names; None: nothing was compared
    returns: positions + source_start, source_end, target_end, downstream (the place in the source), exact,
    max_rereads, method, by_records (the records tell it, as far as the replica holds them)

    ``exact`` says that no record which the replica holds before the position is read again; in no case is one passed
    that it does not hold there.
    """
    pairs = known_mappings(syncs, partitions, kept)
    stretched = reaches(pairs, partitions)
    gaps = stretched.groupBy(*KEY).agg(F.max("gap").alias("has_gaps"))
    older = partitions.where("target_from is not null").select(*KEY, F.col("target_from").alias("position"))
    of_older = bounded(older, stretched).select(
        *KEY, F.col("lowest").alias("older_lowest"), F.col("highest").alias("older_highest")
    )
    known = partitions.select(
        *KEY,
        "source_start",
        "source_end",
        "target_start",
        "target_end",
        "target_from",
        F.col("origin_upstream").isNotNull().alias("from_origin"),
        (F.col("gapless") & ~F.col("transformed") & F.coalesce("ends_with_stored", F.expr("true"))).alias("complete"),
    )
    found = (
        bounded(positions, stretched)
        .join(F.broadcast(known), list(KEY))
        .join(F.broadcast(gaps), list(KEY), "left")
        .join(F.broadcast(of_older), list(KEY), "left")
        .withColumn("gapless", F.col("complete") & ~_surely("has_gaps"))
        # What may come behind for the first time: nothing where the replica began with its source, or ends.
        .withColumn("falls_to", F.coalesce(F.when(F.col("gapless"), F.col("falls_to")), F.lit(0)))
        .withColumn("falls_to", F.when(~F.col("from_origin") & ~_at_the_end(), F.col("falls_to")))
    )
    return _decided(_compared(found, digests)).select(
        *positions.columns, *_OF_LOGS, "downstream", "exact", "max_rereads", "method", "by_records"
    )


def worth_reading(
    lowest: DataFrame, partitions: DataFrame, *, syncs: DataFrame, compared: int, kept: DataFrame | None = None
) -> DataFrame:
    """Tell from where on the records of either log are to be read, to prove places in the source.

    lowest: topic (of the source), kafka_partition, position (the lowest in the replica that is asked for)
    compared: how many records of the replica are read at most
    returns: topic, kafka_partition, target_topic, source_from, target_from
    """
    logs = partitions.where("source_end is not null")
    first = F.greatest(F.col("position") - MARGIN, F.col("target_end") - compared, F.col("target_start"), F.lit(0))
    asked = lowest.join(F.broadcast(logs), list(KEY)).select(
        *KEY, "target_topic", "source_start", "source_end", first.alias("position")
    )
    found = bounded(asked, reaches(known_mappings(syncs, partitions, kept), partitions))
    # A rewind behind that may have put earlier records there.
    begins = F.coalesce(F.least("lowest", "falls_to"), F.lit(0))
    # With as many records again as may have been repeated.
    bound = F.col("source_end") - 2 * compared
    return found.select(
        *KEY,
        "target_topic",
        F.greatest(begins, bound, "source_start", F.lit(0)).alias("source_from"),
        F.col("position").alias("target_from"),
    )


def reaches(pairs: DataFrame, partitions: DataFrame) -> DataFrame:
    """Tell for each pair how far replication has come in the source up to there.

    pairs: of ``known_mappings``; partitions: dataset ``mirror_partitions``
    returns: pairs + straight (the next pair lies as far off on either side), open (no pair follows), came_to (the
    highest offset of the source that may stand before this pair; null: unknown), falls_to (the lowest that may stand
    behind it, before the last pair), gap (less was replicated than the source counts up to the next pair)
    """
    in_order = Window.partitionBy(*KEY).orderBy("seq")
    longest, risen = F.col("next.downstream") - F.col("downstream"), F.col("next.upstream") - F.col("upstream")
    known = pairs.withColumn("next", F.lead(F.struct("upstream", "downstream")).over(in_order)).withColumn(
        "reach", F.greatest(F.col("next.upstream"), F.col("upstream") + longest - 1)
    )
    first = F.first("downstream").over(in_order)
    before = F.max("reach").over(in_order.rowsBetween(Window.unboundedPreceding, -1))
    backwards = Window.partitionBy(*KEY).orderBy(F.desc("seq")).rowsBetween(*SO_FAR)
    return known.join(F.broadcast(partitions.select(*KEY, "target_start")), list(KEY)).select(
        *KEY,
        "seq",
        "upstream",
        "downstream",
        _surely(longest == risen).alias("straight"),
        F.col("next").isNull().alias("open"),
        # What stands before the first pair is nobody's to tell, unless that is where the replica begins.
        F.when(first <= F.col("target_start"), F.greatest("upstream", before)).alias("came_to"),
        F.min(F.col("next.upstream") - longest + 1).over(backwards).alias("falls_to"),
        _surely(longest < risen).alias("gap"),
    )


def bounded(positions: DataFrame, stretched: DataFrame) -> DataFrame:
    """Bound the place of each position by pairs alone, in one pass.

    positions: topic, kafka_partition, position (in the replica), and whatever else; stretched: of ``reaches``
    returns: positions + lowest (nothing unread lies before it; null: no pair tells), straightly (the same where no gap
    lies between the two pairs about it), highest (nothing that was read lies there or behind; null: unknown), falls_to
    (as ``reaches`` has it)
    """
    pair = F.struct("upstream", "downstream", "straight", "open", "came_to", "falls_to")
    known = stretched.select(
        *KEY,
        (F.col("downstream") + 1).alias("at"),
        F.lit(KNOWN).alias("kind"),
        (F.col("upstream") + 1).alias("lowest"),
        pair.alias("pair"),
    )
    upwards = Window.partitionBy(*KEY).orderBy("at", "kind").rowsBetween(*SO_FAR)
    found = (
        union_of(known, asked_events(positions))
        .withColumn("lowest", F.max("lowest").over(upwards))
        .withColumn("pair", F.last("pair", ignorenulls=True).over(upwards))
        .where(F.col("kind") == ASKED)
    )
    along = F.col("pair.upstream") + F.col("at") - F.col("pair.downstream")
    straightly = F.when(F.col("pair.straight"), F.greatest("lowest", along)).otherwise(F.col("lowest"))
    told = F.col("pair.came_to").isNotNull() & (~F.col("pair.open") | (F.col("at") == F.col("pair.downstream") + 1))
    highest = F.when(told, F.greatest(F.col("pair.came_to") + 1, along))
    return found.select("asked.*", "lowest", straightly.alias("straightly"), highest.alias("highest"), "pair.falls_to")


def read_before(positions: DataFrame, digests: DataFrame) -> DataFrame:
    """Tell what the records say that stand before each position of the replica, as far as they were read.

    positions: topic, kafka_partition, position (in the replica), and whatever else; digests: dataset ``record_digests``
    returns: positions + last_read (the highest offset of the source that surely was read), may_have_read (the highest
    that may have been, where records are alike), unknown (how many records are none of the source that was read),
    records (how many there are), unread (the lowest offset of the source that comes for the first time behind the
    position, as far as it is known), unknown_left (how many records behind it are none of the source that was read)
    """
    of_source = digests.where(F.col("side") == Side.SOURCE.value)
    known = of_source.groupBy(*KEY, "digest").agg(F.min("log_offset").alias("low"), F.max("log_offset").alias("high"))
    of_target = digests.where(F.col("side") == Side.TARGET.value)
    alike = Window.partitionBy(*KEY, "digest")
    comes_first = (F.col("log_offset") == F.min("log_offset").over(alike)) | (F.col("low") < F.col("high"))
    events = of_target.join(known, [*KEY, "digest"], "left").select(
        *KEY,
        (F.col("log_offset") + 1).alias("at"),
        F.lit(KNOWN).alias("kind"),
        "low",
        "high",
        F.when(F.col("low").isNull(), 1).otherwise(0).alias("is_unknown"),
        F.lit(1).alias("is_record"),
        F.when(comes_first, F.col("low")).alias("first"),
    )
    upwards = Window.partitionBy(*KEY).orderBy("at", "kind").rowsBetween(*SO_FAR)
    downwards = Window.partitionBy(*KEY).orderBy(F.desc("at"), F.desc("kind")).rowsBetween(*SO_FAR)
    return (
        union_of(events, asked_events(positions))
        .withColumns(
            {
                "last_read": F.max("low").over(upwards),
                "may_have_read": F.max("high").over(upwards),
                "unknown": F.coalesce(F.sum("is_unknown").over(upwards), F.lit(0)),
                "records": F.coalesce(F.sum("is_record").over(upwards), F.lit(0)),
                "unread": F.min("first").over(downwards),
                "unknown_left": F.coalesce(F.sum("is_unknown").over(downwards), F.lit(0)),
            }
        )
        .where(F.col("kind") == ASKED)
        .select("asked.*", "last_read", "may_have_read", "unknown", "records", "unread", "unknown_left")
    )


def _compared(found: DataFrame, digests: DataFrame | None) -> DataFrame:
    """Add what the records say, and whether they disprove a claim of that partition (``misled``)."""
    if digests is None:
        nothing = F.lit(None).cast("long")
        return found.withColumns({**dict.fromkeys(("behind", "beyond", "unknown"), nothing), "misled": F.expr("false")})
    read = _surely(F.col("position") >= F.col("target_from"))
    everything = F.col("target_from") <= F.col("target_start")
    before = F.when(everything, F.lit(0)).when(F.col("gapless"), F.col("older_highest"))
    gone = F.when(F.col("complete"), F.lit(0)).otherwise(F.col("position") - F.col("target_from") - F.col("records"))
    behind = F.greatest("lowest", "older_lowest", F.col("last_read") + 1, F.lit(0))
    # Of a record that isn't recognised nobody knows whether it lies before all that was read of the source.
    unread = F.when(F.col("unknown_left") == 0, F.col("unread")).otherwise(F.col("falls_to"))
    seen = read_before(found, digests).withColumns(
        {
            "behind": F.when(read, F.least(behind, F.when(~F.col("from_origin"), unread))),
            "unknown": F.when(read, F.col("unknown") + gone),
            "beyond": F.greatest(
                F.coalesce(before, "source_end"), F.coalesce(F.col("may_have_read") + 1, F.lit(0)), F.lit(0)
            ),
        }
    )
    exact = (F.col("straightly") == F.col("highest")) & F.col("from_origin")
    false = _surely(exact & F.col("behind").isNotNull() & (F.col("straightly") < F.col("behind")))
    return seen.withColumn("misled", F.max(false).over(Window.partitionBy(*KEY)))


def _decided(found: DataFrame) -> DataFrame:
    by_records = F.col("behind").isNotNull()
    believed = F.col("gapless") & ~F.col("misled")
    by_pair = F.when(believed, F.col("straightly")).otherwise(F.col("lowest"))
    unread_later = F.when(by_pair.isNotNull(), F.least(by_pair, "falls_to"))
    place = F.when(by_records, F.col("behind")).otherwise(unread_later)
    end = F.when(believed, F.least(F.coalesce("highest", "source_end"), "source_end")).otherwise(F.col("source_end"))
    by_pairs = F.when(place.isNotNull(), F.greatest(end - place, F.lit(0)))
    doubts = F.col("unknown") + F.greatest(F.col("beyond") - place, F.lit(0))
    rereads = F.when(by_records, doubts).otherwise(by_pairs)
    rereads = F.when(rereads.isNotNull(), F.least(rereads, F.greatest(F.col("source_end") - place, F.lit(0))))
    exact = _surely(rereads == 0)
    at_the_end = exact & _at_the_end()
    method = (
        F.when(place.isNull(), F.lit("none"))
        .when(at_the_end, F.lit("end"))
        .when(by_records & ((F.col("behind") > F.col("lowest")) | exact), F.lit("record"))
        .when(exact, F.lit("bracket"))
        .otherwise(F.lit("sync"))
    )
    return found.withColumns(
        {"downstream": place, "exact": exact, "max_rereads": rereads, "method": method, "by_records": by_records}
    )


def _at_the_end() -> Column:
    """Whether nothing follows in the replica."""
    return F.col("position") >= F.col("target_end")


def _surely(condition: Column | str) -> Column:
    """Whether it holds; what isn't known doesn't."""
    return F.coalesce(condition, F.expr("false"))

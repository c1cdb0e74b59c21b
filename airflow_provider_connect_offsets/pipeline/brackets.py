"""Where a position of the source lies in its replica, as far as known pairs of offsets prove it.

A pair (u, d) says that the record at ``u`` of the source stands at ``d`` of the replica. Between two pairs that follow
each other and differ by as much on either side there is no room for a gap, so each position between them is known
exactly, unless a later stretch may hold that position, or one before it, once more (a restart, a rewind).

How far back such a stretch reaches is bounded too: the last run of records in it ends with its second pair and can't be
longer than the stretch is in the replica. All of this presumes that only MirrorMaker 2 writes the replica, that it
reads on from where it stands or from somewhere before, and, for ``exact``, that no gap and no repetition of equal
length lie between the same two pairs; reading the records settles that (``pipeline.matching``).
"""

from __future__ import annotations

from functools import reduce

from pyspark.sql import Column, DataFrame, Window, WindowSpec
from pyspark.sql import functions as F

from airflow_provider_connect_offsets.pipeline.events import ASKED, KEY, KNOWN, SO_FAR, asked_events, union_of

# Behind a position at the same place.
_SURE = 2
_BY_PAIRS = ("lowest", "claimed", "highest")


def known_pairs(syncs: DataFrame, partitions: DataFrame, kept: DataFrame | None = None) -> DataFrame:
    """Put together what is known of each partition.

    syncs: dataset ``offset_syncs``, all that the topic still holds
    partitions: dataset ``mirror_partitions``
    kept: dataset ``kept_pairs``, or None
    returns: topic, kafka_partition, seq (long, in the order in which they came about), upstream, downstream

    Pairs of a replica that was created anew since, or cut off, are left out.
    """
    told = syncs.where((F.col("upstream") >= 0) & (F.col("downstream") >= 0))
    seen = told.select(*KEY, F.col("log_offset").alias("seq"), "upstream", "downstream")
    origin = partitions.where("origin_upstream is not null").select(
        *KEY,
        *_longs(seq=-1),
        F.col("origin_upstream").alias("upstream"),
        F.col("origin_downstream").alias("downstream"),
    )
    last = partitions.where("gapless and drained and stored >= source_start and target_end > 0").select(
        *KEY,
        F.lit(2**62).alias("seq"),
        F.col("stored").alias("upstream"),
        (F.col("target_end") - 1).alias("downstream"),
    )
    found = _of_this_replica(origin.unionByName(seen).unionByName(last), partitions)
    if kept is None:
        return found
    # Of one and the same replica, what stands further in it came about later; a pair may be known by a sync as well.
    in_replica = F.when(F.col("seq") >= 0, F.col("downstream")).otherwise(F.lit(-1)).cast("long")
    proved = kept.select(*KEY, F.col("downstream").alias("seq"), "upstream", "downstream")
    return found.withColumn("seq", in_replica).unionByName(proved).distinct()


def _of_this_replica(pairs: DataFrame, partitions: DataFrame) -> DataFrame:
    """Leave out what lies before the last fall of the replica's offsets, and all where its log ends before them."""
    of_partition = Window.partitionBy(*KEY)
    rises = F.col("downstream") > F.col("before.downstream")
    repeats = F.struct("upstream", "downstream") == F.col("before")
    marked = (
        pairs.withColumn("before", F.lag(F.struct("upstream", "downstream")).over(_in_order()))
        .withColumn("first", F.max(F.when(~(rises | repeats), F.col("seq"))).over(of_partition))
        .withColumn("newest", F.max_by("downstream", "seq").over(of_partition))
    )
    kept = marked.join(partitions.select(*KEY, "target_end"), list(KEY)).where(
        "newest < target_end and (first is null or seq >= first)"
    )
    return kept.select(*KEY, "seq", "upstream", "downstream")


def overtaken(pairs: DataFrame, partitions: DataFrame) -> DataFrame:
    """Leave out the pairs that prove nothing where replication broke off before it had caught up with itself.

    pairs: of ``known_pairs``; partitions: dataset ``mirror_partitions``
    returns: pairs of the same columns

    After a rewind the records that were replicated before stand only in their first copy until the flow has come by
    them again. If the last pair does not prove that it has, only what lies before that rewind is safe.
    """
    of_partition = Window.partitionBy(*KEY)
    longest = F.col("downstream") - F.col("before.downstream")
    risen = F.col("upstream") - F.col("before.upstream")
    # Before an origin this flow has replicated nothing.
    reach = F.when((longest > risen) & (F.col("seq") >= 0), F.col("before.upstream") + longest - 1)
    marked = (
        pairs.withColumn("before", F.lag(F.struct("upstream", "downstream")).over(_in_order()))
        .withColumn("before", F.coalesce("before", F.struct(*_longs(upstream=-1, downstream=-1))))
        .withColumn("final", F.max_by("upstream", "seq").over(of_partition))
        .withColumn("broken", F.max(F.coalesce(reach > F.col("final"), F.expr("false"))).over(_in_order()))
    )
    return (
        marked.join(partitions.select(*KEY, "drained"), list(KEY))
        .where(F.col("drained") | ~F.col("broken"))
        .select(*KEY, "seq", "upstream", "downstream")
    )


def stretches(pairs: DataFrame) -> DataFrame:
    """Tell for each pair what it proves together with those that follow.

    pairs: of ``known_pairs``
    returns: pairs + exact_to (the positions from ``upstream`` to here, both included, lie at the same distance from
    ``downstream``), certain_to (positions up to here have none before them at ``downstream`` or later), gap (whether
    less was replicated than the source counts up to the next pair)

    Stretches of exact positions never overlap: what comes later may hold all that lies at or behind its beginning.
    """
    longest = F.col("next.downstream") - F.col("downstream")
    lowest = F.col("next.upstream") - longest + 1
    risen = F.col("next.upstream") - F.col("upstream")
    known = (
        pairs.withColumn("next", F.lead(F.struct("upstream", "downstream")).over(_in_order()))
        .withColumn("lowest", lowest)
        .withColumn("lowest_later", F.min("lowest").over(_later(_backwards())))
        .withColumn("gap", F.coalesce(longest < risen, F.expr("false")))
    )
    same = F.coalesce(longest == risen, F.expr("false"))
    end = F.when(same, F.col("next.upstream")).otherwise(F.col("upstream"))
    certain = F.least("upstream", "lowest", "lowest_later")
    return known.withColumns(
        {"exact_to": F.least(end, F.when(same, F.col("lowest_later")).otherwise(certain)), "certain_to": certain}
    ).select(*KEY, "seq", "upstream", "downstream", "exact_to", "certain_to", "gap")


def placed(positions: DataFrame, stretched: DataFrame, checkpoints: DataFrame) -> DataFrame:
    """Give each position its place in the replica, in one pass over pairs and positions.

    positions: topic, kafka_partition, position (long), and whatever else
    stretched: of ``stretches``; checkpoints: topic (of the source), kafka_partition, upstream, downstream
    returns: positions + lowest (no record from ``position`` on is missing from there on; null: no pair tells), told
    (the same by the checkpoints), claimed (the exact place as far as the pairs prove it, else null), highest (from
    there on nothing before ``position`` stands; null: unknown)

    A union and two windows instead of a range join: the cost grows with rows, not with rows times pairs.
    """
    # A pair that proves no position, not even its own, must not hide one before it that does.
    proved = F.when(F.col("exact_to") >= F.col("upstream"), F.struct("upstream", "downstream", "exact_to"))
    here = _events(stretched, "upstream", bound=F.col("downstream"), proved=proved)
    after = _events(stretched, F.col("upstream") + 1, bound=F.col("downstream") + 1)
    told = _events(checkpoints.withColumn("seq", F.lit(0)), "upstream", told=F.col("downstream"))
    sure = _events(stretched, "certain_to", kind=_SURE, certain=F.col("downstream"))
    events = reduce(union_of, (here, after, told, sure, asked_events(positions)))
    upwards = Window.partitionBy(*KEY).orderBy("at", "kind", "seq").rowsBetween(*SO_FAR)
    downwards = Window.partitionBy(*KEY).orderBy(F.desc("at"), F.desc("kind")).rowsBetween(*SO_FAR)
    found = (
        events.withColumn("told", F.max("told").over(upwards))
        .withColumn("lowest", F.max("bound").over(upwards))
        .withColumn("proved", F.last("proved", ignorenulls=True).over(upwards))
        .withColumn("highest", F.min("certain").over(downwards))
        .where(F.col("kind") == ASKED)
    )
    distance = F.col("at") - F.col("proved.upstream")
    claimed = F.when(F.col("at") <= F.col("proved.exact_to"), F.col("proved.downstream") + distance)
    highest = F.when(F.col("highest").isNotNull(), F.greatest("highest", "lowest"))
    return found.select("asked.*", "told", "lowest", claimed.alias("claimed"), highest.alias("highest"))


def placed_by_checkpoints(told: DataFrame) -> DataFrame:
    """The same where no pair is known at all, for the positions that the checkpoints themselves tell.

    told: topic, kafka_partition, position, checkpoint (the place that it tells of, null: none), target_end, and
    whatever else; of all groups, as each of them tells of the topic, not of who reads it
    returns: told + lowest, told, claimed, highest; all but ``told`` are null
    """
    # By range: of checkpoints at the same position each tells the others too.
    upwards = Window.partitionBy(*KEY).orderBy("position").rangeBetween(*SO_FAR)
    tells = F.when((F.col("position") >= 0) & (F.col("checkpoint") <= F.col("target_end")), F.col("checkpoint"))
    unknown = F.lit(None).cast("long")
    return told.withColumns({"told": F.max(tells).over(upwards), **dict.fromkeys(_BY_PAIRS, unknown)})


def _in_order() -> WindowSpec:
    """Pairs of a partition as they came about."""
    return Window.partitionBy(*KEY).orderBy("seq")


def _backwards() -> WindowSpec:
    """The same, the last one first: Spark sums up what precedes a row in one pass, what follows it in many."""
    return Window.partitionBy(*KEY).orderBy(F.desc("seq"))


def _later(window: WindowSpec) -> WindowSpec:
    return window.rowsBetween(Window.unboundedPreceding, -1)


def _longs(**values: int) -> list[Column]:
    return [F.lit(value).cast("long").alias(name) for name, value in values.items()]


def _events(stretched: DataFrame, at: Column | str, *, kind: int = KNOWN, **told: Column) -> DataFrame:
    """What the window comes by, going through a partition's positions."""
    place = F.col(at) if isinstance(at, str) else at
    carried = [value.alias(name) for name, value in told.items()]
    return stretched.select(*KEY, place.alias("at"), F.lit(kind).alias("kind"), "seq", *carried)

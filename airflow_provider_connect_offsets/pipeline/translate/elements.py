"""The remote topic as a row of elements, by offset: what each may be a copy of, and what it surely is one of.

Where its records were read, they make the elements; before that the offset mappings do. A run is a piece that surely
holds records of the source, one after the other at the same distance. What lies between two mappings that differ in
distance is a stretch, which may hold what fits in there.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from airflow_provider_connect_offsets.pipeline.events import KEY, SO_FAR, union_of

#: By what an element is known.
RUN, POINT, STRETCH, BLIND, RECORD = "run", "point", "stretch", "blind", "record"
_COLUMNS = (*KEY, "start", "end", "upstream", "next", "low", "high", "certain", "kind")


def elements(
    partitions: DataFrame, mappings: DataFrame, records: DataFrame | None = None, source: DataFrame | None = None
) -> DataFrame:
    """Put the elements of each partition together.

    partitions: dataset ``mirror_partitions``; mappings: of ``known_mappings``
    records: of ``remote_records``, source: of ``source_records``; None: nothing was read
    returns: topic, kafka_partition, start, end (offsets in the remote topic, both included), upstream (the record at
    ``start``; null: not certain), next (the record of the source that follows the last one of a certain element; of
    another one, what replication had come to behind it, where that is known), low, high (it may hold copies of what
    lies between, both included), certain (it holds all records from ``upstream`` to before ``next``), kind
    """
    believed = mappings
    if records is not None:
        # One that the records disprove may be of another incarnation, and so may all others.
        refuted = records.where("refuted").select(*KEY).distinct()
        believed = mappings.join(refuted, list(KEY), "left_anti")
    pieces = _by_mappings(_with_ends(believed, partitions))
    by_mappings = _cut(pieces).select(*_COLUMNS)
    if records is None or source is None:
        return by_mappings
    return by_mappings.unionByName(_by_records(_narrowed(records, pieces), source))


def is_single() -> Column:
    """Whether an element is one record of which it is not certain what it is."""
    return (F.col("start") == F.col("end")) & ~F.col("certain")


def _with_ends(mappings: DataFrame, partitions: DataFrame) -> DataFrame:
    """Mappings with what follows each, and a row without a mapping for what lies before the first."""
    facts = partitions.where("target_end is not null").select(
        *KEY,
        "source_end",
        "stored",
        "target_start",
        # Behind it the records tell.
        F.least("target_end", F.coalesce("target_from", "target_end")).alias("told_end"),
        "gapless",
        (F.col("gapless") & ~F.col("transformed")).alias("whole"),
    )
    places = mappings.groupBy(*KEY, "upstream", "downstream").agg(F.min("weak").alias("weak"))
    nothing = F.lit(None).cast("long")
    nobody = facts.select(*KEY, nothing.alias("upstream"), nothing.alias("downstream"), F.expr("false").alias("weak"))
    in_order = Window.partitionBy(*KEY).orderBy(F.asc_nulls_first("downstream"))
    of_partition = Window.partitionBy(*KEY)
    distance = F.col("downstream") - F.col("upstream")
    following = places.unionByName(nobody).withColumns(
        {
            "after": F.lead(F.struct("upstream", "downstream", "weak")).over(in_order),
            "level": F.coalesce(distance == F.lag(distance).over(in_order), F.expr("false")),
        }
    )
    length, rise = F.col("after.downstream") - F.col("downstream"), F.col("after.upstream") - F.col("upstream")
    gap = F.coalesce(length < rise, F.expr("false"))
    return (
        following.withColumns({"length": length, "rise": rise, "has_gaps": F.max(gap).over(of_partition)})
        .join(F.broadcast(facts), list(KEY))
        .withColumn("believed", F.col("whole") & ~F.col("has_gaps"))
    )


def _by_mappings(mappings: DataFrame) -> DataFrame:
    straight = F.col("believed") & F.coalesce(F.col("length") == F.col("rise"), F.expr("false"))
    # Compaction takes copies away, but for the last one; that one may look like others.
    certain = F.when(F.col("weak"), F.col("level")).otherwise(F.col("gapless"))
    here = mappings.where("downstream is not null").select(
        *KEY,
        "target_start",
        "told_end",
        F.col("downstream").alias("start"),
        F.when(straight, F.col("after.downstream") - 1).otherwise(F.col("downstream")).alias("end"),
        "upstream",
        F.when(straight, F.col("after.upstream")).otherwise(F.col("upstream") + 1).alias("next"),
        F.when(certain, F.col("upstream")).otherwise(F.lit(0)).alias("low"),
        F.when(straight, F.col("after.upstream") - 1).otherwise(F.col("upstream")).alias("high"),
        certain.alias("certain"),
        F.when(straight, F.lit(RUN)).otherwise(F.lit(POINT)).alias("kind"),
        (~F.col("weak")).alias("firm"),
    )
    between = mappings.where(~straight).select(
        *KEY,
        "target_start",
        "told_end",
        F.coalesce(F.col("downstream") + 1, "target_start").alias("start"),
        (F.coalesce("after.downstream", "told_end") - 1).alias("end"),
        F.lit(None).cast("long").alias("upstream"),
        # Who has come from the one mapping to the other, and had room for it, has come by all in between.
        F.when(F.col("believed") & (F.col("length") >= F.col("rise")), F.col("after.upstream")).alias("next"),
        _stretch_low().alias("low"),
        _stretch_high().alias("high"),
        F.expr("false").alias("certain"),
        F.when(F.col("downstream").isNull(), F.lit(BLIND)).otherwise(F.lit(STRETCH)).alias("kind"),
        (~(F.col("weak") | F.coalesce("after.weak", F.expr("false")))).alias("firm"),
    )
    return here.unionByName(between)


def _stretch_low() -> Column:
    """The run that ends with the mapping behind it can't be longer than the stretch; else anything may stand there.

    Where offsets have gaps, as few records as one may reach back to anywhere.
    """
    fits = F.least(F.coalesce("upstream", F.lit(-1)) + 1, F.col("after.upstream") - _length() + 1)
    return F.greatest(F.coalesce(F.when(F.col("after").isNotNull() & F.col("believed"), fits), F.lit(0)), F.lit(0))


def _stretch_high() -> Column:
    """Replication has come from the one mapping to the other, if the stretch has no more room than that takes.

    Else something was copied twice: where the source's offsets have gaps, few records may reach far before that.
    """
    beyond = F.greatest(F.col("source_end") - 1, "stored", "after.upstream", "upstream", F.lit(0))
    unknown = F.when(F.col("source_end").isNull(), F.lit(2**62)).otherwise(beyond)
    repeated = _length() > F.col("after.upstream") - F.coalesce("upstream", F.lit(-1))
    return F.when(F.col("after").isNotNull() & ~repeated, F.col("after.upstream") - 1).otherwise(unknown)


def _length() -> Column:
    """How many offsets of the remote topic lie between two mappings; it begins, as the source does, at 0."""
    return F.col("after.downstream") - F.coalesce("downstream", F.lit(-1))


def _cut(found: DataFrame) -> DataFrame:
    """Only what is still there, and was not read."""
    begins = F.greatest("start", "target_start")
    ends = F.least("end", F.col("told_end") - 1)
    ahead, behind = begins - F.col("start"), F.col("end") - ends
    return (
        found.withColumns({"ahead": ahead, "behind": behind, "from": begins, "to": ends})
        .where("from <= to")
        .withColumns(
            {
                "start": F.col("from"),
                "end": F.col("to"),
                "upstream": F.col("upstream") + F.col("ahead"),
                # What replication had come to at the end of a piece, it may not have come to where that is cut off.
                "next": F.when(F.col("certain"), F.col("next") - F.col("behind")).when(
                    ends == F.col("end"), F.col("next")
                ),
                "low": F.when(F.col("certain"), F.col("low") + F.col("ahead")).otherwise(F.col("low")),
                "high": F.when(F.col("certain"), F.col("high") - F.col("behind")).otherwise(F.col("high")),
            }
        )
    )


def _narrowed(records: DataFrame, pieces: DataFrame) -> DataFrame:
    """Records that may be a copy of no more than what the mappings around them leave room for.

    Adds come_to: what replication had come to behind a record at the end of a stretch, where that is known.
    """
    # Where nothing surely tells how replication went on, nothing bounds what was there.
    stretches = pieces.where(~F.col("certain") & F.col("firm")).select(
        *KEY, F.col("start").alias("downstream"), F.struct("start", "end", "next", "low", "high").alias("around")
    )
    in_order = Window.partitionBy(*KEY).orderBy("downstream", F.col("around").isNull()).rowsBetween(*SO_FAR)
    around = F.last("around", ignorenulls=True).over(in_order)
    within = F.coalesce(F.col("downstream") <= F.col("around.end"), F.expr("false"))
    low, high = F.greatest("low", "around.low"), F.least("high", "around.high")
    # One that doesn't fit in is somebody else's, or the mappings leave out something.
    fits = within & F.col("upstream").isNull() & F.col("low").isNotNull() & (low <= high)
    ends = within & (F.col("downstream") == F.col("around.end"))
    return (
        union_of(records.withColumn("is_record", F.expr("true")), stretches)
        .withColumn("around", around)
        .where("is_record")
        .withColumns(
            {
                "low": F.when(fits, low).otherwise(F.col("low")),
                "high": F.when(fits, high).otherwise(F.col("high")),
                "come_to": F.when(ends, F.col("around.next")),
            }
        )
        .drop("is_record", "around")
    )


def _by_records(records: DataFrame, source: DataFrame) -> DataFrame:
    """Records that follow each other on either side make a run, any other stands by itself."""
    in_order = Window.partitionBy(*KEY).orderBy("downstream")
    follows = (F.col("upstream") == F.col("before.upstream") + 1) & (
        F.col("downstream") == F.col("before.downstream") + 1
    )
    begins = F.when(F.coalesce(follows, F.expr("false")), F.lit(0)).otherwise(F.lit(1))
    nexts = source.select(*KEY, "upstream", "next")
    runs = (
        records.where("low is not null")
        .join(nexts, [*KEY, "upstream"], "left")
        .withColumn("next", F.coalesce("next", F.col("upstream") + 1, "come_to"))
        .withColumn("before", F.lag(F.struct("upstream", "downstream")).over(in_order))
        .withColumn("number", F.sum(begins).over(in_order.rowsBetween(*SO_FAR)))
    )
    return (
        runs.groupBy(*KEY, "number")
        .agg(
            F.min("downstream").alias("start"),
            F.max("downstream").alias("end"),
            F.min("upstream").alias("upstream"),
            F.max("next").alias("next"),
            F.min("low").alias("low"),
            F.max("high").alias("high"),
            F.min("upstream").isNotNull().alias("certain"),
        )
        .withColumn("kind", F.lit(RECORD))
        .select(*_COLUMNS)
    )

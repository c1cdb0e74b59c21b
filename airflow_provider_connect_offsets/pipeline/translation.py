"""Where consumer groups go on in the replica: the best answer that is proved, and how much is read again otherwise."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from airflow_provider_connect_offsets.pipeline.brackets import (
    known_pairs,
    overtaken,
    placed,
    placed_by_checkpoints,
    stretches,
)
from airflow_provider_connect_offsets.pipeline.events import KEY
from airflow_provider_connect_offsets.pipeline.matching import matched, recognised

_OF_SOURCE, _OF_TARGET = ("source_start", "source_end", "stored", "drained"), ("target_start", "target_end")
_ANSWER = ("target_topic", *_OF_TARGET, "downstream", "exact", "max_rereads", "method")


def answers(
    positions: DataFrame,
    partitions: DataFrame,
    *,
    syncs: DataFrame,
    checkpoints: DataFrame,
    digests: DataFrame | None = None,
    kept: DataFrame | None = None,
) -> DataFrame:
    """Place each position in its replica.

    positions: topic (of the source), kafka_partition, position (long; the next record to be read), and whatever else
    partitions: dataset ``mirror_partitions``; ``drained`` where replication is known to have caught up
    syncs: dataset ``offset_syncs``
    checkpoints: topic (of the source), kafka_partition, upstream, downstream
    digests: dataset ``record_digests``, of each partition from ``compared_from`` on; None: nothing was compared
    kept: dataset ``kept_pairs``; None: no reset has kept any
    returns: positions + target_topic, target_end, target_start (null: it has no replica), downstream (null: unknown),
    exact, max_rereads, method

    ``exact`` says that the group's next record is the first one there, and that none is read twice or missed; else it
    begins at or before that place, and reads at most ``max_rereads`` records again.
    """
    stretched = stretches(overtaken(known_pairs(syncs, partitions, kept), partitions))
    gaps = stretched.groupBy(*KEY).agg(F.max("gap").alias("has_gaps"))
    facts = _facts(partitions.join(gaps, list(KEY), "left"), F.col("gapless") & ~_surely("has_gaps"))
    found = placed(positions, stretched, checkpoints).join(F.broadcast(facts), list(KEY), "left")
    return _answered(found, digests).select(*positions.columns, *_ANSWER)


def answers_of_checkpoints(told: DataFrame, partitions: DataFrame) -> DataFrame:
    """Place the positions that checkpoints tell in their replicas, where the syncs went with the source.

    told: target_topic, kafka_partition, position, checkpoint (null: it tells of no place), and whatever else, of all
    groups
    partitions: dataset ``mirror_partitions``
    returns: topic (of the source) and what ``answers`` gives, of partitions that have a replica
    """
    known = told.join(F.broadcast(_facts(partitions)), ["target_topic", "kafka_partition"])
    found = _answered(placed_by_checkpoints(known), None)
    return found.select("topic", *[name for name in told.columns if name not in _ANSWER], *_ANSWER)


def _answered(found: DataFrame, digests: DataFrame | None) -> DataFrame:
    from_the_start = F.when(F.col("compared_from") <= F.col("target_start"), F.col("target_start"))
    by_checkpoint = _surely(F.col("lowest").isNull() | (F.col("told") > F.col("lowest")))
    bounded = found.withColumns(
        {
            "by": F.when(by_checkpoint, F.lit("checkpoint")).otherwise(F.lit("sync")),
            "lowest": F.coalesce(F.greatest("lowest", "told"), from_the_start),
        }
    )
    return _decided(_compared(bounded, digests))


def _facts(partitions: DataFrame, gapless: Column | str = "gapless") -> DataFrame:
    """What decides about positions of a partition."""
    known = F.col(gapless) if isinstance(gapless, str) else gapless
    return partitions.select(*KEY, "target_topic", *_OF_SOURCE, *_OF_TARGET, "compared_from", known.alias("gapless"))


def _compared(bounded: DataFrame, digests: DataFrame | None) -> DataFrame:
    """Add what the records say: matched, in_doubt (null where they were not read), follows, misled (claims are false).

    One claim that the records disprove makes all claims of that partition doubtful.
    """
    nothing = F.lit(None).cast("long")
    if digests is None:
        return bounded.withColumns(
            {"matched": nothing, "in_doubt": nothing, "follows": F.expr("false"), "misled": F.expr("false")}
        )
    read = F.col("drained") & (F.col("lowest") >= F.col("compared_from"))
    found = matched(bounded, recognised(digests)).withColumns(
        {"matched": F.when(read, F.col("matched")), "in_doubt": F.when(read, F.col("in_doubt"))}
    )
    false = _surely(F.col("claimed") < F.col("matched"))
    return found.withColumn("misled", F.max(false).over(Window.partitionBy(*KEY)))


def _decided(found: DataFrame) -> DataFrame:
    read_all = F.col("drained") & (F.col("position") >= F.col("source_end"))
    sent_all = F.col("drained") & (F.col("stored") >= F.col("source_start")) & (F.col("position") > F.col("stored"))
    behind_all = _surely(read_all) | _surely(sent_all)
    by_records = F.col("matched").isNotNull()
    proved = by_records & (F.col("in_doubt") == 0) & F.col("follows")
    claimed = _surely(F.col("gapless") & F.col("drained") & F.col("claimed").isNotNull())
    trusted = ~behind_all & ~by_records & claimed & ~F.col("misled")
    at_best = F.greatest("lowest", F.when(F.col("gapless") & ~F.col("misled"), F.col("claimed")))
    downstream = (
        F.when(behind_all, F.col("target_end"))
        .when(by_records, F.col("matched"))
        .when(trusted, F.col("claimed"))
        .otherwise(at_best)
    )
    at_the_end = downstream == F.col("target_end")
    exact = _surely(behind_all | proved | trusted | at_the_end)
    left = F.col("target_end") - downstream
    bound = F.when(F.col("gapless") & F.col("drained") & ~F.col("misled"), F.col("highest") - downstream)
    rereads = F.when(exact, F.lit(0).cast("long")).when(by_records, F.col("in_doubt")).otherwise(F.least(bound, left))
    return found.withColumns(
        {"exact": exact, "max_rereads": rereads, "method": _method(behind_all | at_the_end), "downstream": downstream}
    )


def _method(at_the_end: Column) -> Column:
    as_claimed = _surely(F.col("gapless") & ~F.col("misled"))
    return (
        F.when(_surely(at_the_end), F.lit("end"))
        .when(as_claimed & (F.col("claimed") == F.coalesce("matched", "claimed")), F.lit("bracket"))
        .when(F.col("matched") > F.col("lowest"), F.lit("record"))
        .when(F.col("in_doubt") == 0, F.lit("record"))
        .when(F.col("lowest").isNotNull(), F.col("by"))
        .otherwise(F.lit("none"))
    )


def _surely(condition: Column | str) -> Column:
    """Whether it holds; what isn't known doesn't."""
    return F.coalesce(condition, F.expr("false"))

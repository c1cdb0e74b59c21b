"""Choose which records are read while a flow is stopped, within a limit, and report those beyond the limit."""

from __future__ import annotations

from typing import Any

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from airflow_provider_connect_offsets.offsets.requests.failover import FailoverRequest
from airflow_provider_connect_offsets.pipeline.events import KEY
from airflow_provider_connect_offsets.pipeline.failover.failback import forward_ranges
from airflow_provider_connect_offsets.pipeline.failover.failover import NO_SYNC, compare_ranges, queried_positions
from airflow_provider_connect_offsets.pipeline.failover.observed import ObservedFlow
from airflow_provider_connect_offsets.pipeline.frames import shaped, write_dataset
from airflow_provider_connect_offsets.pipeline.summary import first_rows, totals
from airflow_provider_connect_offsets.workspace.flow_schemas import COMPARE_RANGES
from airflow_provider_connect_offsets.workspace.layout import FailoverDirectory


def shared_out(ranges: DataFrame, partitions: DataFrame, *, total: int) -> DataFrame:
    """Shorten ranges of records so that all together keep the limit.

    No partition gets more than another one that needs more. The same share of both logs is read, at their ends.

    Args:
        ranges: topic, kafka_partition, source_from, target_from, and any others; of one or several flows
        partitions: topic, kafka_partition, source_end, target_end, and all other columns of the key of ``ranges``
        total: how many records may be read, of both logs and all partitions; offsets count as records

    Returns:
        ``ranges``, shortened, with left_out (how many records of both logs are not read)
    """
    key = [name for name in partitions.columns if name not in {"source_end", "target_end"}]
    needed = (
        ranges.join(F.broadcast(partitions), key)
        .withColumns({"of_source": _length("source"), "of_target": _length("target")})
        .withColumn("need", F.col("of_source") + F.col("of_target"))
    )
    level = _level(needed.select(*key, "need"), key, total)
    share = F.least(F.lit(1.0), F.col("level") / F.greatest("need", F.lit(1)))
    granted = needed.crossJoin(F.broadcast(level)).withColumns(
        {side: F.floor(F.col(side) * share).cast("long") for side in ("of_source", "of_target")}
    )
    return granted.withColumns(
        {
            "source_from": _begin("source"),
            "target_from": _begin("target"),
            "left_out": F.col("need") - F.col("of_source") - F.col("of_target"),
        }
    ).select(*ranges.columns, "left_out")


def unproved(rows: DataFrame) -> DataFrame:
    """Partitions with a position that is not proved.

    Args:
        rows: dataset ``translation``

    Returns:
        read_as (the topic that groups read), kafka_partition
    """
    proved = F.col("downstream").eqNullSafe(F.col("upper")) & (F.col("missing") == 0) & (F.col("max_rereads") == 0)
    left = rows.where(F.col("covered").isNotNull() & ~F.coalesce(proved, F.expr("false")))
    return left.select(F.col("source_topic").alias("read_as"), "kafka_partition").distinct()


def _level(needed: DataFrame, key: list[str], total: int) -> DataFrame:
    """The most that a partition gets, as one row: partitions that need less leave the rest to the others."""
    in_order = Window.orderBy("need", *key)
    given = F.coalesce(F.sum("need").over(in_order.rowsBetween(Window.unboundedPreceding, -1)), F.lit(0))
    others = F.count("*").over(Window.partitionBy()) - F.row_number().over(in_order) + 1
    # The level rises up to the last partition that gets all it needs, and falls from there on.
    levels = needed.select(F.greatest((F.lit(total) - given) / others, F.lit(0.0)).alias("level"))
    return levels.agg(F.coalesce(F.max("level"), F.lit(0.0)).alias("level"))


def _length(side: str) -> Column:
    """Length of a range; 0 if the target lacks the partition."""
    length = F.greatest(F.col(f"{side}_end") - F.col(f"{side}_from"), F.lit(0))
    return F.coalesce(F.when(F.col("target_end").isNotNull(), length), F.lit(0))


def _begin(side: str) -> Column:
    """Begin of the shortened range; unchanged if there is no log."""
    return F.coalesce(
        F.greatest(F.col(f"{side}_from"), F.col(f"{side}_end") - F.col(f"of_{side}")), F.col(f"{side}_from")
    )


# One in so many records is read to check offsets that are already proved.
_TO_CHECK = 10


def write_ranges(
    request: FailoverRequest, observed: ObservedFlow, directory: FailoverDirectory, rows: DataFrame
) -> dict[str, Any]:
    """Write the ranges of records to be read, of both flows of a failback, within one limit for all.

    Args:
        request: the request
        observed: the flow
        directory: the run
        rows: dataset ``translation``

    Returns:
        for the summary: partitions (of which too few records are read to prove all positions), records (that are not
        read, of both logs), first (topic, kafka_partition and left_out of the partitions that lack most)
    """
    own, forward = F.expr("false").alias("forward"), F.expr("true").alias("forward")
    ranges = compare_ranges(request, observed).select("*", own, F.col("topic").alias("read_as"))
    ends = observed.partitions.select(*KEY, "source_end", "target_end", own)
    if observed.forward is not None:
        back = forward_ranges(queried_positions(request, observed), observed.forward, compared=request.compared)
        ranges = ranges.unionByName(back.select("*", forward, F.col("target_topic").alias("read_as")))
        # Records at home after the last replicated one are not read.
        replicated_end = F.least("source_end", F.coalesce("stored", F.lit(-1)) + 1).alias("source_end")
        ends = ends.unionByName(observed.forward.partitions.select(*KEY, replicated_end, "target_end", forward))
    shared = _shared(ranges, ends, unproved(rows), total=request.compared_total).persist()
    try:
        write_dataset(shaped(shared.where("not forward"), COMPARE_RANGES), directory.compare_ranges)
        if observed.forward is not None:
            write_dataset(shaped(shared.where("forward"), COMPARE_RANGES), directory.forward.compare_ranges)
        return _beyond_limit(shared.where("left_out > 0 and open"))
    finally:
        shared.unpersist(blocking=True)


def to_be_found(rows: DataFrame, partitions: DataFrame, ranges: DataFrame) -> dict[str, int]:
    """Count positions that have no offset mapping but will be translated by records: all possible copies are read.

    Args:
        rows: dataset ``translation``
        partitions: dataset ``mirror_partitions``
        ranges: dataset ``compare_ranges``

    Returns:
        partitions (of groups), max_rereads (records that they read again, at most)
    """
    without_mapping = rows.where(~F.col("covered") & F.col("reason").startswith(NO_SYNC))
    positions = without_mapping.select(F.col("source_topic").alias("topic"), "kafka_partition", "upstream")
    logs = partitions.select(*KEY, "target_start", "target_end")
    joined = positions.join(F.broadcast(logs), list(KEY)).join(F.broadcast(ranges.drop("target_topic")), list(KEY))
    return totals(
        joined.where("left_out = 0 and source_from <= upstream and target_from <= target_start"),
        F.count("*").alias("partitions"),
        F.coalesce(F.sum(F.col("target_end") - F.col("target_start")), F.lit(0)).alias("max_rereads"),
    )


def _shared(ranges: DataFrame, ends: DataFrame, unproved_partitions: DataFrame, *, total: int) -> DataFrame:
    """Share the limit, most of it among partitions with an unproved position.

    Returns what ``shared_out`` returns, with open (the partition has an unproved position).
    """
    to_check = total // _TO_CHECK
    both = []
    for is_open, how, limit in (("true", "left_semi", total - to_check), ("false", "left_anti", to_check)):
        part = ranges.join(F.broadcast(unproved_partitions), ["read_as", "kafka_partition"], how)
        both.append(shared_out(part, ends, total=limit).withColumn("open", F.expr(is_open)))
    return both[0].unionByName(both[1])


def _beyond_limit(beyond: DataFrame) -> dict[str, Any]:
    records = F.coalesce(F.sum("left_out"), F.lit(0)).alias("records")
    counts = totals(beyond, F.count("*").alias("partitions"), records)
    partitions = beyond.select(*KEY, "left_out")
    return {**counts, "first": first_rows(partitions, F.desc("left_out"), *KEY) if counts["partitions"] else []}

"""Choose which records are read while a flow is stopped, and report those beyond the limit."""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from airflow_provider_connect_offsets.offsets.requests.failover import FailoverRequest
from airflow_provider_connect_offsets.pipeline.events import KEY
from airflow_provider_connect_offsets.pipeline.failover.failback import forward_ranges
from airflow_provider_connect_offsets.pipeline.failover.failover import NO_SYNC, compare_ranges, queried_positions
from airflow_provider_connect_offsets.pipeline.failover.observed import ObservedFlow
from airflow_provider_connect_offsets.pipeline.failover.sharing import shared_out, unproved
from airflow_provider_connect_offsets.pipeline.frames import shaped, write_dataset
from airflow_provider_connect_offsets.workspace.flow_schemas import COMPARE_RANGES
from airflow_provider_connect_offsets.workspace.layout import FailoverDirectory

_LISTED = 100
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
        shared.unpersist()


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
    [sums] = (
        joined.where("left_out = 0 and source_from <= upstream and target_from <= target_start")
        .agg(
            F.count("*").alias("partitions"),
            F.coalesce(F.sum(F.col("target_end") - F.col("target_start")), F.lit(0)).alias("max_rereads"),
        )
        .collect()
    )
    return dict(sums.asDict())


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
    [counted] = beyond.agg(
        F.count("*").alias("partitions"), F.coalesce(F.sum("left_out"), F.lit(0)).alias("records")
    ).collect()
    first = beyond.select(*KEY, "left_out").orderBy(F.desc("left_out"), *KEY).limit(_LISTED)
    return {**counted.asDict(), "first": [row.asDict() for row in first.collect()] if counted["partitions"] else []}

"""Which records are read while a flow is stopped, and what is told of those that are not."""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from airflow_provider_connect_offsets.offsets.requests.failover import FailoverRequest
from airflow_provider_connect_offsets.pipeline.events import KEY
from airflow_provider_connect_offsets.pipeline.failover.failback import forward_ranges
from airflow_provider_connect_offsets.pipeline.failover.failover import NO_SYNC, asked_positions, compare_ranges
from airflow_provider_connect_offsets.pipeline.failover.observed import ObservedFlow
from airflow_provider_connect_offsets.pipeline.failover.sharing import shared_out, unproved
from airflow_provider_connect_offsets.pipeline.frames import shaped, write_dataset
from airflow_provider_connect_offsets.workspace.flow_schemas import COMPARE_RANGES
from airflow_provider_connect_offsets.workspace.layout import FailoverDirectory

_LISTED = 100
# Of what may be read, so large a part is for offsets that are proved already: their records are to bear them out.
_TO_CHECK = 10


def write_ranges(
    request: FailoverRequest, seen: ObservedFlow, directory: FailoverDirectory, rows: DataFrame
) -> dict[str, Any]:
    """Write which records are to be read of either flow, and tell what is beyond the limit for all of them together.

    rows: dataset ``translation``
    returns: partitions (of which too little is read to prove all positions), records (that are not read, of both logs),
    first (topic, kafka_partition and left_out of those that lack most)
    """
    own, forward = F.expr("false").alias("forward"), F.expr("true").alias("forward")
    ranges = compare_ranges(request, seen).select("*", own, F.col("topic").alias("seen_as"))
    ends = seen.partitions.select(*KEY, "source_end", "target_end", own)
    if seen.forward is not None:
        back = forward_ranges(asked_positions(request, seen), seen.forward, compared=request.compared)
        ranges = ranges.unionByName(back.select("*", forward, F.col("target_topic").alias("seen_as")))
        # Whatever is at home behind what was replicated is not read.
        replicated_end = F.least("source_end", F.coalesce("stored", F.lit(-1)) + 1).alias("source_end")
        ends = ends.unionByName(seen.forward.partitions.select(*KEY, replicated_end, "target_end", forward))
    shared = _shared(ranges, ends, unproved(rows), total=request.compared_total).persist()
    try:
        write_dataset(shaped(shared.where("not forward"), COMPARE_RANGES), directory.compare_ranges)
        if seen.forward is not None:
            write_dataset(shaped(shared.where("forward"), COMPARE_RANGES), directory.forward.compare_ranges)
        return _told(shared.where("left_out > 0 and open"))
    finally:
        shared.unpersist()


def to_be_found(rows: DataFrame, partitions: DataFrame, ranges: DataFrame) -> dict[str, int]:
    """Count the positions that no offset mapping tells, and the records will: all that may be their copies is read.

    rows: dataset ``translation``; partitions: dataset ``mirror_partitions``; ranges: dataset ``compare_ranges``
    returns: partitions (of groups), max_rereads (records that they read again at most, wherever they are found)
    """
    untold = rows.where(~F.col("covered") & F.col("reason").startswith(NO_SYNC))
    asked = untold.select(F.col("source_topic").alias("topic"), "kafka_partition", "upstream")
    known = partitions.select(*KEY, "target_start", "target_end")
    told = asked.join(F.broadcast(known), list(KEY)).join(F.broadcast(ranges.drop("target_topic")), list(KEY))
    read = told.where("left_out = 0 and source_from <= upstream and target_from <= target_start")
    [found] = read.agg(
        F.count("*").alias("partitions"),
        F.coalesce(F.sum(F.col("target_end") - F.col("target_start")), F.lit(0)).alias("max_rereads"),
    ).collect()
    return dict(found.asDict())


def _shared(ranges: DataFrame, ends: DataFrame, left: DataFrame, *, total: int) -> DataFrame:
    """Share the limit out, most of it among partitions in which something is left to be proved.

    returns: of ``shared_out``, with open (something is left to be proved)
    """
    to_check = total // _TO_CHECK
    both = []
    for is_open, how, limit in (("true", "left_semi", total - to_check), ("false", "left_anti", to_check)):
        some = ranges.join(F.broadcast(left), ["seen_as", "kafka_partition"], how)
        both.append(shared_out(some, ends, total=limit).withColumn("open", F.expr(is_open)))
    return both[0].unionByName(both[1])


def _told(beyond: DataFrame) -> dict[str, Any]:
    [counted] = beyond.agg(
        F.count("*").alias("partitions"), F.coalesce(F.sum("left_out"), F.lit(0)).alias("records")
    ).collect()
    first = beyond.select(*KEY, "left_out").orderBy(F.desc("left_out"), *KEY).limit(_LISTED)
    return {**counted.asDict(), "first": [row.asDict() for row in first.collect()] if counted["partitions"] else []}

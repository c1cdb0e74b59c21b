"""Choose which records are read while a flow is stopped, within a limit, and report those beyond the limit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from airflow_provider_connect_offsets.offsets.requests.failover import FailoverRequest
from airflow_provider_connect_offsets.pipeline.events import KEY, SO_FAR
from airflow_provider_connect_offsets.pipeline.failover.failback import Forward, forward_ranges
from airflow_provider_connect_offsets.pipeline.failover.failover import (
    FURTHER,
    NO_SYNC,
    compare_ranges,
    queried_positions,
)
from airflow_provider_connect_offsets.pipeline.failover.observed import ObservedFlow
from airflow_provider_connect_offsets.pipeline.frames import conform, write_dataset
from airflow_provider_connect_offsets.pipeline.summary import collect_first, totals
from airflow_provider_connect_offsets.pipeline.translate.records import MARGIN
from airflow_provider_connect_offsets.workspace.flow_schemas import COMPARE_RANGES
from airflow_provider_connect_offsets.workspace.layout import FailoverDirectory

# Which log the groups read: the source's, or for records of the flow from home in a failback, the target's.
_SOURCE_IS_READ = {"source": "read", "target": "other"}
_TARGET_IS_READ = {"target": "read", "source": "other"}


def choose_nearest(ranges: DataFrame, positions: DataFrame, *, compared: int, total: int) -> DataFrame:
    """Choose the positions whose records are read: those nearest to the ends of their logs, within one limit for all.

    It takes all records from a position on to prove its translated offset, so reading only some would be in vain.

    Args:
        ranges: topic, kafka_partition, target_topic, forward (the records are of the flow from home), read_as (the
            topic that groups read), read_from, read_end (offsets of this topic that are worth reading), other_from,
            other_end (of the topic that it was replicated to or from), begins (positions behind it are only proved if
            it is read from here; null: each by the records from it on)
        positions: what ``positions_of`` returns
        compared: most records to read of a partition of the topic that groups read; offsets count as records
        total: most records to read, of both logs and all partitions

    Returns:
        read_as, topic, kafka_partition, target_topic, forward, read_from, other_from (null: nothing is read), begins,
        left_out (how many more records its positions need), beyond_total, too_far (whether a position that is not
        proved yet needs more than ``total`` leaves, or more than ``compared``)
    """
    key = [*KEY, "target_topic", "forward", "read_as"]
    joined = positions.join(F.broadcast(ranges), ["read_as", "kafka_partition"])
    located = _with_beginnings(joined).select(
        *key, "begins", "upstream", "is_open", *_begins(), "read_end", "other_end", _is_near(compared)
    )
    length = _length("read") + _length("other")
    nearer = Window.partitionBy(*key).orderBy("need", "upstream").rowsBetween(Window.unboundedPreceding, -1)
    more = F.col("need") - F.coalesce(F.max("need").over(nearer), F.lit(0))
    in_order = Window.orderBy("need", *key, "upstream").rowsBetween(*SO_FAR)
    chosen = (
        located.withColumn("need", F.when(F.col("near"), length))
        .withColumn("more", F.greatest(more, F.lit(0)))
        .withColumn("read", F.col("near") & (F.sum("more").over(in_order) <= total))
    )
    read, is_open = F.col("read"), F.col("is_open")
    needed, granted = F.max("need"), F.coalesce(F.max(F.when(read, F.col("need"))), F.lit(0))
    return chosen.groupBy(*key).agg(
        *[F.min(F.when(read, F.col(name))).alias(name) for name in ("read_from", "other_from")],
        F.first("begins").alias("begins"),  # the same for all positions of a partition
        (needed - granted).alias("left_out"),
        F.bool_or(is_open & F.col("near") & ~read).alias("beyond_total"),
        F.bool_or(is_open & ~F.col("near")).alias("too_far"),
    )


def positions_of(rows: DataFrame) -> DataFrame:
    """Distinct positions: each once, however many groups have it.

    Args:
        rows: dataset ``translation``

    Returns:
        read_as (the topic that groups read), kafka_partition, upstream, downstream, is_open (it is not proved)
    """
    proved = F.col("downstream").eqNullSafe(F.col("upper")) & (F.col("missing") == 0) & (F.col("max_rereads") == 0)
    is_open = F.col("covered").isNotNull() & ~F.coalesce(proved, F.expr("false"))
    return rows.groupBy(F.col("source_topic").alias("read_as"), "kafka_partition", "upstream").agg(
        F.min("downstream").alias("downstream"), F.bool_or(is_open).alias("is_open")
    )


def _with_beginnings(joined: DataFrame) -> DataFrame:
    """Add the beginnings that positions need as positions of their own: if they are too far, what is nearer is read."""
    places = F.array_distinct(F.array("upstream", F.least("upstream", "begins")))
    return (
        joined.withColumn("place", F.explode(places))
        .withColumn("downstream", F.when(F.col("place") == F.col("upstream"), F.col("downstream")))
        .withColumn("upstream", F.col("place"))
    )


def _begins() -> list[Column]:
    """Where the records of a position begin in both logs; ``upstream`` is in the log that groups read."""
    begin = F.greatest("read_from", F.col("upstream") - MARGIN)
    copied = F.greatest("other_from", F.coalesce(F.col("downstream") - MARGIN, F.lit(0)))
    other = F.when(begin == F.col("read_from"), F.col("other_from")).otherwise(copied)
    return [begin.alias("read_from"), other.alias("other_from")]


def _is_near(compared: int) -> Column:
    """Whether all records from the position on are in the range, unless retention has deleted them."""
    near = (F.col("upstream") >= F.col("read_from")) | (F.col("read_from") > F.col("read_end") - compared)
    return near.alias("near")


def _length(log: str) -> Column:
    return F.greatest(F.col(f"{log}_end") - F.col(f"{log}_from"), F.lit(0))


def _rename(frame: DataFrame, logs: Mapping[str, str]) -> DataFrame:
    names = {f"{log}_{place}": f"{name}_{place}" for log, name in logs.items() for place in ("from", "end")}
    return frame.withColumnsRenamed(names)


def _inverse(logs: Mapping[str, str]) -> dict[str, str]:
    return {name: log for log, name in logs.items()}


def write_ranges(
    request: FailoverRequest,
    observed: ObservedFlow,
    directory: FailoverDirectory,
    rows: DataFrame,
    *,
    uncovered: DataFrame | None,
) -> dict[str, Any]:
    """Write the ranges of records to be read, of both flows of a failback, within one limit for all.

    Args:
        request: the request
        observed: the flow
        directory: the run
        rows: dataset ``translation``
        uncovered: its rows that are not covered, with by_records; None if all are covered

    Returns:
        for the summary: beyond_limit, with partitions (how many have a position that is not proved, as the limit is
        reached), records (how many of both logs are not read there), first (topic, kafka_partition and left_out of the
        partitions that lack most) and too_far (how many partitions have a position that needs more than ``compared``
        records); and to_be_found, what ``count_to_be_found`` returns, if not all are covered
    """
    ends = observed.partitions.where("target_end is not null").select(*KEY, "source_end", "target_end")
    own = compare_ranges(request, observed).join(F.broadcast(ends), list(KEY))
    ranges = _rename(own, _SOURCE_IS_READ).withColumns(
        {"forward": F.expr("false"), "read_as": F.col("topic"), "begins": F.lit(None).cast("long")}
    )
    if observed.forward is not None:
        ranges = ranges.unionByName(_ranges_from_home(request, observed, observed.forward))
    limits = {"compared": request.compared, "total": request.compared_total}
    chosen = choose_nearest(ranges, positions_of(rows), **limits).persist()
    try:
        read = chosen.where("read_from is not null")
        own = _rename(read.where("not forward"), _inverse(_SOURCE_IS_READ))
        write_dataset(conform(own, COMPARE_RANGES), directory.compare_ranges)
        if observed.forward is not None:
            forward = _rename(read.where("forward"), _inverse(_TARGET_IS_READ))
            write_dataset(conform(forward, COMPARE_RANGES), directory.forward_directory.compare_ranges)
        summary: dict[str, Any] = {"beyond_limit": _summarise_beyond_limit(chosen)}
        if uncovered is not None:
            summary["to_be_found"] = count_to_be_found(uncovered, observed.partitions, read)
        return summary
    finally:
        chosen.unpersist(blocking=True)


def _ranges_from_home(request: FailoverRequest, observed: ObservedFlow, forward: Forward) -> DataFrame:
    ranges = forward_ranges(queried_positions(request, observed), forward, compared=request.compared)
    # Records at home after the last replicated one are not read.
    replicated_end = F.least("source_end", F.coalesce("stored", F.lit(-1)) + 1).alias("source_end")
    ends = forward.partitions.where("target_end is not null").select(*KEY, replicated_end, "target_end")
    located = _rename(ranges.join(F.broadcast(ends), list(KEY)), _TARGET_IS_READ)
    return located.withColumns({"forward": F.expr("true"), "read_as": F.col("target_topic")})


def count_to_be_found(uncovered: DataFrame, partitions: DataFrame, read: DataFrame) -> dict[str, int]:
    """Count positions that are not covered yet, but will be translated by records: all possible copies are read.

    They have no offset mapping, or the group's own offset on the target lies between the lowest and the highest one
    that mappings allow: records may show that it is already there.

    Args:
        uncovered: as ``write_ranges`` takes them
        partitions: dataset ``mirror_partitions``
        read: what ``choose_nearest`` returns, where anything is read

    Returns:
        partitions (how many positions), max_rereads (how many records their groups read again, at most)
    """
    highest = F.coalesce("upper", F.col("downstream") + F.col("max_rereads"))
    is_open = (F.col("max_rereads") > 0) & (F.col("target_before") <= highest)
    may_be_there = F.col("reason").startswith(FURTHER) & is_open
    names = F.col("source_topic").alias("read_as"), F.col("by_records").isNotNull().alias("forward")
    unknown = uncovered.where(F.col("reason").startswith(NO_SYNC) | may_be_there).select(
        *names, "kafka_partition", "upstream", "downstream", "max_rereads"
    )
    logs = partitions.select(F.col("topic").alias("read_as"), "kafka_partition", "target_start", "target_end")
    located = unknown.join(
        F.broadcast(read.select("read_as", "kafka_partition", "forward", "read_from", "other_from", "begins")),
        ["read_as", "kafka_partition", "forward"],
    ).join(F.broadcast(logs), ["read_as", "kafka_partition"], "left")
    every_copy = F.col("target_end") - F.col("target_start")
    rereads = F.when(F.col("downstream").isNull(), every_copy).otherwise(F.col("max_rereads"))
    return totals(
        located.where(F.col("read_from") <= F.least("upstream", "begins")).where(
            F.col("other_from") <= F.coalesce("downstream", "target_start")
        ),
        F.count("*").alias("partitions"),
        F.coalesce(F.sum(rereads), F.lit(0)).alias("max_rereads"),
    )


def _summarise_beyond_limit(chosen: DataFrame) -> dict[str, Any]:
    beyond = F.col("beyond_total")
    counts = totals(
        chosen,
        F.count_if(beyond).alias("partitions"),
        F.coalesce(F.sum(F.when(beyond, F.col("left_out"))), F.lit(0)).alias("records"),
        F.count_if("too_far").alias("too_far"),
    )
    partitions = chosen.where(beyond).select(*KEY, "left_out")
    return {**counts, "first": collect_first(partitions, F.desc("left_out"), *KEY) if counts["partitions"] else []}

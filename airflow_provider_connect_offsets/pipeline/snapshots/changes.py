"""Compare the offsets of two snapshots: dataset ``offset_changes``; Catalyst only.

Partitions are compared by connector and source partition (canonical JSON, so equal partitions are equal texts).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from airflow_provider_connect_offsets.offsets.requests.snapshots import SnapshotRequest
from airflow_provider_connect_offsets.pipeline.frames import shaped
from airflow_provider_connect_offsets.workspace.schemas import OFFSET_CHANGES

_KEY = ("connector", "partition")
_LOG = ("topic", "kafka_partition")
_RUNNING = "RUNNING"


class OffsetChange(StrEnum):
    """What happened to an offset between two snapshots; column ``change``."""

    VANISHED = "vanished"
    MOVED_BACK = "moved_back"
    JUMPED = "jumped"
    STUCK = "stuck"
    APPEARED = "appeared"
    MOVED = "moved"
    UNCHANGED = "unchanged"
    #: There is no earlier snapshot, or the connector could not be read for it.
    NOT_COMPARED = "not_compared"


@dataclass(frozen=True, slots=True)
class Observed:
    """A snapshot.

    Attributes:
        connectors: dataset ``connectors``
        offsets: dataset ``connector_offsets``
        bounds: dataset ``log_bounds``
        logs: family, kafka_cluster (whose logs its positions refer to)
        unread: names of connectors whose offsets could not be read
    """

    connectors: DataFrame
    offsets: DataFrame
    bounds: DataFrame
    logs: DataFrame
    unread: Iterable[str] = ()


def offset_changes(now: Observed, earlier: Observed | None, request: SnapshotRequest) -> DataFrame:
    """Dataset ``offset_changes``: each partition that has an offset in either snapshot.

    Args:
        now: the later snapshot
        earlier: the one before; None if there is none
        request: the request of the later one

    Returns:
        the dataset; partitions of a connector that could not be read for the later snapshot are left out, as it is
        unknown whether they are still stored
    """
    before = _stored(now).limit(0) if earlier is None else _stored(earlier)
    before = before.where(~F.col("connector").isin(list(now.unread)))
    rows = _joined(_stored(now), before)
    rows = rows.join(F.broadcast(_states(now)), "connector", "left")
    if earlier is not None:
        was = _states(earlier).withColumnRenamed("state", "was")
        rows = rows.join(F.broadcast(was), "connector", "left")
    else:
        rows = rows.withColumn("was", F.lit(None).cast("string"))
    compared = F.lit(earlier is not None) & ~F.col("connector").isin(list(earlier.unread if earlier else ()))
    rows = rows.withColumn("moved", F.col("after_position") - F.col("before_position")).withColumn(
        "lag", F.greatest(F.col("log_end") - F.col("after_position"), F.lit(0))
    )
    change = F.when(compared, _change(request)).otherwise(OffsetChange.NOT_COMPARED.value)
    return shaped(rows.withColumn("change", change), OFFSET_CHANGES)


def is_beyond_end() -> Column:
    """Whether the position is beyond the end of its log; null if either is unknown."""
    return F.col("after_position") > F.col("log_end")


def _stored(observed: Observed) -> DataFrame:
    """The stored offsets, each with the end of its log if that was observed."""
    ends = observed.bounds.select("kafka_cluster", *_LOG, "log_end")
    stored = observed.offsets.where(F.col("offset").isNotNull())
    columns = (*_KEY, "connector_type", "family", *_LOG, "offset", "position")
    return (
        stored.select(*columns)
        .join(F.broadcast(observed.logs), "family", "left")
        .join(ends, ["kafka_cluster", *_LOG], "left")
        .select(*columns, "log_end")
    )


def _joined(after: DataFrame, before: DataFrame) -> DataFrame:
    same = ("connector_type", "family", *_LOG)
    later = after.withColumnsRenamed({"offset": "after", "position": "after_position"})
    earlier = before.select(
        *_KEY,
        *(F.col(name).alias(f"was_{name}") for name in same),
        F.col("offset").alias("before"),
        F.col("position").alias("before_position"),
        F.col("log_end").alias("before_end"),
    )
    rows = later.join(earlier, list(_KEY), "full")
    return rows.withColumns({name: F.coalesce(name, f"was_{name}") for name in same})


def _states(observed: Observed) -> DataFrame:
    return observed.connectors.select("connector", "state")


def _change(request: SnapshotRequest) -> Column:
    """Null-safe: a condition on what is unknown is not met."""
    jumped = (F.col("moved") > request.max_jump) if request.max_jump else F.lit(False)  # noqa: FBT003 - a column
    beyond = is_beyond_end() & (F.col("moved") > 0)
    return (
        F.when(F.col("after").isNull(), OffsetChange.VANISHED.value)
        .when(F.col("before").isNull(), OffsetChange.APPEARED.value)
        .when(F.col("moved") < 0, OffsetChange.MOVED_BACK.value)
        .when(jumped | beyond, OffsetChange.JUMPED.value)
        .when(F.col("before") != F.col("after"), OffsetChange.MOVED.value)
        .when(_is_stuck(), OffsetChange.STUCK.value)
        .otherwise(OffsetChange.UNCHANGED.value)
    )


def _is_stuck() -> Column:
    """RUNNING in both snapshots, at one position, though records were left to read in both."""
    runs = (F.col("state") == _RUNNING) & (F.col("was") == _RUNNING)
    return runs & (F.col("lag") > 0) & (F.col("before_end") > F.col("before_position"))

"""Compare the offsets of two snapshots, datasets ``offset_changes`` and ``verdicts``; Catalyst only.

Partitions are compared by connector and source partition (canonical JSON, so equal partitions are equal texts).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from airflow_provider_connect_offsets.offsets.requests.snapshots import SnapshotRequest
from airflow_provider_connect_offsets.offsets.verdicts import Rule, Verdict
from airflow_provider_connect_offsets.pipeline.events import KEY
from airflow_provider_connect_offsets.pipeline.frames import conform, verdict_frame
from airflow_provider_connect_offsets.pipeline.verdicts import finding, sentence, verdicts
from airflow_provider_connect_offsets.workspace.schemas import OFFSET_CHANGES
from airflow_provider_connect_offsets.workspace.snapshots import SnapshotRecord

_PARTITION = ("connector", "partition")
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
        earlier: the previous snapshot; None if ``now`` is the first
        request: the request of the later snapshot

    Returns:
        the dataset; partitions of a connector that could not be read for the later snapshot are left out, as it is
        unknown whether they are still stored
    """
    before = _stored_offsets(now).limit(0) if earlier is None else _stored_offsets(earlier)
    before = before.where(~F.col("connector").isin(list(now.unread)))
    rows = _join(_stored_offsets(now), before)
    rows = rows.join(F.broadcast(_states(now)), "connector", "left")
    was = _states(now).limit(0) if earlier is None else _states(earlier)
    rows = rows.join(F.broadcast(was.withColumnRenamed("state", "was")), "connector", "left")
    compared = F.lit(earlier is not None) & ~F.col("connector").isin(list(earlier.unread if earlier else ()))
    rows = rows.withColumn("moved", F.col("after_position") - F.col("before_position")).withColumn(
        "lag", F.greatest(F.col("log_end") - F.col("after_position"), F.lit(0))
    )
    change = F.when(compared, _change(request)).otherwise(OffsetChange.NOT_COMPARED.value)
    return conform(rows.withColumn("change", change), OFFSET_CHANGES)


def is_beyond_end() -> Column:
    """Whether the position is beyond the end of its log; null if either is unknown."""
    return F.col("after_position") > F.col("log_end")


def _stored_offsets(observed: Observed) -> DataFrame:
    """The stored offsets, each with the end of its log if that was observed."""
    ends = observed.bounds.select("kafka_cluster", *KEY, "log_end")
    stored = observed.offsets.where(F.col("offset").isNotNull())
    columns = (*_PARTITION, "connector_type", "family", *KEY, "offset", "position")
    return (
        stored.select(*columns)
        .join(F.broadcast(observed.logs), "family", "left")
        .join(ends, ["kafka_cluster", *KEY], "left")
        .select(*columns, "log_end")
    )


def _join(after: DataFrame, before: DataFrame) -> DataFrame:
    same = ("connector_type", "family", *KEY)
    later = after.withColumnsRenamed({"offset": "after", "position": "after_position"})
    earlier = before.select(
        *_PARTITION,
        *(F.col(name).alias(f"was_{name}") for name in same),
        F.col("offset").alias("before"),
        F.col("position").alias("before_position"),
        F.col("log_end").alias("before_end"),
    )
    rows = later.join(earlier, list(_PARTITION), "full")
    return rows.withColumns({name: F.coalesce(name, f"was_{name}") for name in same})


def _states(observed: Observed) -> DataFrame:
    return observed.connectors.select("connector", "state")


def _change(request: SnapshotRequest) -> Column:
    """What happened to an offset, as ``OffsetChange``; a condition on an unknown value counts as not met."""
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
    """Whether the connector was RUNNING and had records left to read in both snapshots."""
    runs = (F.col("state") == _RUNNING) & (F.col("was") == _RUNNING)
    return runs & (F.col("lag") > 0) & (F.col("before_end") > F.col("before_position"))


def change_verdicts(rows: DataFrame, request: SnapshotRequest, record: SnapshotRecord) -> DataFrame:
    """Dataset ``verdicts`` on the changes.

    Args:
        rows: dataset ``offset_changes``
        request: the request, which says which rules' findings are errors
        record: the record of the later snapshot, which names what could not be read
    """
    where = F.coalesce(sentence("{topic}-{kafka_partition}"), "partition")
    by_row = verdicts(
        rows,
        _row_findings(request),
        connector=F.col("connector"),
        partition=F.col("partition"),
        prefix=sentence("`{connector}`, {where}: ", where=where),
    )
    unread = verdict_frame(rows.sparkSession, _judge_unread(request, record))
    return by_row.unionByName(_connector_verdicts(rows, request)).unionByName(unread)


def _row_findings(request: SnapshotRequest) -> list[Column]:
    change, exists = F.col("change"), F.col("state").isNotNull()

    def judge(rule: Rule, condition: Column, template: str, **values: Column | int) -> Column:
        return finding(rule, request.severity(rule), condition, template, **values)

    return [
        judge(
            Rule.VANISHED,
            (change == OffsetChange.VANISHED.value) & exists,
            "its offset {before} is no longer stored. Without an offset, auto.offset.reset decides where a consumer "
            "starts, and any other source decides itself where it starts.",
        ),
        judge(
            Rule.MOVED_BACK,
            change == OffsetChange.MOVED_BACK.value,
            "moved back from position {before_position:number} to {after_position:number}: {again:record is} "
            "delivered again.",
            again=-F.col("moved"),
        ),
        judge(
            Rule.JUMPED,
            (change == OffsetChange.JUMPED.value) & (F.col("moved") > request.max_jump) & F.lit(request.max_jump > 0),
            "moved from position {before_position:number} to {after_position:number}: {moved:record}, more "
            "than max_jump={limit:number}. If the connector did not read these records, they were skipped.",
            limit=request.max_jump,
        ),
        judge(
            Rule.BEYOND_LOG_END,
            is_beyond_end(),
            "position {after_position:number} is beyond the log end {log_end:number}. The topic may have been deleted "
            "and created again. The consumer will fall back to auto.offset.reset.",
        ),
        judge(
            Rule.STUCK,
            change == OffsetChange.STUCK.value,
            "still at position {after_position:number}, though the connector was RUNNING and {lag:record is} left to "
            "read.",
        ),
    ]


def _connector_verdicts(rows: DataFrame, request: SnapshotRequest) -> DataFrame:
    """A verdict for each connector that is gone or has new partitions, instead of one for each partition."""
    gone = (F.col("change") == OffsetChange.VANISHED.value) & F.col("state").isNull()
    counts = rows.groupBy("connector").agg(
        F.count_if(gone).alias("gone"), F.count_if(F.col("change") == OffsetChange.APPEARED.value).alias("appeared")
    )
    findings = [
        finding(
            Rule.VANISHED,
            request.severity(Rule.VANISHED),
            F.col("gone") > 0,
            "the connector no longer exists. In the snapshot before, it had offsets in {gone:partition}.",
        ),
        finding(
            Rule.APPEARED,
            request.severity(Rule.APPEARED),
            F.col("appeared") > 0,
            "{appeared:partition has} an offset for the first time.",
        ),
    ]
    return verdicts(
        counts,
        findings,
        connector=F.col("connector"),
        partition=F.lit(None).cast("string"),
        prefix=sentence("`{connector}`: "),
    )


def _judge_unread(request: SnapshotRequest, record: SnapshotRecord) -> Iterator[Verdict]:
    severity = request.severity(Rule.UNREAD)
    for name, reason in record.unread.items():
        message = f"`{name}`: its offsets are not in this snapshot, so they were not compared: {reason}"
        yield Verdict(Rule.UNREAD, severity, name, None, message)
    for reason in record.unread_logs.values():
        message = f"Positions were not compared with the log ends: {reason}"
        yield Verdict(Rule.UNREAD, severity, "", None, message)

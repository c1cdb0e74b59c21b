"""Verdicts on the changes between two snapshots: each rule is a condition on a row and a sentence for people."""

from __future__ import annotations

from collections.abc import Iterator

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from airflow_provider_connect_offsets.offsets.requests.snapshots import SnapshotRequest
from airflow_provider_connect_offsets.offsets.verdicts import Rule, Verdict
from airflow_provider_connect_offsets.pipeline.frames import verdict_frame
from airflow_provider_connect_offsets.pipeline.snapshots.changes import OffsetChange, is_beyond_end
from airflow_provider_connect_offsets.pipeline.verdicts import found, sentence, verdicts
from airflow_provider_connect_offsets.workspace.snapshots import SnapshotRecord


def change_verdicts(rows: DataFrame, request: SnapshotRequest, record: SnapshotRecord) -> DataFrame:
    """Dataset ``verdicts``.

    Args:
        rows: dataset ``offset_changes``
        request: which rules' findings are errors
        record: of the later snapshot, which names what could not be read
    """
    where = F.coalesce(sentence("{topic}-{kafka_partition}"), "partition")
    by_row = verdicts(
        rows,
        _row_findings(request),
        connector=F.col("connector"),
        partition=F.col("partition"),
        prefix=sentence("`{connector}`, {where}: ", where=where),
    )
    unread = verdict_frame(rows.sparkSession, _unread(request, record))
    return by_row.unionByName(_connector_verdicts(rows, request)).unionByName(unread)


def _row_findings(request: SnapshotRequest) -> list[Column]:
    change, exists = F.col("change"), F.col("state").isNotNull()

    def judged(rule: Rule, condition: Column, template: str, **values: Column | int) -> Column:
        return found(rule, request.severity(rule), condition, template, **values)

    return [
        judged(
            Rule.VANISHED,
            (change == OffsetChange.VANISHED.value) & exists,
            "its offset {before} is no longer stored. Without one, a consumer starts where auto.offset.reset says, and "
            "any other source where it decides itself.",
        ),
        judged(
            Rule.MOVED_BACK,
            change == OffsetChange.MOVED_BACK.value,
            "moved back from position {before_position:number} to {after_position:number}: {again:number} records are "
            "delivered again.",
            again=-F.col("moved"),
        ),
        judged(
            Rule.JUMPED,
            (change == OffsetChange.JUMPED.value) & (F.col("moved") > request.max_jump) & F.lit(request.max_jump > 0),
            "moved from position {before_position:number} to {after_position:number}: {moved:number} records, more "
            "than max_jump={limit:number}. If it did not read them, they were skipped.",
            limit=request.max_jump,
        ),
        judged(
            Rule.BEYOND_LOG_END,
            is_beyond_end(),
            "position {after_position:number} is beyond the end of the log, {log_end:number}; the topic may have been "
            "created again. The consumer will fall back to auto.offset.reset.",
        ),
        judged(
            Rule.STUCK,
            change == OffsetChange.STUCK.value,
            "still at position {after_position:number}, though the connector was RUNNING and {lag:number} records are "
            "left to read.",
        ),
    ]


def _connector_verdicts(rows: DataFrame, request: SnapshotRequest) -> DataFrame:
    """A verdict for each connector that is gone or has new partitions, instead of one for each partition."""
    gone = (F.col("change") == OffsetChange.VANISHED.value) & F.col("state").isNull()
    counts = rows.groupBy("connector").agg(
        F.count_if(gone).alias("gone"), F.count_if(F.col("change") == OffsetChange.APPEARED.value).alias("appeared")
    )
    findings = [
        found(
            Rule.VANISHED,
            request.severity(Rule.VANISHED),
            F.col("gone") > 0,
            "the connector no longer exists. Its partitions with an offset in the snapshot before: {gone:number}.",
        ),
        found(
            Rule.APPEARED,
            request.severity(Rule.APPEARED),
            F.col("appeared") > 0,
            "partitions that have an offset for the first time: {appeared:number}.",
        ),
    ]
    return verdicts(
        counts,
        findings,
        connector=F.col("connector"),
        partition=F.lit(None).cast("string"),
        prefix=sentence("`{connector}`: "),
    )


def _unread(request: SnapshotRequest, record: SnapshotRecord) -> Iterator[Verdict]:
    severity = request.severity(Rule.UNREAD)
    for name, reason in record.unread.items():
        message = f"`{name}`: its offsets are not in this snapshot, and were not compared: {reason}"
        yield Verdict(Rule.UNREAD, severity, name, None, message)
    for reason in record.unread_logs.values():
        message = f"Positions were not compared with the ends of their logs: {reason}"
        yield Verdict(Rule.UNREAD, severity, "", None, message)

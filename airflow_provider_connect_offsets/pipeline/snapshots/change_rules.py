"""Verdicts on the changes between two snapshots: each rule is a condition on a row and a sentence for people."""

from __future__ import annotations

from collections.abc import Iterator

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from airflow_provider_connect_offsets.offsets.requests.snapshots import SnapshotRequest
from airflow_provider_connect_offsets.offsets.verdicts import Rule, Verdict
from airflow_provider_connect_offsets.pipeline.frames import shaped, verdict_frame
from airflow_provider_connect_offsets.pipeline.plan.findings import finding
from airflow_provider_connect_offsets.pipeline.snapshots.changes import OffsetChange, is_beyond_end
from airflow_provider_connect_offsets.workspace.schemas import VERDICTS
from airflow_provider_connect_offsets.workspace.snapshots import SnapshotRecord


def change_verdicts(rows: DataFrame, request: SnapshotRequest, record: SnapshotRecord) -> DataFrame:
    """Dataset ``verdicts``.

    Args:
        rows: dataset ``offset_changes``
        request: which rules' findings are errors
        record: of the later snapshot, which names what could not be read
    """
    spark = rows.sparkSession
    by_row = (
        rows.withColumn("found", F.explode(F.array_compact(F.array(*_row_findings(request)))))
        .select("connector", "partition", "found.*")
        .withColumn("message", F.concat(F.lit("`"), "connector", F.lit("`, "), "message"))
    )
    return (
        shaped(by_row, VERDICTS)
        .unionByName(shaped(_connector_verdicts(rows, request), VERDICTS))
        .unionByName(verdict_frame(spark, _unread(request, record)))
    )


def _row_findings(request: SnapshotRequest) -> list[Column]:
    where = F.coalesce(F.concat("topic", F.lit("-"), F.col("kafka_partition").cast("string")), "partition")
    change, exists = F.col("change"), F.col("state").isNotNull()
    before, after = _number("before_position"), _number("after_position")

    def found(rule: Rule, condition: Column, *message: str | Column) -> Column:
        return finding(rule, request.severity(rule), condition, where, ": ", *message)

    return [
        found(
            Rule.VANISHED,
            (change == OffsetChange.VANISHED.value) & exists,
            *("its offset ", F.col("before"), " is no longer stored. Without one, a consumer starts where "),
            "auto.offset.reset says, and any other source where it decides itself.",
        ),
        found(
            Rule.MOVED_BACK,
            change == OffsetChange.MOVED_BACK.value,
            *("moved back from position ", before, " to ", after, ": ", F.format_number(-F.col("moved"), 0)),
            " records are delivered again.",
        ),
        found(
            Rule.JUMPED,
            (change == OffsetChange.JUMPED.value) & (F.col("moved") > request.max_jump) & F.lit(request.max_jump > 0),
            *("moved from position ", before, " to ", after, ": ", _number("moved"), " records, more than max_jump="),
            f"{request.max_jump:,}. If it did not read them, they were skipped.",
        ),
        found(
            Rule.BEYOND_LOG_END,
            is_beyond_end(),
            *("position ", after, " is beyond the end of the log, ", _number("log_end"), "; the topic may have been "),
            "created again. The consumer will fall back to auto.offset.reset.",
        ),
        found(
            Rule.STUCK,
            change == OffsetChange.STUCK.value,
            *("still at position ", after, ", though the connector was RUNNING and ", _number("lag")),
            " records are left to read.",
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
            *(
                "the connector no longer exists. Its partitions with an offset in the snapshot before: ",
                _number("gone"),
            ),
            ".",
        ),
        finding(
            Rule.APPEARED,
            request.severity(Rule.APPEARED),
            F.col("appeared") > 0,
            *("partitions that have an offset for the first time: ", _number("appeared"), "."),
        ),
    ]
    return (
        counts.withColumn("found", F.explode(F.array_compact(F.array(*findings))))
        .select("connector", F.lit(None).cast("string").alias("partition"), "found.*")
        .withColumn("message", F.concat(F.lit("`"), "connector", F.lit("`: "), "message"))
    )


def _unread(request: SnapshotRequest, record: SnapshotRecord) -> Iterator[Verdict]:
    severity = request.severity(Rule.UNREAD)
    for name, reason in record.unread.items():
        message = f"`{name}`: its offsets are not in this snapshot, and were not compared: {reason}"
        yield Verdict(Rule.UNREAD, severity, name, None, message)
    for reason in record.unread_logs.values():
        message = f"Positions were not compared with the ends of their logs: {reason}"
        yield Verdict(Rule.UNREAD, severity, "", None, message)


def _number(column: str) -> Column:
    return F.format_number(column, 0)

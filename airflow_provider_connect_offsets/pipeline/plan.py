"""The plan of a change: snapshot + bounds + request (+ a list) → datasets ``offset_plan`` and ``verdicts``."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from functools import reduce

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from airflow_provider_connect_offsets.exceptions import InvalidDocument
from airflow_provider_connect_offsets.offsets.families import (
    ConnectorType,
    Family,
    MirrorSource,
    OffsetReset,
    external_offsets,
)
from airflow_provider_connect_offsets.offsets.plan import Action
from airflow_provider_connect_offsets.offsets.request import Request, To
from airflow_provider_connect_offsets.offsets.verdicts import Rule, Severity, Verdict
from airflow_provider_connect_offsets.pipeline import rules, targets, wanted
from airflow_provider_connect_offsets.pipeline.frames import Subject, shaped, struct_type
from airflow_provider_connect_offsets.workspace.schemas import OFFSET_PLAN, VERDICTS


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What the plan is made from: the datasets ``connectors``, ``connector_offsets`` and ``log_bounds``."""

    connectors: DataFrame
    offsets: DataFrame
    bounds: DataFrame


def plan(spark: SparkSession, snapshot: Snapshot, request: Request) -> tuple[DataFrame, DataFrame]:
    """Plan ``request``; what is wrong with it becomes a verdict, never an exception.

    returns: datasets ``offset_plan`` (with records_again and records_skipped, longs, behind it) and ``verdicts``
    """
    subject = Subject.of(snapshot.connectors, request.connector)
    listed: DataFrame | None = None
    verdicts: list[DataFrame] = []
    try:
        if request.to is To.FILE:
            listed = wanted.from_file(spark, request.reference or "", subject)
        elif request.to is To.CONNECTOR:
            listed = wanted.from_connector(snapshot.offsets, request.reference or "", subject)
    except InvalidDocument as error:
        problem = Verdict(Rule.UNREADABLE, Severity.ERROR, subject.name, None, f"`{subject.name}`: {error}")
        return _empty(spark), _frame(spark, [problem])
    if not subject.family.has_positions and request.to.needs_position:
        return _empty(spark), _frame(spark, [_no_position(subject, request)])
    if listed is not None:
        verdicts = [rules.duplicate_verdicts(listed, subject), rules.problem_verdicts(listed, subject)]
        listed = listed.where("problem is null").dropDuplicates(["partition"])
    rows = planned_rows(snapshot, request, subject, listed).localCheckpoint()
    verdicts += [rules.set_verdicts(rows, request, subject)]
    verdicts += [_frame(spark, _overall_verdicts(rows, snapshot.bounds, request, subject))]
    return rows, shaped(reduce(DataFrame.unionByName, verdicts), VERDICTS)


def planned_rows(snapshot: Snapshot, request: Request, subject: Subject, listed: DataFrame | None) -> DataFrame:
    """Give a row per partition, with what the rules need beside the columns of ``offset_plan``."""
    known = targets.known_partitions(snapshot.offsets, snapshot.bounds, subject)
    if listed is not None:
        joined = targets.with_bounds(targets.with_listed(known, listed, subject), snapshot.bounds, subject)
        aimed = targets.with_selection(joined.withColumn("clamped", F.lit(_FALSE)), request)
    else:
        chosen = targets.with_selection(targets.with_bounds(known, snapshot.bounds, subject), request)
        aimed = targets.with_target(chosen, request, subject)
    topics = snapshot.bounds.select("topic").distinct().withColumn("topic_exists", F.lit(_TRUE))
    placed = aimed.join(topics, "topic", "left").withColumn("topic_exists", F.coalesce("topic_exists", F.lit(_FALSE)))
    decided = _with_action(placed, request, subject)
    return _with_reason(_with_effect(decided), request).where("before is not null or selected")


_TRUE, _FALSE = True, False


def _with_action(rows: DataFrame, request: Request, subject: Subject) -> DataFrame:
    """Add ``action``, and make ``after`` and ``after_position`` of rows that are left alone equal to before."""
    # A position can't be worked out for a partition that does not exist; to=offset names one all the same.
    lost = subject.family.has_positions and not request.to.by_list and request.to is not To.CLEAR
    unreachable = F.lit(lost) & F.col("log_end").isNull() & F.lit(request.to is not To.OFFSET)
    kept = ~F.col("selected") | unreachable | F.col("after").eqNullSafe(F.col("before"))
    if request.to is To.CURRENT:
        kept = F.lit(_TRUE)
    action = (
        F.when(kept, Action.KEEP.value).when(F.col("after").isNull(), Action.CLEAR.value).otherwise(Action.SET.value)
    )
    keeps = F.col("action") == Action.KEEP.value
    return (
        rows.withColumn("action", action)
        .withColumn("after", F.when(keeps, F.col("before")).otherwise(F.col("after")))
        .withColumn("after_position", F.when(keeps, F.col("before_position")).otherwise(F.col("after_position")))
    )


def _with_effect(rows: DataFrame) -> DataFrame:
    """Add records_again and records_skipped: how many offsets lie between here and there, within the log."""
    # Cleared: auto.offset.reset decides, as it did for ``here`` where nothing was stored; from the start is the worst.
    there = F.coalesce("after_position", "log_start")
    low, high = F.greatest(there, "log_start"), F.least("here", "log_end")
    changed = F.col("action") != Action.KEEP.value
    again = F.when(changed & (low < high), high - low).otherwise(F.lit(0))
    skipped = F.when(
        changed & F.col("after_position").isNotNull() & (F.greatest("here", "log_start") < F.least(there, "log_end")),
        F.least(there, "log_end") - F.greatest("here", "log_start"),
    ).otherwise(F.lit(0))
    return rows.withColumn("records_again", F.coalesce(again, F.lit(0)).cast("long")).withColumn(
        "records_skipped", F.coalesce(skipped, F.lit(0)).cast("long")
    )


def _with_reason(rows: DataFrame, request: Request) -> DataFrame:
    asked = f"to={request.to}" + (f" {request.value}" if request.value else "")
    moved: Column = (
        F.when(F.col("records_again") > 0, F.format_string("%d records again", "records_again"))
        .when(F.col("records_skipped") > 0, F.format_string("%d records never", "records_skipped"))
        .otherwise("")
    )
    reason = (
        F.when(~F.col("selected"), "not selected")
        .when((F.col("action") == Action.KEEP.value) & F.col("log_end").isNull(), "left alone")
        .when(F.col("action") == Action.KEEP.value, "stands there already")
        .when(moved == "", F.lit(asked))
        .otherwise(F.concat(F.lit(f"{asked}: "), moved))
    )
    return rows.withColumn("reason", reason)


def _overall_verdicts(rows: DataFrame, bounds: DataFrame, request: Request, subject: Subject) -> list[Verdict]:
    """Verdicts on the connector as a whole."""
    counts = rows.agg(
        F.count(F.when(F.col("selected"), 1)).alias("selected"),
        F.count(F.when(F.col("action") != Action.KEEP.value, 1)).alias("changed"),
    ).first()
    name, found = subject.name, []
    if counts is None or counts["selected"] == 0:
        found.append(_nothing_selected(rows, bounds, request, subject))
    elif counts["changed"] == 0:
        message = f"`{name}`: nothing to change: every selected partition stands there already."
        found.append(Verdict(Rule.NOTHING_TO_CHANGE, Severity.INFO, name, None, message))
    else:
        found += _external(subject)
        found += _from_latest(request, subject)
    return found


def _nothing_selected(rows: DataFrame, bounds: DataFrame, request: Request, subject: Subject) -> Verdict:
    asked = f"topics={request.topics}" if request.topics else "all topics"
    asked += f" partitions={request.partitions}" if request.partitions else ""
    start = f"`{subject.name}`: the selection {asked} matches none of its partitions."
    if request.topics is not None and bounds.where(targets.matches_whole(F.col("topic"), request.topics)).isEmpty():
        names = [
            row["topic"] for row in rows.select("topic").where("topic is not null").distinct().limit(1000).collect()
        ]
        close = difflib.get_close_matches(request.topics, names, n=3)
        hint = f" Did you mean {', '.join(f'`{topic}`' for topic in close)}?" if close else ""
        message = f"{start} No topic of the cluster has such a name.{hint}"
        return Verdict(Rule.UNKNOWN_TOPIC, Severity.ERROR, subject.name, None, message)
    return Verdict(Rule.NOTHING_SELECTED, Severity.ERROR, subject.name, None, f"{start} Widen it.")


def _no_position(subject: Subject, request: Request) -> Verdict:
    message = (
        f"`{subject.name}` is a {subject.family.name}: to={request.to} needs positions in a Kafka log, but "
        f"{subject.family.why_no_position}. Use to=clear, to=file or to=connector."
    )
    return Verdict(Rule.NO_POSITION, Severity.ERROR, subject.name, None, message)


def _external(subject: Subject) -> list[Verdict]:
    where = external_offsets(subject.connector_class)
    if where is not None:
        message = (
            f"`{subject.name}` ({subject.connector_class}) keeps its position in {where} as well; Connect's offsets "
            "alone may not move it."
        )
        return [Verdict(Rule.EXTERNAL_OFFSETS, Severity.WARNING, subject.name, None, message)]
    if subject.type is ConnectorType.SOURCE and subject.family.name == Family.name:
        message = f"`{subject.name}` ({subject.connector_class}): what its offsets mean is not known here, nor checked."
        return [Verdict(Rule.EXTERNAL_OFFSETS, Severity.INFO, subject.name, None, message)]
    return []


def _from_latest(request: Request, subject: Subject) -> list[Verdict]:
    reset = subject.family.offset_reset(subject.config)
    if subject.family.name != MirrorSource.name or not (request.to is To.LATEST or reset is OffsetReset.LATEST):
        return []
    why = (
        "to=latest leaves out all that is not yet replicated"
        if request.to is To.LATEST
        else "source.consumer.auto.offset.reset=latest starts new partitions at the end"
    )
    message = f"`{subject.name}`: {why}: at-least-once is given up."
    return [Verdict(Rule.FROM_LATEST, Severity.WARNING, subject.name, None, message)]


def _frame(spark: SparkSession, verdicts: list[Verdict]) -> DataFrame:
    rows = [(v.rule, v.severity.value, v.connector, v.partition, v.message) for v in verdicts]
    return spark.createDataFrame([(str(r), *rest) for r, *rest in rows], struct_type(VERDICTS))


def _empty(spark: SparkSession) -> DataFrame:
    nothing = spark.createDataFrame([], struct_type(OFFSET_PLAN))
    zero = F.lit(0).cast("long")
    return nothing.withColumn("records_again", zero).withColumn("records_skipped", zero)

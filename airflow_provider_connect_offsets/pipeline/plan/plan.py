"""Plan a change of a connector's offsets: datasets ``offset_plan`` and ``verdicts`` from a snapshot and a request."""

from __future__ import annotations

from dataclasses import dataclass, replace

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from airflow_provider_connect_offsets.exceptions import InvalidDocument
from airflow_provider_connect_offsets.offsets.requests.request import Request, To
from airflow_provider_connect_offsets.offsets.verdicts import Verdict
from airflow_provider_connect_offsets.pipeline.frames import (
    PlanFrames,
    Subject,
    few_rows,
    shaped,
    struct_type,
    verdict_frame,
)
from airflow_provider_connect_offsets.pipeline.plan import lists, overall, rules, slots, tables, targets
from airflow_provider_connect_offsets.pipeline.plan.counts import Counts, count
from airflow_provider_connect_offsets.pipeline.plan.effects import with_effects
from airflow_provider_connect_offsets.workspace.schemas import OFFSET_PLAN


@dataclass(frozen=True, slots=True)
class Planned:
    """A plan.

    Attributes:
        rows: dataset ``offset_plan``
        verdicts: dataset ``verdicts``
        counts: numbers of the plan
        effects: the rows with all columns of ``effects``; None if the request was refused
        cached: frames that Spark keeps in memory
    """

    rows: DataFrame
    verdicts: DataFrame
    counts: Counts
    effects: DataFrame | None = None
    cached: tuple[DataFrame, ...] = ()

    def forget(self) -> None:
        """Free what Spark keeps of the plan in memory; its frames can still be used, but are computed anew."""
        for frame in self.cached:
            frame.unpersist()


def plan(spark: SparkSession, snapshot: PlanFrames, request: Request) -> Planned:
    """Plan ``request``; an error in it becomes a verdict, not an exception."""
    subject = Subject.of(snapshot.connectors, request.connector)
    refusal = overall.refusal(spark, request, subject)
    if refusal is not None:
        return _no_plan(spark, refusal)
    if not (request.to.by_list or overall.is_in_source(request, subject)):
        return _judge(spark, snapshot, request, subject, targets.target_rows(snapshot, request, subject))
    try:
        listed = _listed(spark, snapshot, request, subject)
    except InvalidDocument as error:
        return _no_plan(spark, overall.unreadable(subject, str(error)))
    rows = targets.listed_rows(snapshot, request, subject, listed.where("problem is null"))
    flaws = rules.problem_verdicts(listed, subject)
    planned = _judge(spark, snapshot, request, subject, rows, flawed=flaws.count())
    return replace(planned, verdicts=planned.verdicts.unionByName(flaws), cached=(*planned.cached, listed))


def _listed(spark: SparkSession, snapshot: PlanFrames, request: Request, subject: Subject) -> DataFrame:
    if overall.is_in_source(request, subject):
        return lists.at_source_position(spark, snapshot.offsets, request.value, subject)
    if request.to is To.QUERY:
        return tables.from_query(spark, request.reference or "", request.columns, subject)
    if request.to is To.FILE and (request.columns or lists.is_json_lines(request.reference or "")):
        return tables.from_table(spark, request.reference or "", request.columns, subject)
    if request.to is To.FILE:
        return lists.from_file(spark, request.reference or "", subject)
    return lists.from_connector(snapshot.offsets, request.reference or "", subject)


def _judge(
    spark: SparkSession, snapshot: PlanFrames, request: Request, subject: Subject, rows: DataFrame, *, flawed: int = 0
) -> Planned:
    named = rows.withColumn("connector", F.lit(subject.name)).withColumn("family", F.lit(subject.family.name))
    # Five actions use these rows; each would run the Python functions again.
    decided = with_effects(named, request, subject).cache()
    counts = count(decided)
    similar = overall.similar_topics(snapshot, subject, overall.unknown_topics(decided, counts))
    verdicts = rules.row_verdicts(decided, request, subject, similar)
    if slots.are_concerned(subject):
        verdicts = verdicts.unionByName(slots.slot_verdicts(snapshot, subject, decided))
    whole = overall.whole_verdicts(snapshot, request, subject, counts, flawed=flawed)
    if whole:
        verdicts = verdicts.unionByName(verdict_frame(spark, whole))
    return Planned(shaped(decided, OFFSET_PLAN), verdicts, counts, decided, (decided,))


def _no_plan(spark: SparkSession, reason: Verdict) -> Planned:
    nothing = few_rows(spark, [], struct_type(OFFSET_PLAN))
    return Planned(nothing, verdict_frame(spark, [reason]), Counts())

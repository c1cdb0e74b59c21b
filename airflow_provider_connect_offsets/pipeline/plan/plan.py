"""Plan changes of connectors' offsets: datasets ``offset_plan`` and ``verdicts`` from a snapshot and requests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from airflow_provider_connect_offsets.exceptions import InvalidDocument
from airflow_provider_connect_offsets.offsets.requests.place import To
from airflow_provider_connect_offsets.offsets.requests.request import Request
from airflow_provider_connect_offsets.offsets.verdicts import Verdict
from airflow_provider_connect_offsets.pipeline.frames import (
    PlanFrames,
    conform,
    make_frame,
    struct_type,
    verdict_frame,
)
from airflow_provider_connect_offsets.pipeline.plan import lists, overall, rules, slots, tables, targets
from airflow_provider_connect_offsets.pipeline.plan.counts import Counts, count
from airflow_provider_connect_offsets.pipeline.plan.effects import with_effects
from airflow_provider_connect_offsets.pipeline.plan.lists import Listed
from airflow_provider_connect_offsets.pipeline.plan.subjects import (
    Subjects,
    group_subjects,
    is_in_source,
    read_subjects,
)
from airflow_provider_connect_offsets.workspace.schemas import OFFSET_PLAN

# Most groups of connectors planned at the same time. A plan spends most of its time in one thread of Spark's driver.
AT_ONCE = 4


@dataclass(frozen=True, slots=True)
class Planned:
    """The plans of connectors that were planned together.

    Attributes:
        rows: dataset ``offset_plan``
        verdicts: dataset ``verdicts``
        counts: numbers of each connector's plan
        effects: the rows with all columns of ``effects``; None if all requests were refused
        cached: frames that Spark keeps in memory
    """

    rows: DataFrame
    verdicts: DataFrame
    counts: Mapping[str, Counts]
    effects: DataFrame | None = None
    cached: tuple[DataFrame, ...] = ()

    def with_verdicts(self, verdicts: DataFrame) -> Planned:
        """Return a copy with these verdicts added."""
        return replace(self, verdicts=self.verdicts.unionByName(verdicts))

    def forget(self) -> None:
        """Free what Spark keeps of the plans in memory; the frames can still be used, but are computed again."""
        for frame in self.cached:  # without blocking, Spark logs an error with a stack trace if it ends meanwhile
            frame.unpersist(blocking=True)


def plans(spark: SparkSession, snapshot: PlanFrames, requests: Sequence[Request]) -> Iterator[Planned]:
    """Plan the requests, as many connectors together as possible; an error in one becomes a verdict, not an exception.

    Spark's fixed cost of about a second is then paid for a few plans only, however many connectors there are.

    Raises:
        DatasetError: the snapshot lacks a connector
    """
    subjects = read_subjects(snapshot.connectors, (request.connector for request in requests))
    with ThreadPoolExecutor(max_workers=AT_ONCE) as pool:
        yield from pool.map(lambda group: _plan(spark, snapshot, *group), group_subjects(requests, subjects))


def plan(spark: SparkSession, snapshot: PlanFrames, request: Request) -> Planned:
    """Plan the request of one connector, as ``plans`` does."""
    (planned,) = plans(spark, snapshot, [request])
    return planned


def _plan(spark: SparkSession, snapshot: PlanFrames, request: Request, subjects: Subjects) -> Planned:
    refused = [refusal for one in subjects.members if (refusal := overall.refusal(spark, request, one)) is not None]
    accepted, listed = subjects.without(refused), None
    if accepted.members and (request.to.by_list or is_in_source(request, accepted.kind)):
        listed, unread = _read_listed(spark, snapshot, request, accepted)
        accepted, refused = accepted.without(unread), [*refused, *unread]
    if accepted.members:
        planned = _judge(spark, snapshot, request, accepted, listed)
    else:
        planned = Planned(make_frame(spark, [], struct_type(OFFSET_PLAN)), verdict_frame(spark, []), {})
    counts = {name: planned.counts.get(name, Counts()) for name in subjects.names}
    return replace(planned.with_verdicts(verdict_frame(spark, refused)) if refused else planned, counts=counts)


def _read_listed(
    spark: SparkSession, snapshot: PlanFrames, request: Request, subjects: Subjects
) -> tuple[Listed | None, list[Verdict]]:
    """Read a request's list (None if it can't be read), and judge the connectors that can't use it."""
    try:
        listed = _read_list(spark, snapshot, request, subjects)
    except InvalidDocument as error:
        return None, [overall.verdict_on_unreadable(one, str(error)) for one in subjects.members]
    of_whom = {To.FILE: f"the file {request.reference}", To.QUERY: "the query"}.get(request.to)
    missing = [one for one in subjects.members if of_whom is not None and one.name not in listed.flawed]
    what = "offsets" if request.to is To.FILE and not request.reads_table else "rows"
    problem = f"{of_whom} has no {what} of this {subjects.kind.noun}"
    return listed, [overall.verdict_on_unreadable(one, problem) for one in missing]


def _read_list(spark: SparkSession, snapshot: PlanFrames, request: Request, subjects: Subjects) -> Listed:
    reference = request.reference or ""
    if is_in_source(request, subjects.kind):
        return Listed.of(lists.at_source_position(spark, snapshot.offsets, request.value, subjects))
    if request.to is To.QUERY:
        return tables.from_query(spark, request, subjects)
    if request.reads_table:
        return tables.from_table(spark, reference, request.columns, subjects)
    if request.to is To.FILE:
        return lists.from_file(spark, reference, subjects)
    return Listed.of(lists.from_connector(snapshot.offsets, reference, subjects))


def _judge(
    spark: SparkSession, snapshot: PlanFrames, request: Request, subjects: Subjects, listed: Listed | None
) -> Planned:
    kind = subjects.kind
    if listed is None:
        rows = targets.target_rows(snapshot, request, subjects)
    else:
        rows = targets.listed_rows(snapshot, request, subjects, listed.entries.where("problem is null"))
    # Cached, as four actions use these rows, and each would run the Python functions again.
    decided = with_effects(rows.withColumn("family", F.lit(kind.family.name)), request, kind).cache()
    counts = {name: Counts() for name in subjects.names} | count(decided)
    verdicts = rules.row_verdicts(overall.with_existence(decided, snapshot, subjects, counts), request, kind)
    if kind.reads_slot:
        verdicts = verdicts.unionByName(slots.slot_verdicts(snapshot, subjects, decided))
    flawed = {} if listed is None else listed.flawed
    whole = overall.judge_whole(snapshot, request, subjects, counts, flawed=flawed)
    planned = Planned(conform(decided, OFFSET_PLAN), verdicts, counts, decided, (decided,))
    if whole:
        planned = planned.with_verdicts(verdict_frame(spark, whole))
    if listed is None:
        return planned
    cached = (*planned.cached, listed.entries)
    return replace(planned.with_verdicts(rules.problem_verdicts(listed.entries)), cached=cached)

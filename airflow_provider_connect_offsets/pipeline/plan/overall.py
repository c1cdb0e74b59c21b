"""Verdicts on the connector as a whole, most of them from counts over the plan's rows."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from airflow_provider_connect_offsets.offsets.families import (
    ConnectorType,
    Family,
    MirrorSource,
    OffsetReset,
    external_offsets,
)
from airflow_provider_connect_offsets.offsets.requests.request import Request, To
from airflow_provider_connect_offsets.offsets.verdicts import Rule, Severity, Verdict
from airflow_provider_connect_offsets.pipeline.frames import PlanFrames, Subject, matches_whole
from airflow_provider_connect_offsets.pipeline.jvm import pattern_problem
from airflow_provider_connect_offsets.pipeline.plan.counts import Counts
from airflow_provider_connect_offsets.pipeline.plan.rules import did_you_mean
from airflow_provider_connect_offsets.pipeline.plan.targets import is_consumed

# Names are asked after, not listed: nobody reads more, and nothing of any size comes to the driver.
MOST_NAMES = 20
# A source connector's own property (the worker's is offset.storage.topic); standalone workers ignore it.
OWN_TOPIC = "offsets.storage.topic"


def refusal(spark: SparkSession, request: Request, subject: Subject) -> Verdict | None:
    """Say why there can be no plan at all; None where there can."""
    if not subject.family.has_positions and request.to.needs_position:
        message = (
            f"to={request.to} needs positions in a Kafka log, and this connector ({subject.connector_class}) has none: "
            f"{subject.family.why_no_position}. Use to=clear, to=file or to=connector."
        )
        return _verdict(Rule.NO_POSITION, Severity.ERROR, subject, message)
    problem = None if request.topics is None else pattern_problem(spark, request.topics)
    if problem is not None:
        message = f"topics={request.topics} is no pattern to Java, which matches the names: {problem}. Correct it."
        return _verdict(Rule.NOTHING_SELECTED, Severity.ERROR, subject, message)
    return None


def unreadable(subject: Subject, problem: str) -> Verdict:
    """The list that was asked for is none."""
    return _verdict(Rule.UNREADABLE, Severity.ERROR, subject, f"{problem}.")


def whole_verdicts(
    snapshot: PlanFrames, request: Request, subject: Subject, counts: Counts, *, flawed: int
) -> list[Verdict]:
    """Judge the plan as a whole. flawed: how many entries of a list could not be read at all."""
    if counts.selected == 0:
        return [] if flawed else [_nothing_selected(snapshot, request, subject)]
    found = [*_missing_partitions(request, subject, counts), *_own_topic(snapshot, subject, counts)]
    if counts.changed == 0:
        return [*found, _nothing_to_change(subject, counts)]
    return [*found, *_external(subject), *_from_latest(request, subject)]


def unknown_topics(rows: DataFrame, counts: Counts) -> list[str]:
    """Names of topics that were selected and are not in the cluster; a few where there are many."""
    if not counts.unknown:
        return []
    unknown = rows.where("selected and topic is not null and not coalesce(topic_exists, false)").select("topic")
    return [row["topic"] for row in unknown.distinct().limit(MOST_NAMES).collect()]


def similar_topics(snapshot: PlanFrames, subject: Subject, names: list[str]) -> Mapping[str, tuple[str, ...]]:
    """For each of ``names`` up to three topics that the connector reads and that are spelled much like it."""
    if not names:
        return {}
    asked = F.explode(F.array(*[F.lit(name) for name in names])).alias("asked")
    topics = snapshot.bounds.where(F.coalesce(is_consumed(subject), F.expr("true"))).select("topic").distinct()
    distance = F.levenshtein(F.lower("asked"), F.lower("topic"))
    nearest = (
        topics.select("topic", asked)
        .withColumn("distance", distance)
        .where(F.col("distance") <= F.greatest(F.lit(2), F.length("asked") / 4))
        .withColumn("rank", F.row_number().over(Window.partitionBy("asked").orderBy("distance", "topic")))
        .where("rank <= 3")
        .orderBy("asked", "rank")
        .collect()
    )
    return {name: tuple(row["topic"] for row in nearest if row["asked"] == name) for name in names}


def _nothing_selected(snapshot: PlanFrames, request: Request, subject: Subject) -> Verdict:
    if request.topics is None:
        selection = f"partitions={request.partitions}" if request.partitions else "all topics"
        message = f"{selection} selects nothing: it reads no such partition and has no offset of one."
        return _verdict(Rule.NOTHING_SELECTED, Severity.ERROR, subject, message)
    matching = snapshot.bounds.where(matches_whole(F.col("topic"), request.topics)).select("topic").distinct()
    names = [row["topic"] for row in matching.orderBy("topic").limit(MOST_NAMES).collect()]
    if not names:
        hint = did_you_mean(similar_topics(snapshot, subject, [request.topics]).get(request.topics, ()))
        message = f"the cluster has no topic `{request.topics}`. {hint}Nothing is selected; correct topics."
        return _verdict(Rule.UNKNOWN_TOPIC, Severity.ERROR, subject, message)
    selection = f"topics={request.topics}" + (f" partitions={request.partitions}" if request.partitions else "")
    message = (
        f"{selection} selects nothing: the cluster has {', '.join(f'`{name}`' for name in names)}, but the connector "
        "reads no such partition and has no offset of one."
    )
    return _verdict(Rule.NOTHING_SELECTED, Severity.ERROR, subject, message)


def _missing_partitions(request: Request, subject: Subject, counts: Counts) -> list[Verdict]:
    """A number above all there are is as likely a slip as a generous range: worth a look, no more."""
    if request.partitions is None or counts.highest_partition is None:
        return []
    asked = max(high for _, high in request.partitions.ranges)
    if asked <= counts.highest_partition:
        return []
    message = f"partitions={request.partitions} goes up to {asked}; the highest selected is {counts.highest_partition}."
    return [_verdict(Rule.UNKNOWN_PARTITION, Severity.WARNING, subject, message)]


def _nothing_to_change(subject: Subject, counts: Counts) -> Verdict:
    there = counts.selected - counts.stuck
    message = f"nothing to change: {there} of {counts.selected} selected partitions stand there already"
    message += f", {counts.stuck} can't be moved." if counts.stuck else "."
    return _verdict(Rule.NOTHING_TO_CHANGE, Severity.INFO, subject, message)


def _external(subject: Subject) -> list[Verdict]:
    where = external_offsets(subject.connector_class)
    if where is not None:
        message = (
            f"{subject.connector_class} keeps its position in {where} too, so that Connect's offsets alone may not "
            "move it. Read its manual before you go on."
        )
        return [_verdict(Rule.EXTERNAL_OFFSETS, Severity.WARNING, subject, message)]
    if subject.type is ConnectorType.SOURCE and subject.family.name == Family.name:
        message = (
            f"what the offsets of {subject.connector_class} mean is not known here, so they are not checked, and it "
            "may keep its position elsewhere too."
        )
        return [_verdict(Rule.EXTERNAL_OFFSETS, Severity.INFO, subject, message)]
    return []


def _own_topic(snapshot: PlanFrames, subject: Subject, counts: Counts) -> list[Verdict]:
    """Two defects of Kafka (seen on 4.3.1): it does not look into the worker's topic, and can't clear exactly-once."""
    topic = subject.config.get(OWN_TOPIC)
    if topic is None or subject.type is not ConnectorType.SOURCE:
        return []
    found = []
    missing = snapshot.offsets.where((F.col("connector") == subject.name) & F.col("offset").isNull()).count()
    if missing:
        found.append(
            f"it has an offsets topic of its own, `{topic}`, which holds nothing for {missing} of its partitions. "
            "Kafka does not fall back on what the worker's topic holds for them: it starts them anew. Give them their "
            "offsets first."
        )
    if counts.clear:
        found.append(
            f"it has an offsets topic of its own, `{topic}`. Where workers run with exactly.once.source.support, "
            "Kafka answers a removal of offsets only after 90 s and leaves it half done; it would be put back then."
        )
    return [_verdict(Rule.OWN_OFFSETS_TOPIC, Severity.WARNING, subject, text) for text in found]


def _from_latest(request: Request, subject: Subject) -> list[Verdict]:
    if subject.family.name != MirrorSource.name:
        return []
    if request.to is To.LATEST:
        why = "to=latest leaves out all that is not replicated yet"
    elif subject.family.offset_reset(subject.config) is OffsetReset.LATEST:
        why = "source.consumer.auto.offset.reset=latest starts at the end wherever no offset is stored"
    else:
        return []
    return [_verdict(Rule.FROM_LATEST, Severity.WARNING, subject, f"{why}, which gives up at-least-once.")]


def _verdict(rule: Rule, severity: Severity, subject: Subject, message: str) -> Verdict:
    return Verdict(rule, severity, subject.name, None, f"`{subject.name}`: {message}")

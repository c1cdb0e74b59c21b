"""Verdicts on the connector as a whole, most of them from counts of the plan's rows."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from airflow_provider_connect_offsets.exceptions import InvalidRequest
from airflow_provider_connect_offsets.offsets.families import (
    ConnectorType,
    Family,
    MirrorSource,
    OffsetReset,
)
from airflow_provider_connect_offsets.offsets.families.elsewhere import kept_elsewhere
from airflow_provider_connect_offsets.offsets.requests.request import Request, To
from airflow_provider_connect_offsets.offsets.verdicts import Rule, Severity, Verdict
from airflow_provider_connect_offsets.pipeline.frames import PlanFrames, Subject, matches_whole
from airflow_provider_connect_offsets.pipeline.jvm import pattern_problem
from airflow_provider_connect_offsets.pipeline.plan.counts import Counts
from airflow_provider_connect_offsets.pipeline.plan.rules import did_you_mean
from airflow_provider_connect_offsets.pipeline.plan.targets import is_consumed

# Names in a message, and unknown topics for which similar ones are looked up.
MOST_NAMES = 20
# A property of source connectors (the worker's is offset.storage.topic); standalone workers ignore it.
OWN_TOPIC = "offsets.storage.topic"
# State of a consumer group without members in a snapshot.
INACTIVE = "STOPPED"
# How Connect names the consumer group of a sink, unless it is configured otherwise (``SinkUtils.consumerGroupId``).
OF_SINK = "connect-"


def refusal(spark: SparkSession, request: Request, subject: Subject) -> Verdict | None:
    """The verdict on a request that can't be planned; None if it can."""
    misfit = _misfit(request, subject)
    if misfit is not None:
        return _verdict(Rule.NO_POSITION, Severity.ERROR, subject, misfit)
    problem = None if request.topics is None else pattern_problem(spark, request.topics)
    if problem is not None:
        message = f"topics={request.topics} is no regular expression of Java, which matches names: {problem}."
        return _verdict(Rule.NOTHING_SELECTED, Severity.ERROR, subject, message)
    return None


def is_in_source(request: Request, subject: Subject) -> bool:
    """Whether a request names a position in the log of the system that the connector reads."""
    return request.to is To.OFFSET and subject.family.source_position is not None


def _misfit(request: Request, subject: Subject) -> str | None:
    """Say why the connector can't resume at such a position; None if it can."""
    if is_in_source(request, subject):
        try:
            subject.family.offset_from(request.value)
        except InvalidRequest as error:
            return f"to=offset: {error}."
        return None
    if request.to is To.OFFSET and request.amount is None and subject.family.has_positions:
        return f"to=offset: {request.value!r} is no position in a Kafka log, which is a number, 0 or greater."
    if subject.family.has_positions or not request.to.needs_position:
        return None
    also = f"to=offset with {subject.family.source_position}, " if subject.family.source_position else ""
    return (
        f"to={request.to} needs positions in a Kafka log, and this connector ({subject.connector_class}) has none: "
        f"{subject.family.why_no_position}. Use {also}to=clear, to=file or to=connector."
    )


def unreadable(subject: Subject, problem: str) -> Verdict:
    """The verdict on a list that can't be read."""
    return _verdict(Rule.UNREADABLE, Severity.ERROR, subject, f"{problem}.")


def whole_verdicts(
    snapshot: PlanFrames, request: Request, subject: Subject, counts: Counts, *, flawed: int
) -> list[Verdict]:
    """Judge the plan as a whole.

    Args:
        snapshot: the snapshot
        request: the request
        subject: the connector
        counts: of the plan's rows
        flawed: how many entries of a list are not offsets
    """
    if counts.selected == 0:
        return [] if flawed else [_nothing_selected(snapshot, request, subject)]
    verdicts = [*_missing_partitions(request, subject, counts), *_own_topic(snapshot, subject, counts)]
    if counts.changed == 0:
        return [*verdicts, _nothing_to_change(subject, counts)]
    return [*verdicts, *_external(subject), *_from_latest(request, subject), *_of_group(subject)]


def unknown_topics(rows: DataFrame, counts: Counts) -> list[str]:
    """Selected topics that the cluster does not have; at most ``MOST_NAMES``."""
    if not counts.unknown:
        return []
    unknown = rows.where("selected and topic is not null and not coalesce(topic_exists, false)").select("topic")
    return [row["topic"] for row in unknown.distinct().limit(MOST_NAMES).collect()]


def similar_topics(snapshot: PlanFrames, subject: Subject, names: list[str]) -> Mapping[str, tuple[str, ...]]:
    """For each of ``names`` up to three topics with a similar name that the connector reads."""
    if not names:
        return {}
    unknown = F.explode(F.array(*[F.lit(name) for name in names])).alias("unknown")
    topics = snapshot.bounds.where(F.coalesce(is_consumed(subject), F.expr("true"))).select("topic").distinct()
    distance = F.levenshtein(F.lower("unknown"), F.lower("topic"))
    nearest = (
        topics.select("topic", unknown)
        .withColumn("distance", distance)
        .where(F.col("distance") <= F.greatest(F.lit(2), F.length("unknown") / 4))
        .withColumn("rank", F.row_number().over(Window.partitionBy("unknown").orderBy("distance", "topic")))
        .where("rank <= 3")
        .orderBy("unknown", "rank")
        .collect()
    )
    return {name: tuple(row["topic"] for row in nearest if row["unknown"] == name) for name in names}


def _nothing_selected(snapshot: PlanFrames, request: Request, subject: Subject) -> Verdict:
    if request.topics is None:
        selection = f"partitions={request.partitions}" if request.partitions else "all topics"
        message = f"{selection} selects nothing: the {subject.noun} {_reads(subject)}"
        return _verdict(Rule.NOTHING_SELECTED, Severity.ERROR, subject, message)
    matching = snapshot.bounds.where(matches_whole(F.col("topic"), request.topics)).select("topic").distinct()
    names = [row["topic"] for row in matching.orderBy("topic").limit(MOST_NAMES).collect()]
    if not names:
        hint = did_you_mean(similar_topics(snapshot, subject, [request.topics]).get(request.topics, ()))
        message = f"the cluster has no topic `{request.topics}`. {hint}Nothing is selected; correct topics."
        return _verdict(Rule.UNKNOWN_TOPIC, Severity.ERROR, subject, message)
    selection = f"topics={request.topics}" + (f" partitions={request.partitions}" if request.partitions else "")
    message = (
        f"{selection} selects nothing: the cluster has {', '.join(f'`{name}`' for name in names)}, but the "
        f"{subject.noun} {_reads(subject)}"
    )
    return _verdict(Rule.NOTHING_SELECTED, Severity.ERROR, subject, message)


def _reads(subject: Subject) -> str:
    if not subject.family.lists_topics:
        return "has no committed offset of such a topic. To commit its first one, list it with to=file."
    return "reads no such partition and has no offset of one."


def _missing_partitions(request: Request, subject: Subject, counts: Counts) -> list[Verdict]:
    """A warning only: a number above all partitions may be a slip or a generous range."""
    if request.partitions is None or counts.highest_partition is None:
        return []
    highest = max(high for _, high in request.partitions.ranges)
    if highest <= counts.highest_partition:
        return []
    message = (
        f"partitions={request.partitions} goes up to {highest}; the highest selected is {counts.highest_partition}."
    )
    return [_verdict(Rule.UNKNOWN_PARTITION, Severity.WARNING, subject, message)]


def _nothing_to_change(subject: Subject, counts: Counts) -> Verdict:
    unchanged = counts.selected - counts.stuck
    message = f"nothing to change: {unchanged} of {counts.selected} selected partitions are already there"
    message += f", {counts.stuck} can't be moved." if counts.stuck else "."
    return _verdict(Rule.NOTHING_TO_CHANGE, Severity.INFO, subject, message)


def _external(subject: Subject) -> list[Verdict]:
    elsewhere = kept_elsewhere(subject.connector_class)
    if elsewhere is not None:
        message = (
            f"{subject.connector_class} also keeps its position in {elsewhere.where}, so Connect's offsets alone may "
            f"not move it: {elsewhere.effect}"
        )
        return [_verdict(Rule.EXTERNAL_OFFSETS, Severity.WARNING, subject, message)]
    if subject.type is ConnectorType.SOURCE and subject.family.name == Family.name:
        message = (
            f"the meaning of the offsets of {subject.connector_class} is unknown, so they are not checked, and it may "
            "keep its position elsewhere, too."
        )
        return [_verdict(Rule.EXTERNAL_OFFSETS, Severity.INFO, subject, message)]
    return []


def _of_group(subject: Subject) -> list[Verdict]:
    """A group with members commits over what is written, and a sink's group is changed by its connector."""
    if subject.type is not ConnectorType.GROUP:
        return []
    verdicts = []
    if subject.state != INACTIVE:
        message = (
            "the consumer group has members, which would commit over what is written; Kafka refuses that. Stop its "
            "applications, and trigger the change again."
        )
        verdicts.append(_verdict(Rule.ACTIVE_GROUP, Severity.ERROR, subject, message))
    if subject.name.startswith(OF_SINK):
        message = (
            f"a sink connector `{subject.name.removeprefix(OF_SINK)}` would have this consumer group. If there is one, "
            "use connector_offsets_change, which also stops and resumes the connector."
        )
        verdicts.append(_verdict(Rule.CONNECTORS_GROUP, Severity.WARNING, subject, message))
    return verdicts


def _own_topic(snapshot: PlanFrames, subject: Subject, counts: Counts) -> list[Verdict]:
    """Two defects of Kafka (observed with 4.3.1): it ignores the worker's topic, and can't clear with exactly-once."""
    topic = subject.config.get(OWN_TOPIC)
    if topic is None or subject.type is not ConnectorType.SOURCE:
        return []
    texts = []
    missing = snapshot.offsets.where((F.col("connector") == subject.name) & F.col("offset").isNull()).count()
    if missing:
        texts.append(
            f"it has an offsets topic of its own, `{topic}`, which has no offset for {missing} of its partitions. "
            "Kafka does not fall back to the worker's topic: it starts them anew. Set their offsets first."
        )
    if counts.clear:
        texts.append(
            f"it has an offsets topic of its own, `{topic}`. Where workers run with exactly.once.source.support, "
            "Kafka answers a removal of offsets only after 90 s and leaves it half done; the removal is then undone."
        )
    return [_verdict(Rule.OWN_OFFSETS_TOPIC, Severity.WARNING, subject, text) for text in texts]


def _from_latest(request: Request, subject: Subject) -> list[Verdict]:
    if subject.family.name != MirrorSource.name:
        return []
    if request.to is To.LATEST:
        cause = "to=latest leaves out all records that are not replicated yet"
    elif subject.family.offset_reset(subject.config) is OffsetReset.LATEST:
        cause = "source.consumer.auto.offset.reset=latest starts at the log end if no offset is stored"
    else:
        return []
    return [_verdict(Rule.FROM_LATEST, Severity.WARNING, subject, f"{cause}, which gives up at-least-once.")]


def _verdict(rule: Rule, severity: Severity, subject: Subject, message: str) -> Verdict:
    return Verdict(rule, severity, subject.name, None, f"`{subject.name}`: {message}")

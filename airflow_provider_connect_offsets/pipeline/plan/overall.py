"""Verdicts on the connector as a whole, most of them from counts of the plan's rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from airflow_provider_connect_offsets.exceptions import InvalidRequest
from airflow_provider_connect_offsets.offsets.families import (
    ConnectorType,
    Family,
    MirrorSource,
    OffsetReset,
)
from airflow_provider_connect_offsets.offsets.families.elsewhere import find_elsewhere
from airflow_provider_connect_offsets.offsets.requests.place import To
from airflow_provider_connect_offsets.offsets.requests.request import Request
from airflow_provider_connect_offsets.offsets.verdicts import Rule, Severity, Verdict
from airflow_provider_connect_offsets.pipeline.frames import PlanFrames, make_frame, matches_whole
from airflow_provider_connect_offsets.pipeline.jvm import pattern_problem
from airflow_provider_connect_offsets.pipeline.plan.counts import Counts
from airflow_provider_connect_offsets.pipeline.plan.subjects import Subject, Subjects, is_consumed, is_in_source

# Most names in a message, and most unknown topics of a connector for which similar names are looked up.
MOST_NAMES = 20
# A property of source connectors (the worker's is offset.storage.topic); standalone workers ignore it.
OWN_TOPIC = "offsets.storage.topic"
# State of a consumer group without members in a snapshot.
INACTIVE = "STOPPED"
# How Connect names the consumer group of a sink, unless it is configured otherwise (``SinkUtils.consumerGroupId``).
OF_SINK = "connect-"


def refusal(spark: SparkSession, request: Request, subject: Subject) -> Verdict | None:
    """Return the verdict on a request that can't be planned; None if it can be planned."""
    misfit = _misfit(request, subject)
    if misfit is not None:
        return _verdict(Rule.NO_POSITION, Severity.ERROR, subject, misfit)
    problem = None if request.topics is None else pattern_problem(spark, request.topics)
    if problem is not None:
        message = f"topics={request.topics} is not a valid regular expression (Java syntax): {problem}."
        return _verdict(Rule.NOTHING_SELECTED, Severity.ERROR, subject, message)
    return None


def _misfit(request: Request, subject: Subject) -> str | None:
    """Say why the connector can't resume where the request says; None if it can."""
    if is_in_source(request, subject):
        try:
            subject.family.offset_from(request.value)
        except InvalidRequest as error:
            return f"to=offset: {error}."
        return None
    if request.to is To.OFFSET and request.amount is None and subject.family.has_positions:
        return f"to=offset: {request.value!r} is not a position in a Kafka log. Give a whole number, 0 or greater."
    if subject.family.has_positions or not request.to.needs_position:
        return None
    also = f"to=offset with {subject.family.source_position}, " if subject.family.source_position else ""
    return (
        f"to={request.to} needs positions in a Kafka log, but this connector ({subject.connector_class}) has none: "
        f"{subject.family.why_no_position}. Use {also}to=clear, to=file or to=connector."
    )


def verdict_on_unreadable(subject: Subject, problem: str) -> Verdict:
    """Return the verdict on a list that can't be read."""
    return _verdict(Rule.UNREADABLE, Severity.ERROR, subject, f"{problem}.")


def judge_whole(
    snapshot: PlanFrames,
    request: Request,
    subjects: Subjects,
    counts: Mapping[str, Counts],
    *,
    flawed: Mapping[str, int],
) -> list[Verdict]:
    """Judge the plan of each connector as a whole.

    Args:
        snapshot: the snapshot
        request: the request
        subjects: the connectors
        counts: counts of each plan's rows
        flawed: how many entries of each connector's list are not offsets
    """
    selecting = [subject for subject in subjects.members if counts[subject.name].selected]
    others = [one for one in subjects.members if not counts[one.name].selected and not flawed.get(one.name)]
    verdicts = [*_judge_empty_selection(snapshot, request, others), *_warn_of_own_topics(snapshot, selecting, counts)]
    for subject in selecting:
        own = counts[subject.name]
        verdicts += _warn_of_missing_partitions(request, subject, own)
        if own.changed_count == 0:
            verdicts.append(_verdict_on_no_change(subject, own))
        else:
            verdicts += [*_warn_of_external(subject), *_warn_of_latest(request, subject), *_of_group(subject)]
    return verdicts


def with_existence(
    rows: DataFrame, snapshot: PlanFrames, subjects: Subjects, counts: Mapping[str, Counts]
) -> DataFrame:
    """Add what verdicts say about topics that the cluster does not have.

    Args:
        rows: the frame of ``effects``
        snapshot: the snapshot
        subjects: the connectors
        counts: counts of each plan's rows

    Returns:
        ``rows`` with topic_exists (boolean; true in all rows if each selected partition has a log) and hint (string: a
        question that proposes similar names, followed by a space; empty if there is no similar name)
    """
    if not any(count.unknown for count in counts.values()):
        return rows.withColumns({"topic_exists": F.expr("true"), "hint": F.lit("")})
    topics = snapshot.bounds.select("topic").distinct().withColumn("is_there", F.expr("true"))
    joined = rows.join(topics, "topic", "left").withColumn("topic_exists", F.coalesce("is_there", F.expr("false")))
    unknown = joined.where("selected and topic is not null and not topic_exists").select("connector", "topic")
    # Beyond this number, no names are proposed: a person corrects the pattern, not each name.
    number = F.row_number().over(Window.partitionBy("connector").orderBy("topic"))
    few = unknown.distinct().withColumn("number", number).where(F.col("number") <= MOST_NAMES)
    pairs = [(row["connector"], row["topic"]) for row in few.collect()]
    if not pairs:  # the topics exist, but lack the partitions
        return joined.withColumn("hint", F.lit(""))
    hinted = joined.join(_hints(pairs, snapshot, subjects), ["connector", "topic"], "left")
    return hinted.withColumn("hint", F.coalesce("proposal", F.lit("")))


def _hints(pairs: Sequence[tuple[str, str]], snapshot: PlanFrames, subjects: Subjects) -> DataFrame:
    """Propose up to three topics with a similar name that the connector reads.

    Each name is compared once, however many connectors have it.

    Args:
        pairs: a connector and a topic that does not exist, few for each connector
        snapshot: the snapshot
        subjects: the connectors

    Returns:
        connector, topic, proposal (a question, followed by a space); only pairs with a similar name
    """
    spark = snapshot.bounds.sparkSession
    unknown = make_frame(spark, pairs, "connector string, unknown string")
    names = make_frame(spark, [(name,) for name in sorted({topic for _, topic in pairs})], "unknown string")
    near = (
        snapshot.bounds.select("topic")
        .distinct()
        .crossJoin(F.broadcast(names))
        .withColumn("distance", F.levenshtein(F.lower("unknown"), F.lower("topic")))
        .where(F.col("distance") <= F.greatest(F.lit(2), F.length("unknown") / 4))
    )
    read = subjects.with_patterns(unknown.join(near, "unknown"))
    of_each = Window.partitionBy("connector", "unknown").orderBy("distance", "topic")
    nearest = (
        read.where(F.coalesce(is_consumed(subjects.kind), F.expr("true")))
        .withColumn("rank", F.row_number().over(of_each))
        .where("rank <= 3")
    )
    proposed = F.array_join(F.array_sort(F.collect_list(F.struct("rank", "topic")))["topic"], "` or `")
    question = F.concat(F.lit("Did you mean `"), proposed, F.lit("`? ")).alias("proposal")
    return nearest.groupBy("connector", F.col("unknown").alias("topic")).agg(question)


_NOTHING_AT_ALL = (
    "there is nothing to change, because it has no offset, and the cluster of its Kafka connection has no topic that "
    "it reads."
)


def _judge_empty_selection(snapshot: PlanFrames, request: Request, subjects: Sequence[Subject]) -> list[Verdict]:
    if not subjects:
        return []
    partitions = f"partitions={request.partitions}" if request.partitions else ""
    nothing = f"nothing is selected ({partitions or 'all topics'}). The"
    if request.topics is not None:
        matching = snapshot.bounds.where(matches_whole(F.col("topic"), request.topics)).select("topic").distinct()
        names = [row["topic"] for row in matching.orderBy("topic").limit(MOST_NAMES).collect()]
        if not names:
            return _unknown_topic(snapshot, request.topics, subjects)
        selection = " ".join(filter(None, [f"topics={request.topics}", partitions]))
        nothing = (
            f"nothing is selected ({selection}). The cluster has {', '.join(f'`{name}`' for name in names)}, but the"
        )
    is_all = request.topics is None and not partitions

    def text(one: Subject) -> str:
        return _NOTHING_AT_ALL if is_all and one.family.lists_topics else f"{nothing} {one.noun} {_reads(one)}"

    return [_verdict(Rule.NOTHING_SELECTED, Severity.ERROR, one, text(one)) for one in subjects]


def _unknown_topic(snapshot: PlanFrames, topics: str, subjects: Sequence[Subject]) -> list[Verdict]:
    pairs = [(one.name, topics) for one in subjects]
    hints = {row["connector"]: row["proposal"] for row in _hints(pairs, snapshot, Subjects(tuple(subjects))).collect()}
    text, advice = f"the cluster has no topic that matches `{topics}`. ", "Nothing is selected. Correct topics."
    return [
        _verdict(Rule.UNKNOWN_TOPIC, Severity.ERROR, one, f"{text}{hints.get(one.name, '')}{advice}")
        for one in subjects
    ]


def _reads(subject: Subject) -> str:
    if not subject.family.lists_topics:
        return "has no committed offset there. To commit a first offset, list it with to=file."
    return "reads none of these partitions, and has no offset for them."


def _warn_of_missing_partitions(request: Request, subject: Subject, counts: Counts) -> Iterator[Verdict]:
    """Only warn of a number above all selected partitions: it may be a slip or a generous range."""
    if request.partitions is None or counts.highest_partition is None:
        return
    highest, selected = max(high for _, high in request.partitions.ranges), counts.highest_partition
    if highest > selected:
        message = (
            f"partitions={request.partitions} goes up to {highest}, but the highest selected partition is {selected}."
        )
        yield _verdict(Rule.UNKNOWN_PARTITION, Severity.WARNING, subject, message)


def _verdict_on_no_change(subject: Subject, counts: Counts) -> Verdict:
    unchanged = counts.selected - counts.stuck
    message = f"nothing to change: {unchanged} of {counts.selected} selected partitions need no change"
    message += f", {counts.stuck} can't be moved." if counts.stuck else "."
    return _verdict(Rule.NOTHING_TO_CHANGE, Severity.INFO, subject, message)


def _warn_of_external(subject: Subject) -> Iterator[Verdict]:
    elsewhere = find_elsewhere(subject.connector_class, is_sink=subject.type is ConnectorType.SINK)
    if elsewhere is not None:
        message = (
            f"{subject.connector_class} also keeps its position in {elsewhere.where}, so changing Connect's offsets "
            f"alone may not move it: {elsewhere.effect}"
        )
        yield _verdict(Rule.EXTERNAL_OFFSETS, Severity.WARNING, subject, message)
    elif subject.type is ConnectorType.SOURCE and subject.family.name == Family.name:
        message = (
            f"the meaning of the offsets of {subject.connector_class} is unknown, so they are not checked. The "
            "connector may also keep its position elsewhere."
        )
        yield _verdict(Rule.EXTERNAL_OFFSETS, Severity.INFO, subject, message)


def _of_group(subject: Subject) -> Iterator[Verdict]:
    """Judge a group: its members would commit over what is written, and a sink's group is changed by its connector."""
    if subject.type is not ConnectorType.GROUP:
        return
    if subject.state != INACTIVE:
        message = (
            "the consumer group has members, which would overwrite changed offsets with their own commits, so Kafka "
            "refuses the change. Stop the group's applications, and trigger the change again."
        )
        yield _verdict(Rule.ACTIVE_GROUP, Severity.ERROR, subject, message)
    if subject.name.startswith(OF_SINK):
        message = (
            f"by its name, this is the consumer group of a sink connector `{subject.name.removeprefix(OF_SINK)}`. If "
            "that connector exists, use connector_offsets_change, which also stops and resumes the connector."
        )
        yield _verdict(Rule.CONNECTORS_GROUP, Severity.WARNING, subject, message)


def _warn_of_own_topics(
    snapshot: PlanFrames, subjects: Sequence[Subject], counts: Mapping[str, Counts]
) -> Iterator[Verdict]:
    """Warn of two defects of Kafka (4.3.1): it ignores the worker's topic, and can't remove offsets with exactly-once.

    Both concern source connectors with an offsets topic of their own.
    """
    own = [one for one in subjects if one.type is ConnectorType.SOURCE and OWN_TOPIC in one.config]
    if not own:
        return
    missing = Subjects(tuple(own)).of(snapshot.offsets).where("offset is null").groupBy("connector").count()
    without = {row["connector"]: row["count"] for row in missing.collect()}
    for subject in own:
        text = f"it has its own offsets topic, `{subject.config[OWN_TOPIC]}`"
        if subject.name in without:
            message = (
                f"{text}, which has no offset for {without[subject.name]} of its partitions. Kafka does not fall back "
                "to the worker's offsets topic, so the connector starts these partitions from scratch. Set their "
                "offsets first."
            )
            yield _verdict(Rule.OWN_OFFSETS_TOPIC, Severity.WARNING, subject, message)
        if counts[subject.name].clear:
            message = (
                f"{text}. If the workers run with exactly.once.source.support, Kafka answers a request to remove "
                "offsets only after 90 s, and leaves the removal half done. The removal is then undone."
            )
            yield _verdict(Rule.OWN_OFFSETS_TOPIC, Severity.WARNING, subject, message)


def _warn_of_latest(request: Request, subject: Subject) -> Iterator[Verdict]:
    if subject.family.name == MirrorSource.name and (request.to is To.LATEST or subject.reset is OffsetReset.LATEST):
        cause = (
            "to=latest leaves out all records that are not replicated yet"
            if request.to is To.LATEST
            else "source.consumer.auto.offset.reset=latest starts at the log end if no offset is stored"
        )
        yield _verdict(Rule.FROM_LATEST, Severity.WARNING, subject, f"{cause}, which gives up at-least-once delivery.")


def _verdict(rule: Rule, severity: Severity, subject: Subject, message: str) -> Verdict:
    return Verdict(rule, severity, subject.name, None, f"`{subject.name}`: {message}")

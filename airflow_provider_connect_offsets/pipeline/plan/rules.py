"""Rules on single rows of a plan: each is a condition and a message.

All are columns of the frame of ``effects``, so one pass evaluates them. Rules on a single offset are the family's
(``offsets.families``); their results are in the column ``problems``.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from airflow_provider_connect_offsets.offsets.families import MirrorSource, OffsetReset
from airflow_provider_connect_offsets.offsets.requests.request import Request
from airflow_provider_connect_offsets.offsets.verdicts import Rule, Severity
from airflow_provider_connect_offsets.pipeline.plan.consequences import consequences, consequences_of_clear
from airflow_provider_connect_offsets.pipeline.plan.effects import is_astray, is_changed
from airflow_provider_connect_offsets.pipeline.plan.subjects import Subject
from airflow_provider_connect_offsets.pipeline.verdicts import finding, sentence, verdicts

LEFT_ALONE = "It is left alone."


def row_verdicts(rows: DataFrame, request: Request, subject: Subject) -> DataFrame:
    """Judge single partitions.

    Args:
        rows: the frame of ``effects``, with the columns of ``overall.with_existence``
        request: the request
        subject: one of the connectors

    Returns:
        dataset ``verdicts``
    """
    findings = [*_duplicate(request), *consequences_of_clear(subject)]
    if subject.family.has_positions:
        findings += [
            *_existence(),
            *_bounds(request, subject),
            *_retention(subject),
            *consequences(request, subject),
        ]
    return verdicts(
        rows,
        findings,
        connector=F.col("connector"),
        partition=F.col("partition"),
        prefix=sentence("`{connector}`, {where}: ", where=_partition_text()),
        listed=_family_findings(),
    )


def problem_verdicts(listed: DataFrame) -> DataFrame:
    """Dataset ``verdicts`` on entries of a list that are not offsets. ``listed``: a frame of ``lists``."""
    flaw, text = F.col("problem").isNotNull(), "an entry of the list: {problem}."
    return verdicts(
        listed,
        [finding(Rule.UNREADABLE, Severity.ERROR, flaw, text)],
        connector=F.col("connector"),
        partition=F.lit(None).cast("string"),
        prefix=sentence("`{connector}`, "),
    )


def _partition_text() -> Column:
    """The row's topic and partition, if it has them, else the source partition."""
    of_topic, other = sentence("topic `{topic}`, partition {kafka_partition}"), sentence("partition `{partition}`")
    return F.coalesce(of_topic, other)


def _family_findings() -> Column:
    """Return the family's findings about a partition or a listed offset, unless the offset is removed."""
    concerned = F.col("selected") & ~F.col("removes")
    problems = F.transform(
        F.coalesce("problems", F.array()),
        lambda problem: F.struct(
            problem["rule"].alias("rule"),
            _level().alias("severity"),
            F.concat(problem["message"], F.lit(". "), _advice("Correct the entry.")).alias("message"),
        ),
    )
    return F.when(concerned, problems).otherwise(F.array())


def _level() -> Column:
    """Return an error if the request names this partition, else a warning: the partition is left alone."""
    return F.when(F.col("named"), Severity.ERROR.value).otherwise(Severity.WARNING.value)


def _advice(correction: str) -> Column:
    return F.when(F.col("named"), correction).otherwise(LEFT_ALONE)


def _duplicate(request: Request) -> list[Column]:
    if not request.to.by_list:
        return []
    conflict = F.col("conflicting") | F.lit(request.reads_table)
    return [
        finding(
            Rule.DUPLICATE,
            F.when(conflict, Severity.ERROR.value).otherwise(Severity.WARNING.value),
            F.col("selected") & (F.col("times") > 1),
            "it is listed {times} times, {how}.{advice}",
            how=F.when(F.col("conflicting"), "with different offsets").otherwise("always with the same offset"),
            advice=F.when(conflict, " Keep one of them.").otherwise(""),
        )
    ]


def _existence() -> list[Column]:
    """Return the rules on topics and partitions that do not exist or that the connector does not read."""
    concerned = F.col("selected") & F.col("stuck") & (F.size(F.coalesce("problems", F.array())) == 0)
    gone = concerned & F.col("topic").isNotNull() & F.col("log_end").isNull()
    exists = F.col("topic_exists")
    return [
        finding(
            Rule.UNKNOWN_TOPIC,
            _level(),
            gone & ~exists,
            "the cluster does not have this topic. {hint}{advice}",
            advice=_advice("Correct the name, or leave the topic out."),
        ),
        finding(
            Rule.UNKNOWN_PARTITION,
            _level(),
            gone & exists,
            "the topic does not have this partition. {advice}",
            advice=_advice("Correct the number, or leave the partition out."),
        ),
        finding(
            Rule.NOT_CONSUMED,
            _level(),
            concerned & F.col("log_end").isNotNull() & ~F.coalesce("consumed", F.expr("true")),
            "the connector does not read this topic (topics, topics.regex, topics.exclude), so an offset would change "
            "nothing. {advice}",
            advice=_advice("Leave the topic out, or change the connector's configuration first."),
        ),
    ]


def _bounds(request: Request, subject: Subject) -> list[Column]:
    """Return the rules on positions outside the log: before its start, or beyond its end."""
    sound = is_changed() & ~is_astray()
    position, start, end = F.col("after_position"), F.col("log_start"), F.col("log_end")
    # The requested time may be before the first record of a log that has lost records.
    oldest = F.col("clamped") | (F.lit(request.to.by_time) & (F.col("after_position") == start) & (start > 0))
    return [
        finding(
            Rule.BEYOND_LOG_END,
            Severity.ERROR,
            sound & (position > end),
            "position {after_position} lies beyond the log end {log_end}. {consequence} Ask for {log_start} to "
            "{log_end}, or to=latest.",
            consequence=_consequence_of_beyond(subject),
        ),
        finding(
            Rule.BEFORE_LOG_START,
            Severity.ERROR,
            sound & (position < start),
            "position {after_position} lies before the log start {log_start}: those records are gone. Ask for "
            "{log_start} to {log_end}, or to=earliest.",
        ),
        finding(
            Rule.BEFORE_LOG_START,
            Severity.WARNING,
            F.col("selected") & ~F.col("stuck") & oldest,
            "it resumes at the log start {log_start}: earlier records are gone.",
        ),
    ]


def _retention(subject: Subject) -> list[Column]:
    """Return the rules on records that the brokers may delete before they are read."""
    position = F.col("after_position")
    sound = is_changed() & ~is_astray() & position.between(F.col("log_start"), F.col("log_end"))
    expired = position < F.col("expired_offset")
    expiring = ~expired & (position < F.col("expiring_offset"))
    return [
        finding(
            Rule.EXPIRING,
            Severity.WARNING,
            sound & condition,
            "the record at position {after_position} {is_} older than retention.ms={retention_ms}{when}. If the "
            "brokers delete it before the {noun} resumes, nothing is changed. Raise retention.ms of the topic first, "
            "and lower it again when the records have been read.",
            is_=is_,
            when=when,
            noun=subject.noun,
        )
        for condition, is_, when in ((expired, "is", ""), (expiring, "will be", " within an hour"))
    ]


def _consequence_of_beyond(subject: Subject) -> Column:
    reset, is_mirror = subject.reset, subject.family.name == MirrorSource.name
    if reset is OffsetReset.UNKNOWN:
        return F.lit("Its auto.offset.reset, which is unknown here, would then decide where it starts.")
    if reset is not OffsetReset.EARLIEST:
        return F.lit(f"auto.offset.reset={reset} would then decide where it starts.")
    return sentence(
        "{who} would start again at {log_start} and {again} all {records:record} once more.",
        who="MirrorMaker 2" if is_mirror else f"The {subject.noun}",
        again="replicate" if is_mirror else "deliver",
        records=F.col("log_end") - F.col("log_start"),
    )

"""Rules on single rows of a plan: each is a condition and a sentence for people.

All are columns of the frame of ``effects``, so one pass evaluates them. Rules on a single offset are the family's
(``offsets.families``); their results are in the column ``problems``.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from airflow_provider_connect_offsets.offsets.families import MirrorSource, OffsetReset
from airflow_provider_connect_offsets.offsets.requests.request import Request
from airflow_provider_connect_offsets.offsets.verdicts import Rule, Severity
from airflow_provider_connect_offsets.pipeline.frames import shaped
from airflow_provider_connect_offsets.pipeline.plan.consequences import consequences, consequences_of_clear
from airflow_provider_connect_offsets.pipeline.plan.effects import is_astray
from airflow_provider_connect_offsets.pipeline.plan.findings import finding, is_changed
from airflow_provider_connect_offsets.pipeline.plan.subjects import Subject
from airflow_provider_connect_offsets.workspace.schemas import VERDICTS

LEFT_ALONE = "It is left alone."


def row_verdicts(rows: DataFrame, request: Request, subject: Subject) -> DataFrame:
    """Judge single partitions.

    Args:
        rows: the frame of ``effects``, with the columns of ``unknown.with_existence``
        request: the request
        subject: one of the connectors

    Returns:
        dataset ``verdicts``
    """
    findings = [_duplicate(request), *consequences_of_clear(subject)]
    if subject.family.has_positions:
        findings += [
            *_existence(),
            *_bounds(request, subject),
            *_retention(subject),
            *consequences(request, subject),
        ]
    every = F.concat(_family_findings(), F.array_compact(F.array(*findings)))
    message = F.concat(F.lit("`"), "connector", F.lit("`, "), _partition_text(), F.lit(": "), F.col("finding.message"))
    return shaped(
        rows.withColumn("finding", F.explode(every))
        .withColumn("rule", F.col("finding.rule"))
        .withColumn("severity", F.col("finding.severity"))
        .withColumn("message", message),
        VERDICTS,
    )


def problem_verdicts(listed: DataFrame) -> DataFrame:
    """Dataset ``verdicts`` on entries of a list that are not offsets. ``listed``: a frame of ``lists``."""
    return shaped(
        listed.where("problem is not null").select(
            F.lit(Rule.UNREADABLE.value).alias("rule"),
            F.lit(Severity.ERROR.value).alias("severity"),
            "connector",
            F.lit(None).cast("string").alias("partition"),
            F.format_string("`%s`, an entry of the list: %s.", "connector", "problem").alias("message"),
        ),
        VERDICTS,
    )


def _partition_text() -> Column:
    """The row's topic and partition, if it has them, else the source partition."""
    known = F.col("topic").isNotNull() & F.col("kafka_partition").isNotNull()
    return F.when(known, F.format_string("topic `%s`, partition %d", "topic", "kafka_partition")).otherwise(
        F.format_string("partition `%s`", "partition")
    )


def _family_findings() -> Column:
    """What the family reports about a partition or a listed offset, unless the offset is removed."""
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
    """An error if the request names this partition, else a warning: the partition is left alone."""
    return F.when(F.col("named"), Severity.ERROR.value).otherwise(Severity.WARNING.value)


def _advice(correction: str) -> Column:
    return F.when(F.col("named"), correction).otherwise(LEFT_ALONE)


def _duplicate(request: Request) -> Column:
    if not request.to.by_list:
        return F.lit(None)
    conflict = F.col("conflicting") | F.lit(request.reads_table)
    return finding(
        Rule.DUPLICATE,
        F.when(conflict, Severity.ERROR.value).otherwise(Severity.WARNING.value),
        F.col("selected") & (F.col("times") > 1),
        "it is listed ",
        F.col("times"),
        " times, ",
        F.when(F.col("conflicting"), "with different offsets.").otherwise("always with the same offset."),
        F.when(conflict, " Keep one of them.").otherwise(""),
    )


def _existence() -> list[Column]:
    """Rules on topics and partitions that do not exist or that the connector does not read."""
    concerned = F.col("selected") & F.col("stuck") & (F.size(F.coalesce("problems", F.array())) == 0)
    gone = concerned & F.col("topic").isNotNull() & F.col("log_end").isNull()
    exists = F.col("topic_exists")
    return [
        finding(
            Rule.UNKNOWN_TOPIC,
            _level(),
            gone & ~exists,
            "the cluster has no such topic. ",
            F.col("hint"),
            _advice("Correct the name, or leave it out."),
        ),
        finding(
            Rule.UNKNOWN_PARTITION,
            _level(),
            gone & exists,
            "the topic has no such partition. ",
            _advice("Correct the number, or leave it out."),
        ),
        finding(
            Rule.NOT_CONSUMED,
            _level(),
            concerned & F.col("log_end").isNotNull() & ~F.coalesce("consumed", F.expr("true")),
            "the connector does not read this topic (topics, topics.regex, topics.exclude), so an offset would change "
            "nothing. ",
            _advice("Leave it out, or change the configuration first."),
        ),
    ]


def _bounds(request: Request, subject: Subject) -> list[Column]:
    """Rules on positions outside the log: below its start, or above its end."""
    sound = is_changed() & ~is_astray()
    position, start, end = F.col("after_position"), F.col("log_start"), F.col("log_end")
    # The requested time may be before the first record of a log that has lost records.
    oldest = F.col("clamped") | (F.lit(request.to.by_time) & (F.col("after_position") == start) & (start > 0))
    return [
        finding(
            Rule.BEYOND_LOG_END,
            Severity.ERROR,
            sound & (position > end),
            F.format_string("position %d lies beyond the log end %d. ", position, end),
            *_consequence_of_beyond(subject),
            F.format_string("Ask for %d to %d, or to=latest.", start, end),
        ),
        finding(
            Rule.BEFORE_LOG_START,
            Severity.ERROR,
            sound & (position < start),
            F.format_string("position %d lies before the log start %d: those records are gone. ", position, start),
            F.format_string("Ask for %d to %d, or to=earliest.", start, end),
        ),
        finding(
            Rule.BEFORE_LOG_START,
            Severity.WARNING,
            F.col("selected") & ~F.col("stuck") & oldest,
            F.format_string("it resumes at the log start %d: earlier records are gone.", start),
        ),
    ]


def _retention(subject: Subject) -> list[Column]:
    """Rules on records that the brokers may delete before they are read."""
    position, retention = F.col("after_position"), F.col("retention_ms")
    sound = is_changed() & ~is_astray() & position.between(F.col("log_start"), F.col("log_end"))
    expired = position < F.col("expired_offset")
    text = "the record at position %d is older than retention.ms=%d"
    expiring = ~expired & (position < F.col("expiring_offset"))
    advice = (
        f"If the brokers delete it before the {subject.noun} resumes, nothing is changed. Raise retention.ms of the "
        "topic first, and lower it again when the records are read."
    )
    return [
        finding(
            Rule.EXPIRING,
            Severity.WARNING,
            sound & expired,
            F.format_string(f"{text}. ", position, retention),
            advice,
        ),
        finding(
            Rule.EXPIRING,
            Severity.WARNING,
            sound & expiring,
            F.format_string(f"{text} within the hour. ", position, retention),
            advice,
        ),
    ]


def _consequence_of_beyond(subject: Subject) -> list[Column]:
    reset = subject.reset
    who = "MirrorMaker 2" if subject.family.name == MirrorSource.name else f"The {subject.noun}"
    again = "replicate" if subject.family.name == MirrorSource.name else "deliver"
    if reset is OffsetReset.UNKNOWN:
        return [F.lit("The auto.offset.reset of its applications would then decide where it starts. ")]
    if reset is not OffsetReset.EARLIEST:
        return [F.lit(f"auto.offset.reset={reset} would then decide where it starts. ")]
    start, records = F.col("log_start"), F.col("log_end") - F.col("log_start")
    return [F.format_string(f"{who} would start again at %d and {again} all %d records once more. ", start, records)]

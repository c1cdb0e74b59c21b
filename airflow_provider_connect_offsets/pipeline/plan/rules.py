"""Rules on a set of offsets: each is a condition on a row of the plan and a sentence for people.

All are columns of the frame of ``effects``, so that one pass over it finds everything. Rules on a single offset are the
family's (``offsets.families``) and stand in the column ``problems``.
"""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from airflow_provider_connect_offsets.offsets.families import MirrorSource, OffsetReset
from airflow_provider_connect_offsets.offsets.requests.request import Request
from airflow_provider_connect_offsets.offsets.verdicts import Rule, Severity
from airflow_provider_connect_offsets.pipeline.frames import Subject, shaped
from airflow_provider_connect_offsets.pipeline.plan.consequences import consequences, consequences_of_clear
from airflow_provider_connect_offsets.pipeline.plan.effects import is_astray
from airflow_provider_connect_offsets.pipeline.plan.findings import finding, is_changed
from airflow_provider_connect_offsets.workspace.schemas import VERDICTS

LEFT_ALONE = "It is left alone."


def row_verdicts(
    rows: DataFrame, request: Request, subject: Subject, similar: Mapping[str, tuple[str, ...]]
) -> DataFrame:
    """Find all that there is to say about single partitions: dataset ``verdicts``.

    similar: unknown topic → known ones that are spelled much like it
    """
    found = [_duplicate(request), *consequences_of_clear(subject)]
    if subject.family.has_positions:
        found += [*_existence(similar), *_bounds(request, subject), *_retention(), *consequences(request, subject)]
    every = F.concat(_family_findings(), F.array_compact(F.array(*found)))
    spoken = F.concat(F.lit(f"`{subject.name}`, "), _place(), F.lit(": "), F.col("finding.message"))
    return shaped(
        rows.withColumn("finding", F.explode(every))
        .withColumn("rule", F.col("finding.rule"))
        .withColumn("severity", F.col("finding.severity"))
        .withColumn("connector", F.lit(subject.name))
        .withColumn("message", spoken),
        VERDICTS,
    )


def problem_verdicts(wanted: DataFrame, subject: Subject) -> DataFrame:
    """Entries of a list that are no offsets at all: dataset ``verdicts``. wanted: the frame of ``wanted``."""
    return shaped(
        wanted.where("problem is not null").select(
            F.lit(Rule.UNREADABLE.value).alias("rule"),
            F.lit(Severity.ERROR.value).alias("severity"),
            F.lit(subject.name).alias("connector"),
            F.lit(None).cast("string").alias("partition"),
            F.concat(F.lit(f"`{subject.name}`, an entry of the list: "), F.col("problem"), F.lit(".")).alias("message"),
        ),
        VERDICTS,
    )


def _place() -> Column:
    """Where it is, in Kafka's words where there are some."""
    known = F.col("topic").isNotNull() & F.col("kafka_partition").isNotNull()
    return F.when(known, F.format_string("topic `%s`, partition %d", "topic", "kafka_partition")).otherwise(
        F.format_string("partition `%s`", "partition")
    )


def _family_findings() -> Column:
    """What the family finds wrong with a partition or a listed offset, unless it is just removed."""
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
    """An error where the request names the very thing, else a warning: it is left alone."""
    return F.when(F.col("named"), Severity.ERROR.value).otherwise(Severity.WARNING.value)


def _advice(correction: str) -> Column:
    return F.when(F.col("named"), correction).otherwise(LEFT_ALONE)


def _duplicate(request: Request) -> Column:
    if not request.to.by_list:
        return F.lit(None)
    conflict = F.col("conflicting")
    return finding(
        Rule.DUPLICATE,
        F.when(conflict, Severity.ERROR.value).otherwise(Severity.WARNING.value),
        F.col("selected") & (F.col("times") > 1),
        "it is listed ",
        F.col("times"),
        " times, ",
        F.when(conflict, "with different offsets. Keep the one that is meant.").otherwise(
            "always with the same offset."
        ),
    )


def _existence(similar: Mapping[str, tuple[str, ...]]) -> list[Column]:
    """Topic, partition and subscription."""
    concerned = F.col("selected") & F.col("stuck") & (F.size(F.coalesce("problems", F.array())) == 0)
    gone = concerned & F.col("topic").isNotNull() & F.col("log_end").isNull()
    exists = F.coalesce("topic_exists", F.expr("false"))
    return [
        finding(
            Rule.UNKNOWN_TOPIC,
            _level(),
            gone & ~exists,
            "the cluster has no such topic. ",
            _did_you_mean(similar),
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
            "the connector's configuration (topics, topics.regex, topics.exclude) does not make it read this topic, so "
            "an offset would change nothing. ",
            _advice("Leave it out, or change the configuration first."),
        ),
    ]


def _did_you_mean(similar: Mapping[str, tuple[str, ...]]) -> Column:
    hint = F.lit("")
    for unknown, names in similar.items():
        hint = F.when(F.col("topic") == unknown, F.lit(did_you_mean(names))).otherwise(hint)
    return hint


def did_you_mean(names: tuple[str, ...]) -> str:
    """Ask whether one of ``names`` was meant."""
    return f"Did you mean {' or '.join(f'`{name}`' for name in names)}? " if names else ""


def _bounds(request: Request, subject: Subject) -> list[Column]:
    """Positions within the log: from the first record that exists to the one that comes next."""
    sound = is_changed() & ~is_astray()
    position, start, end = F.col("after_position"), F.col("log_start"), F.col("log_end")
    # A moment that finds the first record of a log that has lost records may well lie before that record.
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
            F.format_string("it resumes at the log start %d: the records before are gone.", start),
        ),
    ]


def _retention() -> list[Column]:
    """Records at a requested position that the brokers may delete before the connector has read them."""
    position, kept = F.col("after_position"), F.col("retention_ms")
    there = is_changed() & ~is_astray() & position.between(F.col("log_start"), F.col("log_end"))
    expired = position < F.col("expired_offset")
    text = "the record at position %d is older than retention.ms=%d"
    expiring = ~expired & (position < F.col("expiring_offset"))
    advice = (
        "If the brokers delete it before the connector resumes, nothing is changed. Raise retention.ms of the topic "
        "first, and lower it again once the records are read."
    )
    return [
        finding(
            Rule.EXPIRING,
            Severity.WARNING,
            there & expired,
            F.format_string(f"{text}. ", position, kept),
            advice,
        ),
        finding(
            Rule.EXPIRING,
            Severity.WARNING,
            there & expiring,
            F.format_string(f"{text} within the hour. ", position, kept),
            advice,
        ),
    ]


def _consequence_of_beyond(subject: Subject) -> list[Column]:
    reset = subject.family.offset_reset(subject.config)
    who = "MirrorMaker 2" if subject.family.name == MirrorSource.name else "The connector"
    again = "replicate" if subject.family.name == MirrorSource.name else "deliver"
    if reset is not OffsetReset.EARLIEST:
        return [F.lit(f"{_decides(reset)} where it starts. ")]
    start, records = F.col("log_start"), F.col("log_end") - F.col("log_start")
    return [F.format_string(f"{who} would start again at %d and {again} all %d records once more. ", start, records)]


def _decides(reset: OffsetReset) -> str:
    return f"auto.offset.reset={reset} would then decide"

"""Rules on a set of offsets: each is a filter on the planned rows and a sentence for people.

All take the frame of :mod:`~.pipeline.targets` with ``action`` added, and give the dataset ``verdicts``.
Rules on a single offset are the family's (``offsets.families``); :func:`family_verdicts` calls them.
"""

from __future__ import annotations

from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from airflow_provider_connect_offsets.offsets.families import MirrorSource, OffsetReset, Sink
from airflow_provider_connect_offsets.offsets.request import Request, To
from airflow_provider_connect_offsets.offsets.verdicts import Rule, Severity
from airflow_provider_connect_offsets.pipeline import family_columns
from airflow_provider_connect_offsets.pipeline.frames import Subject
from airflow_provider_connect_offsets.pipeline.targets import is_consumed


def family_verdicts(rows: DataFrame, subject: Subject) -> DataFrame:
    """What the family finds wrong with each offset that is to be written."""
    found = _changed(rows).select(
        "partition", F.explode(family_columns.findings(subject)("partition", "after")).alias("finding")
    )
    return found.select(
        F.col("finding.rule").alias("rule"),
        F.col("finding.severity").alias("severity"),
        F.lit(subject.name).alias("connector"),
        "partition",
        F.format_string(f"`{_literal(subject.name)}`, partition %s: %s", "partition", "finding.message").alias(
            "message"
        ),
    )


def duplicate_verdicts(wanted: DataFrame, subject: Subject) -> DataFrame:
    """Partitions that a list names more than once: an error where the offsets differ, a warning where they agree."""
    # A null must count as an offset of its own, and countDistinct passes over nulls.
    distinct = F.countDistinct(F.coalesce("after", F.lit("null")))
    twice = wanted.groupBy("partition").agg(F.count("*").alias("times"), distinct.alias("offsets")).where("times > 1")
    conflict = F.col("offsets") > 1
    return twice.select(
        F.lit(Rule.DUPLICATE.value).alias("rule"),
        F.when(conflict, Severity.ERROR.value).otherwise(Severity.WARNING.value).alias("severity"),
        F.lit(subject.name).alias("connector"),
        "partition",
        F.concat(
            F.format_string(f"`{_literal(subject.name)}`, partition %s is listed %d times, ", "partition", "times"),
            F.when(conflict, "with different offsets. Keep the one that is meant.").otherwise(
                "always with the same offset."
            ),
        ).alias("message"),
    )


def problem_verdicts(wanted: DataFrame, subject: Subject) -> DataFrame:
    """Entries of a list that are no offsets at all."""
    return _verdicts(
        wanted.where("problem is not null"),
        Rule.UNREADABLE,
        Severity.ERROR,
        subject,
        F.format_string("partition %s: %s", "partition", "problem"),
    )


def set_verdicts(rows: DataFrame, request: Request, subject: Subject) -> DataFrame:
    """Everything that is found by looking at the rows together with the log's bounds and the configuration."""
    found = [family_verdicts(rows, subject)]
    if subject.family.has_positions:
        found += [
            *_existence(rows, request, subject),
            *_bounds(rows, request, subject),
            *_consequences(rows, request, subject),
        ]
    return reduce(DataFrame.unionByName, found)


def _existence(rows: DataFrame, request: Request, subject: Subject) -> list[DataFrame]:
    """Topic, partition and subscription. A stored offset of a topic that is gone is left alone and mentioned."""
    aimed = rows.where("selected and topic is not null and log_end is null")
    severity = Severity.ERROR if request.to.by_list or request.to is To.OFFSET else Severity.WARNING
    advice = "Correct the name." if severity is Severity.ERROR else "Its stored offset is left alone."
    unread = _changed(rows).where(F.col("after").isNotNull() & ~is_consumed(F.col("topic"), subject))
    return [
        _verdicts(
            aimed.where("not topic_exists"),
            Rule.UNKNOWN_TOPIC,
            severity,
            subject,
            F.format_string(f"topic `%s` does not exist in the cluster. {advice}", "topic"),
        ),
        _verdicts(
            aimed.where("topic_exists"),
            Rule.UNKNOWN_PARTITION,
            severity,
            subject,
            F.format_string(f"topic `%s` has no partition %d. {advice}", "topic", "kafka_partition"),
        ),
        _verdicts(
            unread.where("log_end is not null"),
            Rule.NOT_CONSUMED,
            Severity.ERROR,
            subject,
            F.format_string(
                "topic `%s` is not read by this connector (see its `topics`, `topics.regex`, `topics.exclude`), so an "
                "offset for it would change nothing.",
                "topic",
            ),
        ),
    ]


def _bounds(rows: DataFrame, request: Request, subject: Subject) -> list[DataFrame]:
    """Positions within the log: from the first record that exists to the one that comes next."""
    mirror = subject.family.name == MirrorSource.name
    beyond = (
        "MirrorMaker 2 would start again at %3$d and replicate all %4$d records once more."
        if mirror
        else "The consumer would fall back to auto.offset.reset and may start again at %3$d."
    )
    gone = Severity.WARNING if request.to.by_time or request.to is To.SHIFT else Severity.ERROR
    changed = _changed(rows)
    # A moment that finds the first record of a log that has lost records may well lie before that record.
    oldest = F.col("clamped") | (
        F.lit(request.to.by_time) & (F.col("after_position") == F.col("log_start")) & (F.col("log_start") > 0)
    )
    return [
        _verdicts(
            changed.where("after_position > log_end"),
            Rule.BEYOND_LOG_END,
            Severity.ERROR,
            subject,
            _at(
                f"position %1$d lies beyond the log end %2$d. {beyond} Ask for %3$d to %2$d, or to=latest.",
                "after_position",
                "log_end",
                "log_start",
                F.col("log_end") - F.col("log_start"),
            ),
        ),
        _verdicts(
            changed.where("after_position < log_start"),
            Rule.BEFORE_LOG_START,
            gone,
            subject,
            _at(
                "position %1$d lies before the log start %2$d: those records are gone. Ask for %2$d to %3$d, or "
                "to=earliest.",
                "after_position",
                "log_start",
                "log_end",
            ),
        ),
        _verdicts(
            rows.where("selected").where(oldest),
            Rule.BEFORE_LOG_START,
            Severity.WARNING,
            subject,
            _at(
                "it resumes at the log start %d, the first record that still exists: earlier ones are gone.",
                "log_start",
            ),
        ),
    ]


def _consequences(rows: DataFrame, request: Request, subject: Subject) -> list[DataFrame]:
    """What the approver has to know: records delivered again or never, and what is only assumed."""
    changed = _changed(rows)
    reset = subject.family.offset_reset(subject.config)
    found = [
        _verdicts(
            changed.where("records_again > 0"),
            Rule.REWIND,
            Severity.WARNING,
            subject,
            _at("%d records are delivered again.", "records_again"),
        ),
        _verdicts(
            changed.where("records_skipped > 0"),
            Rule.SKIP,
            Severity.WARNING,
            subject,
            _at("%d records are never delivered.", "records_skipped"),
        ),
        _verdicts(
            changed.where("action = 'clear' and after_position is null"),
            Rule.CLEAR_EFFECT,
            Severity.WARNING,
            subject,
            _at(
                f"without a stored offset auto.offset.reset={reset} decides: it resumes at %s.",
                F.coalesce(F.col("log_end" if reset is OffsetReset.LATEST else "log_start").cast("string"), F.lit("?")),
            ),
        ),
    ]
    if request.to.is_relative:
        assumed = changed.where("before_position is null")
        message = _at(f"nothing is stored, so it counts from %d, where auto.offset.reset={reset} would start.", "here")
        found.append(_verdicts(assumed, Rule.ASSUMED_POSITION, Severity.WARNING, subject, message))
    if reset is OffsetReset.LATEST and subject.family.name == MirrorSource.name:
        zero = changed.where("after is null and after_position = 0")
        message = _at(
            "MirrorSource has no stored value for position 0, and source.consumer.auto.offset.reset=latest would start "
            "at the log end %d instead. Set it to earliest first.",
            "log_end",
        )
        found.append(_verdicts(zero, Rule.NO_STORED_ZERO, Severity.ERROR, subject, message))
    if request.to is To.SKIP and subject.family.name == Sink.name and _poll_may_hold_good_records(subject):
        message = _at(
            "tasks have failed, and position %d is the start of the poll that failed, not always the bad record: up to "
            "499 good ones may lie before it, and would be skipped. To pin the bad record down, set "
            "consumer.override.max.poll.records=1, restart the tasks until they fail again, and ask once more.",
            "here",
        )
        found.append(_verdicts(changed, Rule.UNPINNED_SKIP, Severity.WARNING, subject, message))
    return found


def _poll_may_hold_good_records(subject: Subject) -> bool:
    return subject.failed_tasks > 0 and subject.config.get("consumer.override.max.poll.records") != "1"


def _changed(rows: DataFrame) -> DataFrame:
    return rows.where("action <> 'keep'")


def _at(template: str, *values: str | Column) -> Column:
    """A sentence about a topic's partition; ``template`` is a Java format of ``values``."""
    return F.concat(
        F.format_string("topic `%s`, partition %d: ", "topic", "kafka_partition"), F.format_string(template, *values)
    )


def _verdicts(rows: DataFrame, rule: Rule, severity: Severity, subject: Subject, message: Column) -> DataFrame:
    return rows.select(
        F.lit(rule.value).alias("rule"),
        F.lit(severity.value).alias("severity"),
        F.lit(subject.name).alias("connector"),
        "partition",
        F.concat(F.lit(f"`{subject.name}`, "), message).alias("message"),
    )


def _literal(text: str) -> str:
    """Make a text safe within a Java format string."""
    return text.replace("%", "%%")

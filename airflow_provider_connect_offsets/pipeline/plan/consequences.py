"""Rules on the effects of a change: records that are delivered again or skipped, assumed positions, removed offsets."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

from airflow_provider_connect_offsets.offsets.families import MirrorSource, OffsetReset, Sink
from airflow_provider_connect_offsets.offsets.plan import Action
from airflow_provider_connect_offsets.offsets.requests.place import To
from airflow_provider_connect_offsets.offsets.requests.request import Request
from airflow_provider_connect_offsets.offsets.verdicts import Rule, Severity
from airflow_provider_connect_offsets.pipeline.plan.effects import is_astray, is_changed
from airflow_provider_connect_offsets.pipeline.plan.subjects import Subject
from airflow_provider_connect_offsets.pipeline.verdicts import finding


def consequences(request: Request, subject: Subject) -> list[Column]:
    """Findings on records that are delivered again or skipped, and on positions that are only assumed."""
    reset = subject.reset
    findings = [
        _of_records(Rule.REWIND, "records_again", "delivered again"),
        _of_records(Rule.SKIP, "records_skipped", "never delivered"),
    ]
    if request.to.is_relative:
        findings += _judge_assumed(subject)
    if reset is not OffsetReset.EARLIEST and subject.family.name == MirrorSource.name:
        findings.append(_judge_stored_zero(reset))
    if request.to is To.SKIP and subject.family.name == Sink.name and subject.poll_may_hold_good_records:
        findings.append(_warn_of_unpinned_skip())
    return findings


def _of_records(rule: Rule, column: str, effect: str) -> Column:
    return finding(rule, Severity.WARNING, F.col(column) > 0, f"{{{column}:record is}} {effect}.")


def _judge_assumed(subject: Subject) -> list[Column]:
    reset = subject.reset
    unknown = "its auto.offset.reset is unknown here"
    why = unknown if reset is OffsetReset.UNKNOWN else f"auto.offset.reset={reset}"
    nothing = F.col("selected") & F.col("before_position").isNull() & ~is_astray()
    return [
        finding(
            Rule.ASSUMED_POSITION,
            Severity.WARNING,
            nothing & F.col("here").isNotNull(),
            "no offset is stored, so the request counts from {here}, where the {noun} would start ({why}).",
            why=why,
            noun=subject.noun,
        ),
        finding(
            Rule.ASSUMED_POSITION,
            Severity.ERROR,
            nothing & F.col("here").isNull(),
            "no offset is stored and {why}, so there is no position to count from. Ask for a position with to=offset.",
            why=why,
        ),
    ]


def _judge_stored_zero(reset: OffsetReset) -> Column:
    instead = {
        OffsetReset.LATEST: "it would start at the log end instead",
        OffsetReset.NONE: "its task would fail instead",
    }.get(reset, "it would start somewhere else")
    return finding(
        Rule.NO_STORED_ZERO,
        Severity.ERROR,
        is_changed() & F.col("after").isNull() & (F.col("after_position") == 0) & (F.col("log_end") > 0),
        "MirrorSource can't store an offset for position 0. With source.consumer.auto.offset.reset={reset}, "
        "{instead}. Set this property to earliest first.",
        reset=reset.value,
        instead=instead,
    )


def _warn_of_unpinned_skip() -> Column:
    return finding(
        Rule.UNPINNED_SKIP,
        Severity.WARNING,
        is_changed(),
        "tasks have failed, and position {here} is where the failed poll began. The bad record may be a later one: up "
        "to 499 good records may come before it, and would be skipped instead. To find the bad record, set "
        "consumer.override.max.poll.records=1, restart the failed tasks, and request the skip again when they have "
        "failed again.",
    )


def consequences_of_clear(subject: Subject) -> list[Column]:
    """Findings on removed offsets: what the connector does without an offset."""
    rule, level = Rule.CLEAR_EFFECT, Severity.WARNING
    cleared = (F.col("action") == Action.CLEAR.value) & F.col("after_position").isNull()
    if not subject.family.has_positions:
        without = subject.family.without_offset
        return [finding(rule, level, cleared, "its offset is removed: {without}.", without=without)]
    effect = {
        OffsetReset.UNKNOWN: "its auto.offset.reset, which is unknown here, decides where it resumes.",
        OffsetReset.NONE: "its task will fail.",
        OffsetReset.BY_DURATION: "it resumes that long before the time when it starts.",
    }.get(subject.reset, "it resumes at {reset_position}.")
    decides = "" if subject.reset is OffsetReset.UNKNOWN else f", so auto.offset.reset={subject.reset} decides"
    nothing = "its offset is removed; the {noun} does not read this partition, so nothing else changes."
    return [
        finding(rule, level, cleared & ~is_astray(), f"its offset is removed{decides}: {effect}"),
        finding(rule, level, cleared & is_astray(), nothing, noun=subject.noun),
    ]

"""Rules on the effects of a change: records delivered again or never, assumed positions, removed offsets."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

from airflow_provider_connect_offsets.offsets.families import MirrorSource, OffsetReset, Sink
from airflow_provider_connect_offsets.offsets.plan import Action
from airflow_provider_connect_offsets.offsets.requests.request import Request, To
from airflow_provider_connect_offsets.offsets.verdicts import Rule, Severity
from airflow_provider_connect_offsets.pipeline.plan.effects import count, is_astray
from airflow_provider_connect_offsets.pipeline.plan.findings import finding, is_changed
from airflow_provider_connect_offsets.pipeline.plan.subjects import Subject


def consequences(request: Request, subject: Subject) -> list[Column]:
    """Findings on records delivered again or never, and on positions that are only assumed."""
    reset = subject.reset
    findings = [
        finding(
            Rule.REWIND,
            Severity.WARNING,
            F.col("records_again") > 0,
            count("records_again"),
            F.when(F.col("records_again") == 1, " is").otherwise(" are"),
            " delivered again.",
        ),
        finding(
            Rule.SKIP,
            Severity.WARNING,
            F.col("records_skipped") > 0,
            count("records_skipped"),
            F.when(F.col("records_skipped") == 1, " is").otherwise(" are"),
            " never delivered.",
        ),
    ]
    if request.to.is_relative:
        findings += _assumed(subject)
    if reset is not OffsetReset.EARLIEST and subject.family.name == MirrorSource.name:
        findings.append(_no_stored_zero(reset))
    if request.to is To.SKIP and subject.family.name == Sink.name and subject.poll_may_hold_good_records:
        findings.append(_unpinned_skip())
    return findings


def _assumed(subject: Subject) -> list[Column]:
    reset = subject.reset
    unknown = "the auto.offset.reset of its applications is unknown"
    why = unknown if reset is OffsetReset.UNKNOWN else f"auto.offset.reset={reset}"
    nothing = F.col("selected") & F.col("before_position").isNull() & ~is_astray()
    return [
        finding(
            Rule.ASSUMED_POSITION,
            Severity.WARNING,
            nothing & F.col("here").isNotNull(),
            F.format_string(
                f"no offset is stored, so it counts from %d, where auto.offset.reset={reset} would start.",
                F.col("here"),
            ),
        ),
        finding(
            Rule.ASSUMED_POSITION,
            Severity.ERROR,
            nothing & F.col("here").isNull(),
            f"no offset is stored and {why}, so there is no position to count from. Ask for a position with to=offset.",
        ),
    ]


def _no_stored_zero(reset: OffsetReset) -> Column:
    instead = {
        OffsetReset.LATEST: "it would start at the log end instead",
        OffsetReset.NONE: "its task would fail instead",
    }.get(reset, "it would start somewhere else")
    return finding(
        Rule.NO_STORED_ZERO,
        Severity.ERROR,
        is_changed() & F.col("after").isNull() & (F.col("after_position") == 0) & (F.col("log_end") > 0),
        f"MirrorSource can store no offset for position 0, and with source.consumer.auto.offset.reset={reset} "
        f"{instead}. Set that to earliest first.",
    )


def _unpinned_skip() -> Column:
    return finding(
        Rule.UNPINNED_SKIP,
        Severity.WARNING,
        is_changed(),
        F.format_string(
            "tasks have failed, and position %d is where the failed poll began, which need not be the bad record: up "
            "to 499 good records may come before it and would be skipped instead. To find the bad record, set "
            "consumer.override.max.poll.records=1, restart the failed tasks, and request the skip again when they have "
            "failed again.",
            F.col("here"),
        ),
    )


def consequences_of_clear(subject: Subject) -> list[Column]:
    """Findings on removed offsets: what the connector does without one."""
    cleared = (F.col("action") == Action.CLEAR.value) & F.col("after_position").isNull()
    if not subject.family.has_positions:
        without = f"its offset is removed: {subject.family.without_offset}."
        return [finding(Rule.CLEAR_EFFECT, Severity.WARNING, cleared, without)]
    reset = subject.reset
    decides = f"its offset is removed, so auto.offset.reset={reset} decides: "
    if reset is OffsetReset.UNKNOWN:
        decides, effect = "its offset is removed: ", F.lit("auto.offset.reset of its applications decides.")
    elif reset is OffsetReset.NONE:
        effect = F.lit("its task will fail.")
    elif reset is OffsetReset.BY_DURATION:
        effect = F.lit("it resumes that far back from its start.")
    else:
        effect = F.format_string("it resumes at %d.", F.col("reset_position"))
    sound = cleared & ~is_astray()
    return [
        finding(Rule.CLEAR_EFFECT, Severity.WARNING, sound, decides, effect),
        finding(
            Rule.CLEAR_EFFECT,
            Severity.WARNING,
            cleared & is_astray(),
            f"its offset is removed; the {subject.noun} does not read this partition, so nothing else changes.",
        ),
    ]

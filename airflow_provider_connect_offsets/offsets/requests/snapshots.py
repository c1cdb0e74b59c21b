"""The request for a snapshot of a Connect cluster: its connectors, and what of its comparison fails the run."""

from __future__ import annotations

from collections.abc import Collection
from typing import Annotated

from airflow_provider_connect_offsets.exceptions import InvalidRequest
from airflow_provider_connect_offsets.offsets.json_codec import JsonRecord
from airflow_provider_connect_offsets.offsets.requests.fields import Parameters, Section, limit, listed, optional
from airflow_provider_connect_offsets.offsets.requests.values import ALL, PatternOrAll
from airflow_provider_connect_offsets.offsets.verdicts import Rule, Severity

#: Rules of a comparison, in the order in which a person should learn of their findings.
COMPARED = (
    Rule.VANISHED,
    Rule.MOVED_BACK,
    Rule.BEYOND_LOG_END,
    Rule.JUMPED,
    Rule.STUCK,
    Rule.UNREAD,
    Rule.APPEARED,
)


def _rules(value: str | Collection[str] | None, param: str) -> tuple[str, ...]:
    parts = value.split(",") if isinstance(value, str) else value or ()
    names = tuple(dict.fromkeys(name.strip() for name in parts if name.strip()))
    known = [rule.value for rule in COMPARED]
    if unknown := [name for name in names if name not in known]:
        raise InvalidRequest(f"{param}: {unknown[0]!r} is none of {', '.join(known)}.")
    return names


class SnapshotRequest(Parameters, JsonRecord, section=Section.LIMITS):
    """Which connectors are in a snapshot, and what of its comparison with the one before fails the run."""

    connectors: PatternOrAll = optional(
        "Connectors",
        "Regular expression that matches whole names of connectors. Empty: all.",
        section=Section.WHAT,
        example="orders-.*",
        default=ALL,
    )
    max_jump: int = limit(
        "Jump",
        "A position that has moved forward by more records than this since the last snapshot is reported as a jump. "
        "0: no jumps are reported.",
        default=0,
    )
    fail_on: Annotated[tuple[str, ...], _rules] = listed(
        "Fail on",
        "Rules whose findings fail the run, with commas between: vanished, moved_back, beyond_log_end, jumped, stuck, "
        "unread, appeared. Empty: none.",
        example="moved_back,vanished",
        default=(Rule.MOVED_BACK.value, Rule.VANISHED.value),
    )

    def severity(self, rule: Rule) -> Severity:
        """Return the severity of a rule's findings."""
        if rule.value in self.fail_on:
            return Severity.ERROR
        return Severity.INFO if rule is Rule.APPEARED else Severity.WARNING

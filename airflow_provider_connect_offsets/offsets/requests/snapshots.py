"""The request for a snapshot of a Connect cluster: its connectors, and what of its comparison fails the run."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from airflow_provider_connect_offsets.exceptions import InvalidRequest
from airflow_provider_connect_offsets.offsets.json_codec import JsonRecord
from airflow_provider_connect_offsets.offsets.requests.patterns import selection
from airflow_provider_connect_offsets.offsets.requests.values import count
from airflow_provider_connect_offsets.offsets.verdicts import Rule, Severity

ALL = ".*"
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


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotRequest(JsonRecord):
    """Which connectors are in a snapshot, and how it is compared with the one before.

    Attributes:
        connectors: Pattern for whole names of connectors.
        max_jump: More records than that between two snapshots are a jump; 0: not judged.
        fail_on: Names of the rules whose findings are errors.
    """

    connectors: str = ALL
    max_jump: int = 0
    fail_on: tuple[str, ...] = (Rule.MOVED_BACK.value, Rule.VANISHED.value)

    @classmethod
    def parse(cls, *, connectors: str, max_jump: object, fail_on: str | Collection[str]) -> SnapshotRequest:
        """Parse what a person typed; raises :class:`InvalidRequest`.

        Args:
            connectors: Pattern for whole names; empty: all.
            max_jump: A whole number, also as text.
            fail_on: Names of rules, as a list or with commas between.
        """
        listed = fail_on.split(",") if isinstance(fail_on, str) else fail_on
        names = tuple(dict.fromkeys(name.strip() for name in listed if name.strip()))
        known = [rule.value for rule in COMPARED]
        if unknown := [name for name in names if name not in known]:
            raise InvalidRequest(f"fail_on: {unknown[0]!r} is none of {', '.join(known)}.")
        return cls(
            connectors=selection(connectors, param="connectors") or ALL,
            max_jump=count(max_jump, param="max_jump"),
            fail_on=names,
        )

    def severity(self, rule: Rule) -> Severity:
        """Return the severity of a rule's findings."""
        if rule.value in self.fail_on:
            return Severity.ERROR
        return Severity.INFO if rule is Rule.APPEARED else Severity.WARNING

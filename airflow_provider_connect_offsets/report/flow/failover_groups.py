"""Rows of a failover: one for each consumer group, and the CSV."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from io import StringIO
from typing import Any

from airflow_provider_connect_offsets.offsets.requests.failover import Move
from airflow_provider_connect_offsets.report.standing import Tone
from airflow_provider_connect_offsets.workspace.flow_schemas import TRANSLATION

#: Headings of a group's numbers.
NUMBERS = ("Partitions", "Exact", "Re-read at most", "Without a copy", "By checkpoints")
# First characters of formulas in spreadsheets (OWASP, CSV injection).
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


@dataclass(slots=True)
class GroupLine:
    """Totals of a group over all its partitions.

    Attributes:
        group: the group
        partitions: partitions in topics with a remote topic
        commits: partitions whose offset is committed
        exact: partitions with an exact translated offset
        max_rereads: records read again, at most
        missing: unread records without a copy
        checkpoints: partitions with a checkpoint
        checkpoint_rereads: records read again by checkpoints alone, where the translated offset is exact
        reason: why partitions are left alone; empty if none are
    """

    group: str
    partitions: int = 0
    commits: int = 0
    exact: int = 0
    max_rereads: int = 0
    missing: int = 0
    checkpoints: int = 0
    checkpoint_rereads: int = 0
    reason: str = ""

    def add(self, row: Mapping[str, Any]) -> None:
        """Add a row of dataset ``translation``, of a topic with a remote topic."""
        self.partitions += 1
        self.commits += row["action"] == Move.COMMIT
        self.exact += row["exact"]
        self.max_rereads += row["max_rereads"] or 0
        self.missing += row["missing"] or 0
        self.checkpoints += row["checkpoint"] is not None
        self.checkpoint_rereads += row["checkpoint_rereads"] or 0
        if not row["covered"]:
            self.reason = self.reason or row["reason"]

    @property
    def tone(self) -> Tone:
        """Tone of its chip."""
        return Tone.BAD if self.reason else Tone.GOOD if self.exact == self.partitions else Tone.CALM

    @property
    def standing(self) -> str:
        """Text of its chip."""
        if self.reason:
            return "left alone" if not self.commits else "in part"
        if self.exact == self.partitions:
            return "exact"
        return "with re-reads" if self.max_rereads or not self.missing else "without a copy"

    @property
    def numbers(self) -> tuple[str, ...]:
        """Its formatted numbers, in the order of ``NUMBERS``."""
        missing = self.partitions - self.checkpoints
        by_checkpoints = f"{self.checkpoint_rereads:,}" + (f", {missing:,} missing" if missing else "")
        numbers = (self.partitions, self.exact, self.max_rereads, self.missing)
        return (*(f"{number:,}" for number in numbers), by_checkpoints)


def as_csv(rows: Iterable[Mapping[str, Any]]) -> str:
    """Return rows of dataset ``translation`` as CSV."""
    buffer = StringIO()
    writer = csv.DictWriter(buffer, TRANSLATION.names)
    writer.writeheader()
    writer.writerows({name: _cell(value) for name, value in row.items()} for row in rows)
    return buffer.getvalue()


def _cell(value: object) -> object:
    """Quote a string that a spreadsheet would take for a formula: anyone may name a group ``=HYPERLINK(…)``."""
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value

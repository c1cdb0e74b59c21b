"""What a page says of one consumer group of a failover."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from airflow_provider_connect_offsets.offsets.requests.failover import Move
from airflow_provider_connect_offsets.report.standing import Tone


@dataclass(slots=True)
class GroupLine:
    """One group, over all its partitions."""

    group: str
    partitions: int = 0
    commits: int = 0
    exact: int = 0
    max_rereads: int = 0
    missing: int = 0
    untold: int = 0
    checkpoints: int = 0
    checkpoint_rereads: int = 0
    reason: str = ""

    def add(self, row: Mapping[str, Any]) -> None:
        """Count one of its partitions in."""
        self.partitions += 1
        self.commits += row["action"] == Move.COMMIT
        self.exact += row["exact"]
        self.max_rereads += row["max_rereads"] or 0
        self.missing += row["missing"] or 0
        self.checkpoints += row["checkpoint"] is not None
        self.checkpoint_rereads += row["checkpoint_rereads"] or 0
        if row["covered"] is False:
            self.untold += 1
            self.reason = self.reason or row["reason"]

    @property
    def tone(self) -> Tone:
        """How it looks."""
        return Tone.BAD if self.reason else Tone.GOOD if self.exact == self.partitions else Tone.CALM

    @property
    def standing(self) -> str:
        """How it stands, in a word or two."""
        if self.reason:
            return "left alone" if not self.commits else "in part"
        if self.exact == self.partitions:
            return "exact"
        return "with re-reads" if self.max_rereads or not self.missing else "without a copy"

"""How a change moves one partition: as planned, or as it was read back."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from airflow_provider_connect_offsets.offsets.families import TopicPartition
from airflow_provider_connect_offsets.offsets.plan import Action, PlanRow
from airflow_provider_connect_offsets.report import words
from airflow_provider_connect_offsets.workspace.outcome import MovedOffset


class ReadBack(StrEnum):
    """Comparison of the offset read back."""

    REQUESTED = "as requested"
    BEFORE = "as before"
    NEITHER = "neither as requested nor as before"


@dataclass(frozen=True, slots=True)
class PositionMove:
    """A partition that the plan changes.

    Attributes:
        row: row of the plan
        log: the partition's log; None if the offsets are not positions in a Kafka log, or there is no such log
        proved: offsets observed while the connector was stopped; None if no change got that far
        faulty: whether an error names the partition
    """

    row: PlanRow
    log: range | None = None
    proved: MovedOffset | None = None
    faulty: bool = False

    @property
    def where(self) -> str:
        """Topic and partition, else the source partition."""
        row = self.row
        return row.partition if row.topic is None else f"{row.topic} · {row.kafka_partition}"

    @property
    def change(self) -> PlanRow | MovedOffset:
        """The offsets as they were when the connector was stopped, else as planned."""
        return self.proved or self.row

    @property
    def before(self) -> str:
        """Position before the change, as text."""
        return words.position(self.change.before, self.change.before_position)

    @property
    def after(self) -> str:
        """Requested position, as text."""
        return words.position(self.change.after, self.change.after_position)

    @property
    def stored_position(self) -> str | None:
        """Position read back, as text; None if nothing was read back."""
        return None if self.proved is None else words.position(self.proved.stands, self.proved.stands_position)

    @property
    def read_back(self) -> ReadBack | None:
        """Whether the offset read back is the requested one; None if nothing was read back."""
        if self.proved is None:
            return None
        if self.proved.stands == self.proved.after:
            return ReadBack.REQUESTED
        return ReadBack.BEFORE if self.proved.stands == self.proved.before else ReadBack.NEITHER

    @property
    def is_wrong(self) -> bool:
        """Whether the partition has an error, or its offset is neither the requested nor the prior one."""
        return self.faulty or self.read_back is ReadBack.NEITHER

    @property
    def log_ends(self) -> str:
        """Both ends of the log, as text; empty without a log."""
        return "" if self.log is None else f"{self.log.start:,} to {self.log.stop:,}"

    @property
    def log_between(self) -> range | None:
        """The part of the log between both positions; None if unknown."""
        before, after = self.change.before_position, self.change.after_position
        if before is None or after is None or self.log is None:
            return None
        low, high = sorted((before, after))
        start = min(max(low, self.log.start), self.log.stop)
        return range(start, max(start, min(high, self.log.stop)))

    @property
    def records_again(self) -> int | None:
        """Records delivered again; None if unknown."""
        return None if self.log_between is None else len(self.log_between) * self._goes_back

    @property
    def records_never(self) -> int | None:
        """Records never delivered; None if unknown."""
        return None if self.log_between is None else len(self.log_between) * (not self._goes_back)

    @property
    def side_of_log(self) -> str:
        """On which side of the log the requested position lies; empty if it lies within."""
        if self.log is None or self.change.after_position is None:
            return ""
        if self.change.after_position > self.log.stop:
            return "beyond the log end"
        return "before the log start" if self.change.after_position < self.log.start else ""

    @property
    def effect(self) -> str:
        """The effect on records, as text."""
        if self.faulty and self.side_of_log:
            return self.side_of_log
        if self.records_again:
            return f"{self.records_again:,} again"
        if self.records_never:
            return f"{self.records_never:,} never"
        if self.log_between is not None:
            return "no record"
        # The plan's reason has more than the positions, such as where auto.offset.reset would start.
        _, colon, counted = self.row.reason.rpartition(": ")
        removed = ["offset removed"] if self.row.action is Action.CLEAR and self.change.after_position is None else []
        return "; ".join([*removed, *([counted] if colon else [])]) or "unknown"

    @property
    def _goes_back(self) -> bool:
        before, after = self.change.before_position, self.change.after_position
        return before is not None and after is not None and after < before


def moves(
    rows: Iterable[PlanRow],
    bounds: Mapping[TopicPartition, range],
    proved: Iterable[MovedOffset],
    faulty: Collection[str],
) -> tuple[PositionMove, ...]:
    """Return the partitions that a plan changes, worst first: errors, records never delivered, records delivered again.

    Args:
        rows: rows of the plan
        bounds: logs of the cluster, by partition
        proved: offsets observed while the connector was stopped
        faulty: partitions with an error
    """
    by_partition = {moved.partition: moved for moved in proved}
    changed = (row for row in rows if row.action is not Action.KEEP)
    pairs = ((row, by_partition.get(row.partition)) for row in changed)
    unsorted = (PositionMove(row, _log(row, bounds, one), one, row.partition in faulty) for row, one in pairs)
    return tuple(sorted(unsorted, key=_badness))


def _log(row: PlanRow, bounds: Mapping[TopicPartition, range], proved: MovedOffset | None) -> range | None:
    log = None if row.where is None else bounds.get(row.where)
    if log is None or proved is None or proved.before_position is None or row.before_position is None:
        return log
    # The connector read until it was stopped, so the log had grown at least that far.
    progressed = proved.before_position > row.before_position
    return range(log.start, max(log.stop, proved.before_position)) if progressed else log


def _badness(move: PositionMove) -> tuple[bool, int, int, str, int, str]:
    row = move.row
    return (
        not move.is_wrong,
        -(move.records_never or 0),
        -(move.records_again or 0),
        row.topic or "",
        row.kafka_partition or 0,
        row.partition,
    )

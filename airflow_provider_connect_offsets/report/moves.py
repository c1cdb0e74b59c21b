"""What becomes of one partition: planned, and where there is an outcome, what really happened."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from airflow_provider_connect_offsets.offsets.families import TopicPartition
from airflow_provider_connect_offsets.offsets.plan import Action, PlanRow
from airflow_provider_connect_offsets.report import words
from airflow_provider_connect_offsets.workspace.outcome import MovedOffset


@dataclass(frozen=True, slots=True)
class Log:
    """Records of a log, from ``start`` up to, and without, ``end``."""

    start: int
    end: int

    def __len__(self) -> int:
        return self.end - self.start

    def __str__(self) -> str:
        return f"{self.start:,} to {self.end:,}"


class ReadBack(StrEnum):
    """What a partition was found at in the end."""

    WANTED = "as wanted"
    BEFORE = "as before"
    NEITHER = "neither as wanted nor as before"


@dataclass(frozen=True, slots=True)
class PositionMove:
    """A partition that the plan changes.

    ``log`` is None where the offsets are no positions in a Kafka log, or the log is not there. ``proved`` is what the
    change saw while the connector stood still, None where no change got that far. ``faulty``: an error names it.
    """

    row: PlanRow
    log: Log | None = None
    proved: MovedOffset | None = None
    faulty: bool = False

    @property
    def where(self) -> str:
        """The partition by the name people know it by."""
        row = self.row
        return row.partition if row.topic is None else f"{row.topic} · {row.kafka_partition}"

    @property
    def before_position(self) -> int | None:
        """Where it stood: when it was stopped if it was, else when the plan was made."""
        return self.row.before_position if self.proved is None else self.proved.before_position

    @property
    def after_position(self) -> int | None:
        """Where it is to resume."""
        return self.row.after_position if self.proved is None else self.proved.after_position

    @property
    def before_offset(self) -> str | None:
        """What was stored before, as JSON."""
        return self.row.before if self.proved is None else self.proved.before

    @property
    def after_offset(self) -> str | None:
        """What is to be stored, as JSON."""
        return self.row.after if self.proved is None else self.proved.after

    @property
    def before(self) -> str:
        """Where it stood, in words."""
        return words.position(self.before_offset, self.before_position)

    @property
    def after(self) -> str:
        """Where it is to resume, in words."""
        return words.position(self.after_offset, self.after_position)

    @property
    def stands(self) -> str | None:
        """What was read back at the end, in words; None where nothing was."""
        return None if self.proved is None else words.position(self.proved.stands, self.proved.stands_position)

    @property
    def read_back(self) -> ReadBack | None:
        """Whether what was read back is what was wanted; None where nothing was read back."""
        if self.proved is None:
            return None
        if self.proved.stands == self.proved.after:
            return ReadBack.WANTED
        return ReadBack.BEFORE if self.proved.stands == self.proved.before else ReadBack.NEITHER

    @property
    def is_wrong(self) -> bool:
        """Whether a reader has to look at this one first."""
        return self.faulty or self.read_back is ReadBack.NEITHER

    @property
    def between(self) -> Log | None:
        """The records of the log that lie between before and after; None where that isn't known."""
        before, after = self.before_position, self.after_position
        if before is None or after is None or self.log is None:
            return None
        low, high = sorted((before, after))
        start = min(max(low, self.log.start), self.log.end)
        return Log(start, max(start, min(high, self.log.end)))

    @property
    def records_again(self) -> int | None:
        """How many records it goes back over; None where that isn't known."""
        return None if self.between is None else len(self.between) * self._goes_back

    @property
    def records_never(self) -> int | None:
        """How many records it goes forward over; None where that isn't known."""
        return None if self.between is None else len(self.between) * (not self._goes_back)

    @property
    def astray(self) -> str:
        """On which side of the log's records it is to resume, where it isn't among them."""
        if self.log is None or self.after_position is None:
            return ""
        if self.after_position > self.log.end:
            return "beyond the log end"
        return "before the log start" if self.after_position < self.log.start else ""

    @property
    def effect(self) -> str:
        """What that means for whoever reads the records."""
        if self.faulty and self.astray:
            return self.astray
        if self.records_again:
            return f"{self.records_again:,} again"
        if self.records_never:
            return f"{self.records_never:,} never"
        if self.between is not None:
            return "no record"
        # Positions alone don't tell; the plan knew more, such as where auto.offset.reset would start.
        _, colon, counted = self.row.reason.rpartition(": ")
        removed = ["offset removed"] if self.row.action is Action.CLEAR and self.after_position is None else []
        return "; ".join([*removed, *([counted] if colon else [])]) or "not known"

    @property
    def _goes_back(self) -> bool:
        before, after = self.before_position, self.after_position
        return before is not None and after is not None and after < before


def moves(
    rows: Iterable[PlanRow],
    bounds: Mapping[TopicPartition, Log],
    proved: Iterable[MovedOffset],
    faulty: Collection[str],
) -> tuple[PositionMove, ...]:
    """Give the partitions that are changed, worst first: what is wrong, then what is lost, then what comes again."""
    seen = {moved.partition: moved for moved in proved}
    changed = (row for row in rows if row.action is not Action.KEEP)
    found = (
        PositionMove(row, _log(row, bounds, seen.get(row.partition)), seen.get(row.partition), row.partition in faulty)
        for row in changed
    )
    return tuple(sorted(found, key=_badness))


def _log(row: PlanRow, bounds: Mapping[TopicPartition, Log], proved: MovedOffset | None) -> Log | None:
    if row.topic is None or row.kafka_partition is None:
        return None
    log = bounds.get(TopicPartition(row.topic, row.kafka_partition))
    if log is None or proved is None or proved.before_position is None or row.before_position is None:
        return log
    # The connector went on reading until it was stopped, so the log had grown as far at least.
    progressed = proved.before_position > row.before_position
    return Log(log.start, max(log.end, proved.before_position)) if progressed else log


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

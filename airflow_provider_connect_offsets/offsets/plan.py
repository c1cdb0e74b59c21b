"""Plans: for each source partition of a connector, the offset before and after; identified by a digest."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

from airflow_provider_connect_offsets.exceptions import Drift, PlanRefused
from airflow_provider_connect_offsets.offsets.document import Entry, Offsets, canonical, parse_map
from airflow_provider_connect_offsets.offsets.families import FAMILIES, Family, TopicPartition
from airflow_provider_connect_offsets.offsets.requests.request import Request, To


class Action(StrEnum):
    """What is done with a partition: an offset is written, its offset is removed, or it is left alone."""

    SET = "set"
    CLEAR = "clear"
    KEEP = "keep"


@dataclass(frozen=True, slots=True)
class PlanRow:
    """One row of the dataset ``offset_plan``; partition, before and after are canonical JSON."""

    connector: str
    family: str
    partition: str
    topic: str | None
    kafka_partition: int | None
    before: str | None
    before_position: int | None
    after: str | None
    after_position: int | None
    action: Action
    reason: str

    def digest(self) -> str:
        """SHA-256 (hex) of what identifies the row, not the words of the reason; Spark's job works it out as well.

        A line for each field, empty for null: no name and no canonical JSON is empty or holds a line break.
        """
        fields = (self.connector, self.family, self.partition, self.before, self.after, self.action.value)
        return hashlib.sha256("\n".join(field or "" for field in fields).encode()).hexdigest()


def plan_digest(row_digests: Iterable[str]) -> str:
    """SHA-256 (hex) over the sorted digests of the rows, so that their order does not matter."""
    return hashlib.sha256("".join(sorted(row_digests)).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class OffsetPlan:
    """What is to become of one connector's offsets, and the request that it answers.

    ``was_running``: the connector ran when the plan was made, so its offsets may have gone forward since.
    ``observed_at``: when the offsets were observed that it was made from; None where nobody needs to know.
    """

    connector: str
    request: Request
    rows: tuple[PlanRow, ...]
    digest: str
    was_running: bool = False
    observed_at: datetime | None = None

    @classmethod
    def of(
        cls,
        request: Request,
        rows: Iterable[PlanRow],
        *,
        was_running: bool = False,
        observed_at: datetime | None = None,
    ) -> OffsetPlan:
        """Make a plan of its rows; raises :class:`PlanRefused` where a row is another connector's."""
        ordered = tuple(sorted(rows, key=lambda row: row.partition))
        stranger = next((row.connector for row in ordered if row.connector != request.connector), None)
        if stranger is not None:
            raise PlanRefused(f"the plan for {request.connector!r} holds a row of connector {stranger!r}")
        digest = plan_digest(row.digest() for row in ordered)
        return cls(request.connector, request, ordered, digest, was_running, observed_at)

    @property
    def family(self) -> Family:
        """The family of the connector."""
        return FAMILIES[self.rows[0].family] if self.rows else FAMILIES[Family.name]

    def changed_rows(self) -> tuple[PlanRow, ...]:
        """Rows that are not left alone."""
        return tuple(row for row in self.rows if row.action is not Action.KEEP)

    def changes(self) -> Offsets:
        """What is to be written."""
        return Offsets.of(Entry(row.partition, row.after) for row in self.changed_rows())

    def left_alone_at(self, offsets: Mapping[str, str | None]) -> list[str]:
        """Partitions that were requested, and are left alone because they were at ``offsets`` already."""
        if self.request.to is To.CURRENT:
            return []
        return [
            row.partition
            for row in self.rows
            if row.action is Action.KEEP
            and row.partition in offsets
            and offsets[row.partition] == row.before
            and self.request.selects(row.topic, row.kafka_partition)
        ]

    def rebased_on(
        self, stopped: Offsets, *, log_bounds: Mapping[TopicPartition, tuple[int, int]], moving: bool
    ) -> OffsetPlan:
        """Fit the plan to the offsets at which the connector stands now; raises :class:`Drift`.

        Normal progress since the plan is no drift: ``shift`` and ``skip`` count from the new position, and ``latest``
        stays where the connector has got to when that is further. What went backwards, vanished, or moved although
        the connector ran neither then nor until now (``moving``) was changed by someone else.

        log_bounds: fresh (log start, log end) of the partitions that moved; needed for ``shift`` and ``skip`` only.
        """
        stored = stopped.stored()
        moving = moving or self.was_running
        drifted = [
            message for row in self.rows if (message := self._drift(row, stored.get(row.partition), moving=moving))
        ]
        if drifted:
            more = f" (and {len(drifted) - 3} more)" if len(drifted) > 3 else ""
            raise Drift(
                f"{self.connector!r} was changed by someone else since the plan was made: "
                f"{'; '.join(drifted[:3])}{more}"
            )
        rows = (self._rebased_row(row, stored.get(row.partition), log_bounds) for row in self.rows)
        return replace(self, rows=tuple(rows))

    def moved_partitions(self, stopped: Offsets) -> list[TopicPartition]:
        """Kafka partitions to be changed whose position is another one than the plan saw."""
        stored = stopped.stored()
        return [
            TopicPartition(row.topic, row.kafka_partition)
            for row in self.changed_rows()
            if row.topic is not None and row.kafka_partition is not None and stored.get(row.partition) != row.before
        ]

    def _drift(self, row: PlanRow, now: str | None, *, moving: bool) -> str | None:
        if now == row.before:
            return None
        where = f"partition {row.partition} was at {row.before or 'no offset'} and is now at {now or 'no offset'}"
        if not moving or now is None:
            return where
        position = self.family.position(parse_map(now))
        backwards = position is not None and row.before_position is not None and position < row.before_position
        return where if backwards else None

    def _rebased_row(
        self, row: PlanRow, now: str | None, log_bounds: Mapping[TopicPartition, tuple[int, int]]
    ) -> PlanRow:
        if now == row.before or row.action is Action.KEEP:
            return row
        position = self.family.position(parse_map(now)) if now is not None else None
        if position is None or row.topic is None or row.kafka_partition is None:
            return row
        if self.request.to is To.LATEST and row.after_position is not None and position > row.after_position:
            return replace(row, after=now, after_position=position, action=Action.KEEP)
        if not self.request.to.is_relative or self.request.amount is None:
            return row
        log_start, log_end = log_bounds[TopicPartition(row.topic, row.kafka_partition)]
        after_position = max(position + self.request.amount, log_start)
        if after_position > log_end:
            raise Drift(
                f"{self.connector!r}, topic {row.topic!r}, partition {row.kafka_partition}: it stands at {position} "
                f"now, and {self.request} from there lies beyond the log end {log_end}"
            )
        offset = self.family.offset_at(after_position)
        after = None if offset is None else canonical(offset)
        return replace(
            row, after=after, after_position=after_position, action=Action.CLEAR if after is None else Action.SET
        )

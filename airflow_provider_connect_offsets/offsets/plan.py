"""Plans: the offset before and after of each source partition of a connector, identified by a digest."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

from airflow_provider_connect_offsets.exceptions import Drift, PlanRefused
from airflow_provider_connect_offsets.offsets.document import Entry, Offsets, canonical_json, parse_map
from airflow_provider_connect_offsets.offsets.families import Family, TopicPartition, family_named
from airflow_provider_connect_offsets.offsets.family import Config
from airflow_provider_connect_offsets.offsets.requests.place import To
from airflow_provider_connect_offsets.offsets.requests.request import Request


class Action(StrEnum):
    """What a plan does with a partition: write an offset, remove it, or leave it."""

    SET = "set"
    CLEAR = "clear"
    KEEP = "keep"


@dataclass(frozen=True, slots=True)
class PlanRow:
    """One row of the dataset ``offset_plan``.

    Attributes:
        connector: Name of the connector.
        family: Name of its family.
        partition: Source partition (canonical JSON).
        topic: Its Kafka topic; None if it has none.
        kafka_partition: Its Kafka partition, likewise.
        before: Stored offset (canonical JSON); None if none is stored.
        before_position: Position of ``before``; None if unknown.
        after: Offset after the change (canonical JSON); None if none is stored then.
        after_position: Position of ``after``; None if unknown.
        action: What the plan does with the partition.
        reason: Why; shown in reports.
    """

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

    @property
    def where(self) -> TopicPartition | None:
        """Its Kafka partition; None if it has none."""
        if self.topic is None or self.kafka_partition is None:
            return None
        return TopicPartition(self.topic, self.kafka_partition)

    def digest(self) -> str:
        """Return the SHA-256 (hex) of the row without positions and reason, as the Spark job computes it too.

        Hashes a line for each field, empty for null: no name or canonical JSON is empty or has a line break.
        """
        fields = (self.connector, self.family, self.partition, self.before, self.after, self.action.value)
        return hashlib.sha256("\n".join(field or "" for field in fields).encode()).hexdigest()


def plan_digest(row_digests: Iterable[str]) -> str:
    """Return the SHA-256 (hex) of the sorted digests of all rows, so that their order does not matter."""
    return hashlib.sha256("".join(sorted(row_digests)).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class OffsetPlan:
    """A planned change of one connector's offsets.

    Attributes:
        connector: Name of the connector.
        request: The request that the plan answers.
        rows: A row for each source partition, sorted by partition.
        digest: Identifies the plan, see :func:`plan_digest`.
        was_running: Whether the connector ran when the plan was made, so that its offsets may have progressed since.
        observed_at: When the offsets before the change were observed; None if irrelevant.
        config: The kept settings that the connector had then; None if unknown.
    """

    connector: str
    request: Request
    rows: tuple[PlanRow, ...]
    digest: str
    was_running: bool = False
    observed_at: datetime | None = None
    config: Config | None = None

    @classmethod
    def of(
        cls,
        request: Request,
        rows: Iterable[PlanRow],
        *,
        was_running: bool = False,
        observed_at: datetime | None = None,
        config: Config | None = None,
    ) -> OffsetPlan:
        """Make a plan from its rows; raises :class:`PlanRefused` if a row is another connector's."""
        ordered = tuple(sorted(rows, key=lambda row: row.partition))
        other = next((row.connector for row in ordered if row.connector != request.connector), None)
        if other is not None:
            raise PlanRefused(f"the plan for {request.connector!r} has a row of connector {other!r}")
        digest = plan_digest(row.digest() for row in ordered)
        return cls(request.connector, request, ordered, digest, was_running, observed_at, config)

    @property
    def family(self) -> Family:
        """Family of the connector."""
        return family_named(self.rows[0].family if self.rows else Family.name)

    def changed_rows(self) -> tuple[PlanRow, ...]:
        """Return the rows that change an offset."""
        return tuple(row for row in self.rows if row.action is not Action.KEEP)

    def changes(self) -> Offsets:
        """Return the offsets to write."""
        return Offsets.of(Entry(row.partition, row.after) for row in self.changed_rows())

    def list_left_alone(self, offsets: Mapping[str, str | None]) -> list[str]:
        """Return requested partitions that the plan leaves because they already had the offset in ``offsets``."""
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

    def rebase(
        self,
        stopped: Offsets,
        *,
        log_bounds: Mapping[TopicPartition, tuple[int, int]],
        moving: bool,
        next_records: Mapping[TopicPartition, int] | None = None,
    ) -> OffsetPlan:
        """Adapt the plan to the offsets at which the connector was stopped.

        Normal progress since the plan is not drift: ``shift`` and ``skip`` count from the new position, and ``latest``
        keeps the new position if it is further on.

        Args:
            stopped: All offsets of the stopped connector.
            log_bounds: Present log start and end offsets of the partitions in :meth:`moved_partitions`; needed for
                ``shift`` and ``skip`` only.
            moving: Whether the connector ran until it was stopped just now.
            next_records: The record that is read next, where the new position is before it; needed for ``skip`` only.

        Raises:
            Drift: Someone else changed an offset: it went backwards, vanished, or moved although the connector did not
                run; or a relative request now ends beyond the log end offset.
        """
        stored = stopped.by_partition()
        moving = moving or self.was_running
        drifted = [
            message for row in self.rows if (message := self._drift(row, stored.get(row.partition), moving=moving))
        ]
        if drifted:
            more = f" (and {len(drifted) - 3} more)" if len(drifted) > 3 else ""
            raise Drift(
                f"{self.connector!r} was changed by someone else after the plan was made: "
                f"{'; '.join(drifted[:3])}{more}"
            )
        known = next_records or {}
        rows = (self._rebase_row(row, stored.get(row.partition), log_bounds, known) for row in self.rows)
        return replace(self, rows=tuple(rows))

    def moved_partitions(self, stopped: Offsets) -> list[TopicPartition]:
        """Return the Kafka partitions of changed rows whose stored offset is no longer the one in the plan."""
        stored = stopped.by_partition()
        return [
            where
            for row in self.changed_rows()
            if (where := row.where) is not None and stored.get(row.partition) != row.before
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

    def _rebase_row(
        self,
        row: PlanRow,
        now: str | None,
        log_bounds: Mapping[TopicPartition, tuple[int, int]],
        next_records: Mapping[TopicPartition, int],
    ) -> PlanRow:
        if now == row.before or row.action is Action.KEEP:
            return row
        position = self.family.position(parse_map(now)) if now is not None else None
        where = row.where
        if position is None or where is None:
            return row
        if self.request.to is To.LATEST and row.after_position is not None and position > row.after_position:
            return replace(row, after=now, after_position=position, action=Action.KEEP)
        if not self.request.to.is_relative or self.request.amount is None:
            return row
        log_start, log_end = log_bounds[where]
        after_position = max(next_records.get(where, position) + self.request.amount, log_start)
        if after_position > log_end:
            raise Drift(
                f"{self.connector!r}, topic {row.topic!r}, partition {row.kafka_partition}: its position is now "
                f"{position}, and {self.request} would lead beyond the log end {log_end}"
            )
        offset = self.family.offset_at(after_position)
        after = None if offset is None else canonical_json(offset)
        return replace(
            row, after=after, after_position=after_position, action=Action.CLEAR if after is None else Action.SET
        )

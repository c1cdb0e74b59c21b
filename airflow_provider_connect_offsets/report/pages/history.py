"""Where a connector was in each kept snapshot of a series."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import TypeVar

from airflow_provider_connect_offsets.exceptions import DatasetError, InvalidInput
from airflow_provider_connect_offsets.report.charts.trend import PositionPoint, draw_positions
from airflow_provider_connect_offsets.report.pages.positions import SeenPosition, left_to_read, seen_positions
from airflow_provider_connect_offsets.workspace.datasets import read_dataset
from airflow_provider_connect_offsets.workspace.files import read_at_once
from airflow_provider_connect_offsets.workspace.schemas import CONNECTORS
from airflow_provider_connect_offsets.workspace.series import SnapshotSeries, read_record
from airflow_provider_connect_offsets.workspace.snapshots import SnapshotDirectory, SnapshotRecord

log = logging.getLogger(__name__)
Result = TypeVar("Result")

#: Partitions that the chart shows.
MOST_CHARTED = 8


@dataclass(frozen=True, slots=True)
class SeenAt:
    """A connector in one snapshot.

    Attributes:
        uri: the snapshot
        record: what is in it
        state: its state; None if the connector was not there
        family: its family; empty if it was not there
        tasks: the state of each task
        positions: its source partitions that had an offset
    """

    uri: str
    record: SnapshotRecord
    state: str | None
    family: str
    tasks: tuple[str, ...]
    positions: tuple[SeenPosition, ...]

    @property
    def left(self) -> int | None:
        """Offsets that were left to read; None if unknown."""
        return left_to_read(self.positions)


@dataclass(frozen=True, slots=True)
class History:
    """A connector in the kept snapshots of a series, the newest first."""

    connector: str
    seen: tuple[SeenAt, ...]

    @property
    def is_known(self) -> bool:
        """Whether any snapshot has the connector."""
        return any(one.state is not None for one in self.seen)

    @property
    def family(self) -> str:
        """Its family, as the newest snapshot that has it says; empty if none has it."""
        return next((one.family for one in self.seen if one.family), "")

    def moved(self) -> list[int | None]:
        """Return for each snapshot by how many offsets the positions had moved since the one before; None: unknown."""
        moves = [_moved(earlier, later) for later, earlier in pairwise(self.seen)]
        return [*moves, None] if self.seen else []

    def draw(self) -> str | None:
        """Draw the positions of the partitions that have most left to read; None if it has no positions."""
        newest = next((one.positions for one in self.seen if one.positions), ())
        known = [one for one in newest if one.position is not None]
        charted = sorted(known, key=lambda one: (-(one.left or 0), one.label))
        series = {one.label: self._points(one.partition) for one in charted[:MOST_CHARTED]}
        return draw_positions(series, name="positions")

    def _points(self, partition: str) -> list[PositionPoint]:
        points = []
        for one in reversed(self.seen):
            here = next((seen for seen in one.positions if seen.partition == partition), None)
            values = (None, None) if here is None else (here.position, here.left)
            points.append(PositionPoint(one.record.observed_at, *values))
        return points


def read_snapshots(series: SnapshotSeries, *, most: int) -> list[tuple[str, SnapshotRecord]]:
    """Read URI and record of the newest ``most`` snapshots of a series, without those that can't be read."""
    return list(filter(None, read_at_once(_or_none(_read), series.list_newest(most))))


def read_history(series: SnapshotSeries, connector: str, *, most: int) -> History:
    """Read where a connector was in the newest ``most`` snapshots of a series, without those that can't be read."""
    seen = read_at_once(_or_none(partial(_seen_at, connector)), series.list_newest(most))
    return History(connector, tuple(filter(None, seen)))


def _or_none(read: Callable[[str], Result]) -> Callable[[str], Result | None]:
    """Return None for what can't be read: it is not complete yet, pruned since, damaged, or of another version."""

    def try_to_read(uri: str) -> Result | None:
        try:
            return read(uri)
        except (DatasetError, InvalidInput):
            log.info("The snapshot %s is not shown.", uri, exc_info=True)
            return None

    return try_to_read


def _read(uri: str) -> tuple[str, SnapshotRecord]:
    return uri, read_record(SnapshotDirectory(uri))


def _seen_at(connector: str, uri: str) -> SeenAt:
    snapshot, record = SnapshotDirectory(uri), read_record(SnapshotDirectory(uri))
    rows = read_dataset(snapshot.connectors, CONNECTORS, connector=[connector])
    if not rows:
        return SeenAt(uri, record, None, "", (), ())
    positions = seen_positions(snapshot, record, connector=[connector])[connector]
    tasks = tuple(task["state"] for task in json.loads(rows[0]["tasks"]))
    stored = tuple(one for one in positions if one.offset is not None)
    return SeenAt(uri, record, rows[0]["state"], rows[0]["family"], tasks, stored)


def _moved(earlier: SeenAt, later: SeenAt) -> int | None:
    """Return by how many offsets the positions that both have are apart; None if they have none."""
    before = {one.partition: one.position for one in earlier.positions if one.position is not None}
    moves = [
        one.position - before[one.partition]
        for one in later.positions
        if one.position is not None and one.partition in before
    ]
    return sum(moves) if moves else None

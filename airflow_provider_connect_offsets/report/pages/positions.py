"""Where connectors were in a kept snapshot."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from airflow_provider_connect_offsets.workspace.datasets import read_dataset
from airflow_provider_connect_offsets.workspace.schemas import CONNECTOR_OFFSETS, LOG_BOUNDS
from airflow_provider_connect_offsets.workspace.snapshots import SnapshotDirectory, SnapshotRecord


@dataclass(frozen=True, slots=True)
class SeenPosition:
    """A source partition of a connector in a snapshot.

    Attributes:
        partition: the source partition (canonical JSON)
        topic: topic and number of the Kafka partition, like ``orders 3``; empty if it is none
        offset: the stored offset (canonical JSON); None if none was stored
        position: the next record to be read; None if the offset is no position, or nothing was stored
        left: offsets from there to the log end; None if the log was not observed
    """

    partition: str
    topic: str
    offset: str | None
    position: int | None
    left: int | None

    @property
    def label(self) -> str:
        """What it is called."""
        return self.topic or self.partition


def seen_positions(
    snapshot: SnapshotDirectory, record: SnapshotRecord, **where: Collection[str]
) -> dict[str, list[SeenPosition]]:
    """Read the positions of a snapshot by connector; ``where``: as in :func:`read_dataset`, which also has the errors.

    Args:
        snapshot: the snapshot
        record: what is in it
        where: columns of ``connector_offsets``, and the values to read
    """
    rows = read_dataset(snapshot.connector_offsets, CONNECTOR_OFFSETS, **where)
    topics = {row["topic"] for row in rows if row["topic"] is not None}
    ends = {
        (row["kafka_cluster"], row["topic"], row["kafka_partition"]): row["log_end"]
        for row in read_dataset(snapshot.log_bounds, LOG_BOUNDS, topic=topics)
    }
    seen = defaultdict[str, list[SeenPosition]](list)
    for row in rows:
        topic, number, position = row["topic"], row["kafka_partition"], row["position"]
        end = ends.get((record.logs.get(row["family"], ""), topic, number))
        left = None if end is None or position is None else max(0, end - position)
        label = "" if topic is None else f"{topic} {number}"
        seen[row["connector"]].append(SeenPosition(row["partition"], label, row["offset"], position, left))
    return seen


def left_to_read(positions: Iterable[SeenPosition]) -> int | None:
    """Return the offsets up to the ends of the logs that were observed; None if none was."""
    known = [one.left for one in positions if one.left is not None]
    return sum(known) if known else None

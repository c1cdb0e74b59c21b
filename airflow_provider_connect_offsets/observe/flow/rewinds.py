"""Where a flow stands on both clusters while it stands still: exact pairs of offsets, kept for later translation.

Two such pairs of one generation translate all that lies between them. A reset that moves the flow back ends one
generation and begins another; of the partitions that it leaves alone, both pairs are of the same one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from airflow_provider_connect_offsets.observe.clients import Clients
from airflow_provider_connect_offsets.observe.flow.flow_snapshot import remote_bounds
from airflow_provider_connect_offsets.offsets.document import Offsets, parse_map
from airflow_provider_connect_offsets.offsets.families import TopicPartition
from airflow_provider_connect_offsets.offsets.flow import Flow, Side
from airflow_provider_connect_offsets.offsets.plan import Action, OffsetPlan, PlanRow
from airflow_provider_connect_offsets.workspace.datasets import read_dataset, write_dataset
from airflow_provider_connect_offsets.workspace.flow_schemas import REWINDS
from airflow_provider_connect_offsets.workspace.layout import ResetDirectory
from airflow_provider_connect_offsets.workspace.paths import join


def keep_rewinds(run: ResetDirectory, plan: OffsetPlan, at_stop: Offsets, clients: Clients, flow: Flow) -> None:
    """Write dataset ``rewinds``; the flow must stand still. Raises store errors."""
    topics = {row.topic for row in plan.rows if row.topic is not None}
    bounds = remote_bounds(clients.clusters[Side.TARGET], flow, topics)
    ends = {where: found.log_end for where, found in bounds.items()}
    remote = {flow.target_topic(topic) for topic in topics}
    ids = TopicIds(clients.clusters[Side.SOURCE].topic_ids(topics), clients.clusters[Side.TARGET].topic_ids(remote))
    write_dataset(run.rewinds, REWINDS, rewinds(plan, at_stop, ends, flow, now=datetime.now(tz=UTC), ids=ids))


@dataclass(frozen=True, slots=True)
class TopicIds:
    """Ids of the topics on either cluster, by name."""

    source: Mapping[str, str]
    target: Mapping[str, str]


def rewinds(
    plan: OffsetPlan,
    at_stop: Offsets,
    ends: dict[TopicPartition, int],
    flow: Flow,
    *,
    now: datetime,
    ids: TopicIds,
) -> Iterator[dict[str, Any]]:
    """Rows of dataset ``rewinds``. ends: log ends of the remote topics, 0 where there is none yet."""
    stored = at_stop.stored()
    for row in plan.rows:
        if row.topic is None or row.kafka_partition is None:
            continue
        end = ends.get(TopicPartition(flow.target_topic(row.topic), row.kafka_partition), 0)
        position = _position(plan, stored.get(row.partition))
        closes = position is not None and end > 0
        yield {
            "topic": row.topic,
            "kafka_partition": row.kafka_partition,
            "closing_upstream": position - 1 if closes and position is not None else None,
            "closing_downstream": end - 1 if closes else None,
            "opening_upstream": _opening(row, position),
            "opening_downstream": end,
            "written_at": now,
            "topic_id": ids.source.get(row.topic),
            "target_topic_id": ids.target.get(flow.target_topic(row.topic)),
        }


def append_rewinds(run: ResetDirectory, root: str, *, digest: str) -> str:
    """Copy the run's ``rewinds`` to where those of all resets lie, under a name of their own; returns where.

    Done again, it writes the same once more.
    """
    rows = read_dataset(run.rewinds, REWINDS)
    stopped_at = min((row["written_at"] for row in rows), default=datetime.now(tz=UTC))
    uri = join(root, f"{stopped_at:%Y%m%dT%H%M%S}Z-{digest[:12]}")
    write_dataset(uri, REWINDS, rows)
    return uri


def _position(plan: OffsetPlan, offset: str | None) -> int | None:
    return None if offset is None else plan.family.position(parse_map(offset))


def _opening(row: PlanRow, position: int | None) -> int | None:
    """The next record to be replicated; None where ``auto.offset.reset`` decides."""
    return position if row.action is Action.KEEP else row.after_position

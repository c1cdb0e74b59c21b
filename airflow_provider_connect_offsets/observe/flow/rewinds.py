"""Keeps the exact offset mappings at which a flow is stopped, for later translations.

Two mappings of one generation translate all offsets between them. A reset that moves a partition back ends one
generation (its closing mapping) and begins another (its opening mapping); in a partition that it leaves alone, both
mappings belong to the same generation.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from airflow_provider_connect_offsets.observe.clients import Clients
from airflow_provider_connect_offsets.observe.flow.flow_snapshot import remote_bounds
from airflow_provider_connect_offsets.observe.flow.topic_ids import TopicIds
from airflow_provider_connect_offsets.offsets.document import Offsets
from airflow_provider_connect_offsets.offsets.families import TopicPartition
from airflow_provider_connect_offsets.offsets.flow import Flow, Side
from airflow_provider_connect_offsets.offsets.plan import Action, OffsetPlan, PlanRow
from airflow_provider_connect_offsets.workspace.datasets import read_dataset, write_dataset
from airflow_provider_connect_offsets.workspace.flow_schemas import REWINDS
from airflow_provider_connect_offsets.workspace.layout import ResetDirectory
from airflow_provider_connect_offsets.workspace.paths import join


def keep_rewinds(run: ResetDirectory, plan: OffsetPlan, at_stop: Offsets, clients: Clients, flow: Flow) -> None:
    """Write the dataset ``rewinds``; the flow must be stopped on ``at_stop``. Raises store errors."""
    names = {row.topic: flow.target_topic(row.topic) for row in plan.rows if row.topic is not None}
    source, target = clients.clusters[Side.SOURCE], clients.clusters[Side.TARGET]
    ends = {where: bounds.log_end for where, bounds in remote_bounds(target, flow, set(names)).items()}
    ids = TopicIds.observed(names, source, target)
    write_dataset(run.rewinds, REWINDS, rewinds(plan, at_stop, ends, flow, now=datetime.now(tz=UTC), ids=ids))


def rewinds(
    plan: OffsetPlan,
    at_stop: Offsets,
    ends: dict[TopicPartition, int],
    flow: Flow,
    *,
    now: datetime,
    ids: TopicIds,
) -> Iterator[dict[str, Any]]:
    """Yield the rows of the dataset ``rewinds``.

    Args:
        plan: The reset.
        at_stop: The offsets at which the MirrorSource is stopped.
        ends: Log end offsets of the remote topics; a missing partition does not exist yet and ends at 0.
        flow: The flow.
        now: The time of the stop.
        ids: Ids of the topics.
    """
    stored = at_stop.stored()
    for row in plan.rows:
        if row.topic is None or row.kafka_partition is None:
            continue
        end = ends.get(TopicPartition(flow.target_topic(row.topic), row.kafka_partition), 0)
        position = plan.family.position_in(stored.get(row.partition))
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
    """Copy the run's dataset ``rewinds`` into the directory with those of all resets of the flow.

    A repeated call writes the same dataset once more.

    Args:
        run: Directory of the run.
        root: URI of the directory for all resets.
        digest: Digest of the plan; part of the new dataset's name.

    Returns:
        URI of the new dataset.
    """
    rows = read_dataset(run.rewinds, REWINDS)
    stopped_at = min((row["written_at"] for row in rows), default=datetime.now(tz=UTC))
    uri = join(root, f"{stopped_at:%Y%m%dT%H%M%S}Z-{digest[:12]}")
    write_dataset(uri, REWINDS, rows)
    return uri


def _opening(row: PlanRow, position: int | None) -> int | None:
    """Return the offset of the next record to be replicated; None if ``auto.offset.reset`` decides."""
    return position if row.action is Action.KEEP else row.after_position

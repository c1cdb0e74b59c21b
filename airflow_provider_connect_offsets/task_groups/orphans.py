"""The search for offsets whose connector is gone, and their removal, as one task group."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from airflow.sdk import TaskGroup

from airflow_provider_connect_offsets.operators.orphans import (
    ApproveRemovalOperator,
    FindOrphanedOffsetsOperator,
    RemoveOrphanedOffsetsOperator,
    SnapshotStoredOffsetsOperator,
)

if TYPE_CHECKING:
    from collections.abc import Mapping


def orphaned_offsets(  # noqa: PLR0913 - each by its name
    *,
    offsets_topic: str = "connect-offsets",
    connectors: str = "",
    older_than: str = "",
    remove: bool | str = False,
    approval: bool | str = True,
    approval_timeout: timedelta | None = timedelta(hours=12),
    connect_conn_id: str = "kafka_connect_default",
    kafka_conn_id: str = "kafka_default",
    spark_conn_id: str = "spark_default",
    spark: Mapping[str, Any] | None = None,
    group_id: str = "orphans",
    part: str = "",
) -> TaskGroup:
    """Snapshot, find, approve, remove: offsets in ``offsets_topic`` whose connector no longer exists.

    Every argument but ``approval_timeout``, ``spark`` and ``group_id`` may be a template. Where ``remove`` is false or
    nothing is orphaned, after a rejection, and after ``approval_timeout`` without an answer, nothing is removed and the
    run is a success. ``spark``: more arguments for the ``SparkSubmitOperator`` that searches (``conf``,
    ``executor_memory``, …). ``part`` keeps several groups of a DAG apart.
    """
    retrying: dict[str, Any] = {"retries": 2, "retry_delay": timedelta(seconds=10)}
    clients = {"connect_conn_id": connect_conn_id, "kafka_conn_id": kafka_conn_id}
    with TaskGroup(group_id) as group:
        snapshot = SnapshotStoredOffsetsOperator(
            task_id="snapshot",
            offsets_topic=offsets_topic,
            connectors=connectors,
            older_than=older_than,
            part=part,
            **clients,
            **retrying,
        )
        located: dict[str, Any] = {"run_uri": snapshot.output}
        find = FindOrphanedOffsetsOperator(
            task_id="find", conn_id=spark_conn_id, **located, **{**retrying, **(spark or {})}
        )
        found: Any = find.output
        approve = ApproveRemovalOperator(
            task_id="approve",
            summary=found,
            remove=remove,
            approval=approval,
            defaults=ApproveRemovalOperator.REJECT,
            response_timeout=approval_timeout,
            retries=0,  # no second question
        )
        removal = RemoveOrphanedOffsetsOperator(
            task_id="remove", digest=found["digest"], **located, **clients, **retrying
        )
        find >> approve >> removal
    return group

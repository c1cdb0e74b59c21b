"""A MirrorMaker 2 flow's readiness for a failover, as one task group."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from airflow.sdk import TaskGroup

from airflow_provider_connect_offsets.operators.readiness import (
    JudgeMirrorReadinessOperator,
    RequireMirrorReadyOperator,
    SnapshotMirrorReadinessOperator,
)

if TYPE_CHECKING:
    from collections.abc import Mapping


def mirror_readiness(  # noqa: PLR0913 - each by its name
    *,
    source_connector: str,
    checkpoint_connector: str = "",
    groups: str = "",
    thresholds: Mapping[str, Any] | None = None,
    keep: int | str = 672,
    control: str = "rest",
    connect_conn_id: str = "kafka_connect_default",
    source_kafka_conn_id: str = "kafka_source",
    target_kafka_conn_id: str = "kafka_target",
    spark_conn_id: str = "spark_default",
    spark: Mapping[str, Any] | None = None,
    group_id: str = "readiness",
    part: str = "",
) -> TaskGroup:
    """Snapshot, judge, and a last task that fails where a threshold is crossed; the page is written before that.

    Every argument but ``spark`` and ``group_id`` may be a template. ``thresholds``: by name
    (``offsets.requests.readiness.Thresholds``), 0: only shown. ``keep``: how many runs the history holds. ``spark``:
    more arguments for the ``SparkSubmitOperator`` that judges. ``part`` keeps several groups of a DAG apart.
    """
    retrying: dict[str, Any] = {"retries": 2, "retry_delay": timedelta(seconds=10)}
    with TaskGroup(group_id) as group:
        snapshot = SnapshotMirrorReadinessOperator(
            task_id="snapshot",
            source_connector=source_connector,
            checkpoint_connector=checkpoint_connector,
            groups=groups,
            thresholds=thresholds,
            connect_conn_id=connect_conn_id,
            source_kafka_conn_id=source_kafka_conn_id,
            target_kafka_conn_id=target_kafka_conn_id,
            control=control,
            part=part,
            **retrying,
        )
        located: dict[str, Any] = {"run_uri": snapshot.output}
        judge = JudgeMirrorReadinessOperator(
            task_id="judge", conn_id=spark_conn_id, keep=keep, **located, **{**retrying, **(spark or {})}
        )
        RequireMirrorReadyOperator(task_id="ready", summary=judge.output, retries=0)
    return group

"""Find offsets whose connector no longer exists, and remove them if requested."""

from __future__ import annotations

from typing import Any

from airflow_provider_connect_offsets import task_groups
from airflow_provider_connect_offsets.dags.ready import ready_dag
from airflow_provider_connect_offsets.task_groups.observing import ORPHANS


@ready_dag(*ORPHANS, description="Find and remove offsets whose connector no longer exists", max_active_runs=1)
def connector_offsets_orphans(**values: Any) -> None:
    """### Offsets of connectors that no longer exist

    When a source connector is deleted, Kafka Connect leaves its offsets in the offsets topic. A connector that is
    created later with the same name resumes from them, which surprises people. This run finds such offsets, and its
    report shows how many they are, how large, when they were last written, and their last values.

    Without `remove` the run only reports. With it, someone approves first (Required Actions). Then the topic is read
    once more, the offsets are written to `removed.json` in the run's directory (a KIP-199 document, from which they can
    be imported again), and a tombstone is written for each of them. Reading the topic again proves that none is left.
    If a connector was created again meanwhile, or any of its offsets was written, its offsets are not touched, and the
    run fails and names it.

    `kafka_conn_id` must be the Kafka cluster of the Connect workers, and the topic that of this very Connect cluster:
    if two Connect clusters share a Kafka cluster, the offsets of one look orphaned to the other.
    """
    task_groups.orphaned_offsets(**values)

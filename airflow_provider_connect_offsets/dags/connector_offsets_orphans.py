"""Find offsets whose connector no longer exists, and remove them where that is wanted."""

from __future__ import annotations

from typing import Any

from airflow_provider_connect_offsets import task_groups
from airflow_provider_connect_offsets.dags.ready import ready_dag
from airflow_provider_connect_offsets.task_groups.observing import ORPHANS


@ready_dag(*ORPHANS, description="Find and remove offsets whose connector no longer exists", max_active_runs=1)
def connector_offsets_orphans(**values: Any) -> None:
    """### Offsets of connectors that are gone

    Kafka Connect leaves the offsets of a source connector in its offsets topic when the connector is deleted. A
    connector that is created later under the same name goes on from there, to the surprise of some people. This run
    finds such offsets: how many, how large, when they were last written, and their last values. The report shows them.

    Without `remove` it only reports. With it, someone approves first (Required Actions); then everything is read once
    more, what is about to be removed is written to `removed.json` in the run's directory (a KIP-199 document, from
    which it can be imported again), and a tombstone is written for each offset. The topic is read again to prove that
    none is left. A connector that was created again meanwhile, or of which anything was written, is left alone, and
    the run fails and names it.

    `kafka_conn_id` must be the Kafka cluster that Connect itself works on. The topic must be that of this very Connect
    cluster: where two share a Kafka, the one's offsets look orphaned to the other.
    """
    task_groups.orphaned_offsets(**values)

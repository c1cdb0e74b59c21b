"""Skip the record on which a sink has failed, and no other."""

from __future__ import annotations

from typing import Any

from airflow_provider_connect_offsets import task_groups
from airflow_provider_connect_offsets.dags.ready import ready_dag
from airflow_provider_connect_offsets.task_groups.poison import POISON


@ready_dag(*POISON, description="Skip the one record on which a sink has failed", max_active_runs=1)
def connector_offsets_poison(**values: Any) -> None:
    """### Skip the record on which a sink has failed

    A sink fails on a record that its converter or a transformation can't read. The error names neither topic nor
    offset, and the committed position is only the start of the poll that failed. This run finds the record: by reading
    from the committed position, if a JSON converter failed and no record before it is undelivered; otherwise the sink
    runs with one record a poll until it fails again, and Connect reports the record. Its own configuration is restored
    after that, however the run ends.

    The record is kept in the run's directory, someone approves (Required Actions), and exactly that record is skipped:
    the sink is stopped, its position is moved by one record and read back, and it is resumed. Without approval, up to
    `max_skips` records are skipped like that, one after the other.

    If the sink has failed for anything else (a system that is down, wrong credentials), nothing is skipped, and the run
    fails and says so. `kafka_conn_id` must be the Kafka cluster whose topics the sink reads.
    """
    task_groups.skipped_poison_record(**values)

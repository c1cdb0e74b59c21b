"""Each step that can be deferred, in a row: stop, replay, resume, and wait until all was delivered again."""

from __future__ import annotations

from datetime import timedelta

from airflow.sdk import DAG, Param, chain

from airflow_provider_connect_offsets.operators import (
    AlterConnectorOffsetsOperator,
    ResumeConnectorOperator,
    StopConnectorOperator,
)
from airflow_provider_connect_offsets.sensors.connector import ConnectorPositionSensor, ConnectorStateSensor
from airflow_provider_connect_offsets.sensors.group import ConsumerGroupInactiveSensor

CONNECTOR = "{{ params.connector }}"
BEGINNING = {"partition": {"kafka_topic": "{{ params.topic }}", "kafka_partition": 0}, "offset": {"kafka_offset": 0}}

with DAG(
    dag_id="deferred_steps",
    schedule=None,
    params={
        "connector": Param("", type="string"),
        "topic": Param("", type="string"),
        "control": Param("rest", type="string"),
    },
    # Airflow fails the first task of a busy machine now and then: its API server does not answer yet (docs/seen.md).
    default_args={
        "control": "{{ params.control }}",
        "poke_interval": 0.5,
        "retries": 2,
        "retry_delay": timedelta(seconds=1),
    },
) as dag:
    chain(
        StopConnectorOperator(task_id="stop", connector=CONNECTOR, deferrable=True),
        ConnectorStateSensor(task_id="is_stopped", connector=CONNECTOR, state="STOPPED", deferrable=True),
        ConsumerGroupInactiveSensor(task_id="is_left", group=f"connect-{CONNECTOR}", deferrable=True),
        AlterConnectorOffsetsOperator(task_id="alter", connector=CONNECTOR, offsets=[BEGINNING]),
        ResumeConnectorOperator(task_id="resume", connector=CONNECTOR, deferrable=True),
        ConnectorPositionSensor(task_id="has_caught_up", connector=CONNECTOR, deferrable=True),
    )

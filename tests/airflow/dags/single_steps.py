"""Every single-step operator and the sensor in a row, on the connector that Param ``connector`` names."""

from __future__ import annotations

from airflow.sdk import DAG, Param, chain

from airflow_provider_connect_offsets.operators import (
    AlterConnectorOffsetsOperator,
    GetConnectorOffsetsOperator,
    PauseConnectorOperator,
    ResetConnectorOffsetsOperator,
    ResumeConnectorOperator,
    StopConnectorOperator,
)
from airflow_provider_connect_offsets.sensors.connector import ConnectorStateSensor

CONNECTOR = "{{ params.connector }}"

with DAG(
    dag_id="single_steps",
    schedule=None,
    params={
        "connector": Param("", type="string"),
        "topic": Param("", type="string"),
        "control": Param("rest", type="string"),
    },
    default_args={"control": "{{ params.control }}"},
) as dag:
    chain(
        ConnectorStateSensor(task_id="is_running", connector=CONNECTOR),
        PauseConnectorOperator(task_id="pause", connector=CONNECTOR),
        ConnectorStateSensor(task_id="is_paused", connector=CONNECTOR, state="PAUSED"),
        StopConnectorOperator(task_id="stop", connector=CONNECTOR, kafka_conn_id="kafka_default"),
        ConnectorStateSensor(task_id="is_stopped", connector=CONNECTOR, state="STOPPED"),
        ResetConnectorOffsetsOperator(task_id="reset", connector=CONNECTOR),
        AlterConnectorOffsetsOperator(
            task_id="alter",
            connector=CONNECTOR,
            offsets=[
                {
                    "partition": {"kafka_topic": "{{ params.topic }}", "kafka_partition": 0},
                    "offset": {"kafka_offset": 97},
                }
            ],
        ),
        GetConnectorOffsetsOperator(task_id="get", connector=CONNECTOR),
        ResumeConnectorOperator(task_id="resume", connector=CONNECTOR),
        ConnectorStateSensor(task_id="is_running_again", connector=CONNECTOR),
    )

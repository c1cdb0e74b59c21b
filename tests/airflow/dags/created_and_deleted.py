"""Create a sink at an offset, wait until it has read its topic, and delete it with its offsets."""

from __future__ import annotations

from airflow.sdk import DAG, Param, chain

from airflow_provider_connect_offsets.operators import CreateConnectorOperator, DeleteConnectorOperator
from airflow_provider_connect_offsets.sensors.connector import ConnectorPositionSensor

CONNECTOR, TOPIC = "{{ params.connector }}", "{{ params.topic }}"

with DAG(
    dag_id="created_and_deleted",
    schedule=None,
    params={
        "connector": Param("", type="string"),
        "topic": Param("", type="string"),
        "file": Param("", type="string"),
        "control": Param("rest", type="string"),
    },
    default_args={"control": "{{ params.control }}"},
) as dag:
    chain(
        CreateConnectorOperator(
            task_id="create",
            connector=CONNECTOR,
            config={
                "connector.class": "org.apache.kafka.connect.file.FileStreamSinkConnector",
                "topics": TOPIC,
                "file": "{{ params.file }}",
            },
            offsets=[
                {"partition": {"kafka_topic": TOPIC, "kafka_partition": 0}, "offset": {"kafka_offset": 15}},
            ],
        ),
        ConnectorPositionSensor(task_id="has_caught_up", connector=CONNECTOR, poke_interval=0.5, timeout=60),
        DeleteConnectorOperator(task_id="delete", connector=CONNECTOR, kafka_conn_id="kafka_default"),
    )

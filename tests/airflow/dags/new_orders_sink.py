from airflow.sdk import DAG

from airflow_provider_connect_offsets.operators import CreateConnectorOperator

with DAG(
    "new_orders_sink",
    schedule=None,
    params={"connector": "orders-sink", "topic": "orders", "file": "/data/orders.txt"},
) as dag:
    CreateConnectorOperator(
        task_id="create",
        connector="{{ params.connector }}",
        config={
            "connector.class": "FileStreamSink",
            "topics": "{{ params.topic }}",
            "file": "{{ params.file }}",
            "key.converter": "org.apache.kafka.connect.storage.StringConverter",
            "value.converter": "org.apache.kafka.connect.storage.StringConverter",
        },
        offsets=[
            {
                "partition": {"kafka_topic": "{{ params.topic }}", "kafka_partition": 0},
                "offset": {"kafka_offset": 15},
            }
        ],
    )

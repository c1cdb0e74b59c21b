from airflow.sdk import DAG

from airflow_provider_connect_offsets.operators import CopyConnectorOperator, RenameConnectorOperator

with DAG("split_orders", schedule=None, params={"connector": "orders"}) as dag:
    rename = RenameConnectorOperator(
        task_id="rename", connector="{{ params.connector }}", new_name="{{ params.connector }}-eu"
    )
    split = CopyConnectorOperator(
        task_id="split",
        connector="{{ params.connector }}-eu",
        new_name="{{ params.connector }}-us",
        config={"topics": "{{ params.connector }}-us", "consumer.override.group.id": None},
        stop_original=True,
    )
    rename >> split

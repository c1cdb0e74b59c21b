from airflow.sdk import DAG

from airflow_provider_connect_offsets.operators import GetConnectorStatusOperator, UpdateConnectorConfigOperator

with DAG("more_tasks", params={"connector": "orders-sink"}, schedule=None):
    connector = "{{ params.connector }}"
    update = UpdateConnectorConfigOperator(
        task_id="more_tasks", connector=connector, config={"tasks.max": 2, "errors.log.enable": True}
    )
    update >> GetConnectorStatusOperator(task_id="status", connector=connector)

from airflow.sdk import DAG

from airflow_provider_connect_offsets.operators import DeleteConnectorOperator

with DAG("old_orders_sink", schedule=None, params={"connector": "orders-sink"}) as dag:
    DeleteConnectorOperator(task_id="delete", connector="{{ params.connector }}", kafka_conn_id="kafka_default")

from airflow.sdk import DAG

from airflow_provider_connect_offsets.operators import CreateConnectorOperator

with DAG("new_mirror", schedule=None) as dag:
    CreateConnectorOperator(
        task_id="create",
        connector="orders-mirror",
        config={
            "connector.class": "org.apache.kafka.connect.mirror.MirrorSourceConnector",
            "topics": "orders.*",
            "source.cluster.alias": "source",
            "source.cluster.bootstrap.servers": "source:9092",
            "target.cluster.alias": "target",
            "target.cluster.bootstrap.servers": "target:9092",
        },
        start_at="latest",
        kafka_conn_id="kafka_source",
    )

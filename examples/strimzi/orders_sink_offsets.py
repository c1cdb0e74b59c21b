"""Change where the connector orders-sink resumes, through its KafkaConnector resource.

It needs four Airflow connections. In a cluster where Airflow itself runs, kubernetes_default can be left out:

    airflow connections add kubernetes_default --conn-type kubernetes \
        --conn-extra '{"kube_config_path": "/secrets/config"}'
    airflow connections add strimzi --conn-type kafka_connect \
        --conn-extra '{"strimzi_cluster": "my-connect", "strimzi_namespace": "kafka"}'
    airflow connections add kafka_default --conn-type kafka \
        --conn-extra '{"bootstrap.servers": "my-cluster-kafka-bootstrap.kafka:9092"}'
    airflow connections add spark_default --conn-type spark --conn-host 'local[*]'

To read everything again:

    airflow dags trigger orders_sink_offsets --conf '{"to": "earliest"}'
"""

from airflow_provider_connect_offsets.dags import connector_offsets_change

dag = connector_offsets_change(
    dag_id="orders_sink_offsets",
    params={"connector": "orders-sink", "control": "strimzi", "connect_conn_id": "strimzi"},
)

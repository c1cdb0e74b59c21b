"""Airflow connections, and how they are used."""

from __future__ import annotations

from typing import ClassVar

from airflow_provider_connect_offsets.parameters.fields import (
    Parameters,
    Section,
    Text,
    argument,
    choice,
    connection,
    optional,
)

_CONTROL: dict[str | None, str] = {
    "rest": "rest: Connect's REST API",
    "storage": "storage: offsets topic or file, process down",
}


def _connect() -> str:
    default = "kafka_connect_default"
    made: str = connection("Connect connection", "Airflow connection of the Connect cluster.", default=default)
    return made


def _control() -> str:
    made: str = choice(
        "Control",
        "rest: by Connect's REST API. storage: in the offsets topic or file that the Connect connection names, while "
        "the process is down; for dedicated MirrorMakers, standalone workers, and workers before Kafka 3.6.",
        section=Section.CONNECTIONS,
        values=_CONTROL,
        default="rest",
    )
    return made


class ConnectorConnectionParams(Parameters):
    """The Connect cluster of a connector, and the Kafka cluster that its positions refer to."""

    control: Text = _control()
    connect_conn_id: Text = _connect()
    kafka_conn_id: Text = optional(
        "Kafka connection",
        "Airflow connection of the Kafka cluster that the positions refer to: a MirrorSource's source cluster, a "
        "sink's own. Empty for connectors whose offsets are not positions.",
        section=Section.CONNECTIONS,
        example="kafka_source",
        default="kafka_default",
    )
    database_conn_id: Text = optional(
        "Database connection",
        "Airflow connection (type postgres) of the PostgreSQL that a Debezium connector reads, so that an LSN is "
        "compared with its replication slot before anything is stopped. May be empty.",
        section=Section.CONNECTIONS,
        example="orders_database",
    )


class GroupConnectionParams(Parameters):
    """The Kafka cluster of consumer groups."""

    kafka_conn_id: Text = connection(
        "Kafka connection", "Airflow connection of the consumer groups' Kafka cluster.", default="kafka_default"
    )


class MirrorClustersParams(Parameters):
    """Both Kafka clusters of a MirrorMaker 2 flow."""

    source_kafka_conn_id: Text = connection(
        "Source Kafka connection", "Airflow connection of the flow's source cluster.", default="kafka_source"
    )
    target_kafka_conn_id: Text = connection(
        "Target Kafka connection", "Airflow connection of the flow's target cluster.", default="kafka_target"
    )


class FlowConnectionParams(MirrorClustersParams):
    """The Connect cluster of a MirrorMaker 2 flow, and both of its Kafka clusters."""

    first: ClassVar[tuple[str, ...]] = ("control", "connect_conn_id")

    control: Text = _control()
    connect_conn_id: Text = _connect()


class FailoverConnectionParams(MirrorClustersParams):
    """The connections of a failover."""

    first: ClassVar[tuple[str, ...]] = ("connect_conn_id",)

    connect_conn_id: Text = _connect()


class FailoverClientsParams(FailoverConnectionParams):
    """The connections of a task of a failover or failback."""

    forward_connect_conn_id: Text = argument(
        "Of a failback, the Airflow connection of the Connect cluster of the flow that brought the records, and of the "
        "one that leads back if ``connect_conn_id`` is empty; else empty.",
        default="",
    )


class FailbackConnectionParams(FailoverConnectionParams):
    """The connections of a failback: those of the failover, the other way round."""

    first: ClassVar[tuple[str, ...]] = ("forward_connect_conn_id", "connect_conn_id")

    forward_connect_conn_id: Text = connection(
        "Connect connection",
        "Airflow connection of the Connect cluster of the MirrorSource from home.",
        default="kafka_connect_default",
    )
    connect_conn_id: Text = optional(
        "Connect connection, leading back",
        "Airflow connection of the Connect cluster of the flow that leads back. Empty: the same.",
        section=Section.CONNECTIONS,
        example="kafka_connect_back",
    )
    source_kafka_conn_id: Text = connection(
        "Where the groups are", "Airflow connection of the cluster that they leave.", default="kafka_target"
    )
    target_kafka_conn_id: Text = connection("Home", "Airflow connection of their home cluster.", default="kafka_source")


class TargetConnectionParams(Parameters):
    """The target cluster of a flow."""

    target_kafka_conn_id: Text = connection(
        "Target Kafka connection", "Airflow connection of the flow's target cluster.", default="kafka_target"
    )


class StorageConnectionParams(Parameters):
    """A Connect cluster, and the Kafka cluster that it keeps its own topics on."""

    connect_conn_id: Text = _connect()
    kafka_conn_id: Text = connection(
        "Kafka connection",
        "Airflow connection of the Kafka cluster that Connect itself works on, where its offsets topic is.",
        default="kafka_default",
    )


class SparkConnectionParams(Parameters):
    """The Spark that runs the jobs."""

    spark_conn_id: Text = connection(
        "Spark connection", "Airflow connection of the Spark that runs the jobs.", default="spark_default"
    )


class StepConnectionParams(ConnectorConnectionParams):
    """The Connect cluster of a connector, and, if the step needs it, the Kafka cluster of its positions."""

    kafka_conn_id: Text = optional(
        "Kafka connection",
        "Airflow connection of the Kafka cluster that the positions refer to; of a sink also the one of its group. "
        "May be empty.",
        section=Section.CONNECTIONS,
        example="kafka_default",
    )

"""Airflow connections, and how they are used."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, ClassVar

from airflow_provider_connect_offsets.offsets.requests.fields import (
    Parameters,
    Section,
    argument,
    choice,
    connection,
    optional,
)
from airflow_provider_connect_offsets.offsets.requests.values import Text

#: The Connect connection that is used if none is named.
DEFAULT_CONNECT = "kafka_connect_default"


class Control(StrEnum):
    """How connectors and their offsets are reached.

    With ``groups``, consumer groups of plain applications take the place of connectors.
    """

    REST = "rest"
    STORAGE = "storage"
    STRIMZI = "strimzi"
    STRIMZI_REST = "strimzi+rest"
    GROUPS = "groups"

    @property
    def uses_strimzi(self) -> bool:
        """Whether the state of a connector is changed by a resource of Strimzi."""
        return self in {Control.STRIMZI, Control.STRIMZI_REST}

    @property
    def timeout(self) -> float:
        """Seconds that each state is awaited by default.

        Strimzi's operator may miss an event; it then acts at its next periodic reconciliation, by default within 120 s.
        """
        return 300.0 if self.uses_strimzi else 120.0


_FORM = {
    Control.REST: "rest: Connect's REST API",
    Control.STORAGE: "storage: offsets topic or file, while the process is down",
    Control.STRIMZI: "strimzi: resources of Strimzi",
    Control.STRIMZI_REST: "strimzi+rest: state by resources of Strimzi, offsets by Connect's REST API",
}
_MEANING = {
    Control.REST: "rest: by Connect's REST API.",
    Control.STORAGE: "storage: in the offsets topic or file that the Connect connection names, while the process is "
    "down. For dedicated MirrorMakers, standalone workers, and workers before Kafka 3.6.",
    Control.STRIMZI: "strimzi: by the KafkaConnector and KafkaMirrorMaker2 resources of Strimzi or Cloudera CSM.",
    Control.STRIMZI_REST: "strimzi+rest: states by these resources, offsets by the REST API, which must be reachable.",
}


def _connect() -> Any:
    return connection("Connect connection", "Airflow connection of the Connect cluster.", default=DEFAULT_CONNECT)


def _control(*ways: Control) -> Any:
    """Define how connectors are reached, by one of ``ways``."""
    return choice(
        "Control",
        " ".join(_MEANING[way] for way in ways),
        section=Section.CONNECTIONS,
        values={way.value: _FORM[way] for way in ways},
        default=Control.REST.value,
    )


class ConnectParams(Parameters):
    """A Connect cluster, and how it is reached."""

    control: Text = _control(Control.REST, Control.STORAGE, Control.STRIMZI, Control.STRIMZI_REST)
    connect_conn_id: Text = _connect()
    kubernetes_conn_id: Text = connection(
        "Kubernetes connection",
        "For control strimzi and strimzi+rest: Airflow connection of the Kubernetes cluster that has the resources.",
        default="kubernetes_default",
    )

    def used_connections(self) -> dict[str, str]:
        """Return the ids of the Airflow connections by which the cluster is reached, by the parameter that names them.

        The Kubernetes connection is among them if ``control`` uses it.
        """
        uses_strimzi = self.control in {Control.STRIMZI, Control.STRIMZI_REST}
        named = {"connect_conn_id": self.connect_conn_id}
        return {**named, "kubernetes_conn_id": self.kubernetes_conn_id} if uses_strimzi else named


class ConnectorConnectionParams(ConnectParams, section=Section.CONNECTIONS):
    """The Connect cluster of a connector, and the Kafka cluster that its positions refer to."""

    first: ClassVar[tuple[str, ...]] = ("control", "connect_conn_id", "kafka_conn_id", "database_conn_id")

    kafka_conn_id: Text = optional(
        "Kafka connection",
        "Airflow connection of the Kafka cluster that the positions refer to: the source cluster of a "
        "MirrorSource, the cluster that a sink reads. Empty for connectors whose offsets are not positions.",
        example="kafka_source",
        default="kafka_default",
    )
    database_conn_id: Text = optional(
        "Database connection",
        "Airflow connection (type postgres) of the PostgreSQL that a Debezium connector reads. With it, an LSN is "
        "compared with the connector's replication slot before anything is stopped. May be empty.",
        example="orders_database",
    )


class GroupConnectionParams(Parameters):
    """The Kafka cluster of consumer groups."""

    kafka_conn_id: Text = connection(
        "Kafka connection", "Airflow connection of the consumer groups' Kafka cluster.", default="kafka_default"
    )


class SourceConnectionParams(Parameters):
    """The source cluster of a flow."""

    source_kafka_conn_id: Text = connection(
        "Source Kafka connection", "Airflow connection of the flow's source cluster.", default="kafka_source"
    )


class TargetConnectionParams(Parameters):
    """The target cluster of a flow."""

    target_kafka_conn_id: Text = connection(
        "Target Kafka connection", "Airflow connection of the flow's target cluster.", default="kafka_target"
    )


class FlowConnectionParams(ConnectParams, TargetConnectionParams, SourceConnectionParams):
    """The Connect cluster of a MirrorMaker 2 flow, and both of its Kafka clusters."""

    first: ClassVar[tuple[str, ...]] = ("control", "connect_conn_id", "source_kafka_conn_id", "target_kafka_conn_id")


class FailoverConnectionParams(FlowConnectionParams):
    """The connections of a failover, whose flow runs until it has replicated everything and is stopped then."""

    control: Text = _control(Control.REST, Control.STRIMZI, Control.STRIMZI_REST)


class FailoverClientsParams(FailoverConnectionParams):
    """The connections of a task of a failover or failback."""

    forward_connect_conn_id: Text = argument(
        "Only for a failback: Airflow connection of the Connect cluster whose flow replicated the records from home. "
        "If ``connect_conn_id`` is empty, it is also used for the flow that leads back.",
        default="",
    )


class FailbackConnectionParams(FailoverConnectionParams, section=Section.CONNECTIONS):
    """The connections of a failback: those of the failover, the other way round."""

    first: ClassVar[tuple[str, ...]] = ("control", "forward_connect_conn_id", *FlowConnectionParams.first[1:])

    forward_connect_conn_id: Text = connection(
        "Connect connection",
        "Airflow connection of the Connect cluster that runs the MirrorSource from home.",
        default="kafka_connect_default",
    )
    connect_conn_id: Text = optional(
        "Connect connection, leading back",
        "Airflow connection of the Connect cluster of the flow that leads back. Empty: the same cluster.",
        example="kafka_connect_back",
    )
    source_kafka_conn_id: Text = connection(
        "Where the groups are", "Airflow connection of the Kafka cluster that the groups leave.", default="kafka_target"
    )
    target_kafka_conn_id: Text = connection(
        "Home", "Airflow connection of the groups' home cluster.", default="kafka_source"
    )


class StorageConnectionParams(Parameters):
    """A Connect cluster, and the Kafka cluster that it keeps its own topics on.

    With either ``control`` the REST API lists the connectors: only it has the id of the workers' Kafka cluster.
    """

    control: Text = _control(Control.REST, Control.STRIMZI_REST)
    connect_conn_id: Text = _connect()
    kafka_conn_id: Text = connection(
        "Kafka connection",
        "Airflow connection of the Kafka cluster that has the offsets topic of the Connect workers.",
        default="kafka_default",
    )


class SparkConnectionParams(Parameters):
    """The Spark that runs the jobs."""

    spark_conn_id: Text = connection(
        "Spark connection", "Airflow connection of the Spark that runs the jobs.", default="spark_default"
    )


class StepConnectionParams(ConnectorConnectionParams, section=Section.CONNECTIONS):
    """The Connect cluster of a connector, and, if the step needs it, the Kafka cluster of its positions."""

    kafka_conn_id: Text = optional(
        "Kafka connection",
        "Airflow connection of the Kafka cluster that the positions refer to. For a sink, its consumer group is on "
        "this cluster, too. May be empty.",
        example="kafka_default",
    )

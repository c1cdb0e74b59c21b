"""The Params that the ready DAGs of one change share, and the templates that hand them to their tasks."""

from __future__ import annotations

from typing import Any

from airflow.sdk import Param

_TO = (
    "earliest",
    "latest",
    "datetime",
    "duration",
    "shift",
    "offset",
    "skip",
    "clear",
    "file",
    "connector",
    "current",
)


def change_params() -> dict[str, Param]:
    """Params of a change, in the order in which the trigger form shows them."""
    return {
        "connector": Param(type="string", minLength=1, title="Connector", description="Name of the connector."),
        "to": Param("current", type="string", enum=list(_TO), title="Resume at", description="Where to resume."),
        "value": text(
            "Value",
            "What goes with it: a moment, a duration, a number of records, a position, a URI, or a connector's name.",
        ),
        "topics": text("Topics", "Regular expression that matches whole names; empty: all topics."),
        "partitions": text("Partitions", "Like 0,3-5; empty: all partitions."),
        "approval": Param(
            default=True,
            type="boolean",
            title="Ask for approval",
            description="Whether someone has to approve the plan before the connector is stopped.",
        ),
        "dry_run": Param(
            default=False,
            type="boolean",
            title="Dry run",
            description="Whether to stop after the plan; nothing is stopped or changed then.",
        ),
        "control": Param(
            "rest",
            type="string",
            enum=["rest", "storage"],
            title="Control",
            description="rest: by Connect's REST API. storage: in the offsets topic or file that the Connect "
            "connection names, while the process is down; for dedicated MirrorMakers, standalone workers, and workers "
            "before Kafka 3.6.",
        ),
        "connect_conn_id": text(
            "Connect connection", "Airflow connection of the Connect cluster.", default="kafka_connect_default"
        ),
        "kafka_conn_id": text(
            "Kafka connection",
            "Airflow connection of the Kafka cluster that the positions refer to: a MirrorSource's source cluster, a "
            "sink's own. Empty for connectors whose offsets are no positions.",
            default="kafka_default",
        ),
        "spark_conn_id": text(
            "Spark connection", "Airflow connection of the Spark that plans.", default="spark_default"
        ),
    }


def fleet_params() -> dict[str, Param]:
    """Params of a change over many connectors: those of one, but for its name, and how many may be down."""
    shared = change_params()
    del shared["connector"]
    return {
        "connectors": Param(
            type="string",
            minLength=1,
            title="Connectors",
            description="Regular expression that matches whole names of connectors.",
        ),
        **shared,
        "max_down": Param(
            5,
            type="integer",
            minimum=1,
            title="Down at once",
            description="How many connectors may stand still at the same time.",
        ),
        "max_failures": Param(
            5,
            type="integer",
            minimum=1,
            title="Failures",
            description="After so many connectors that could not be changed, no further one is stopped.",
        ),
    }


def orphan_params() -> dict[str, Param]:
    """Params of the search for orphaned offsets."""
    return {
        "connectors": text(
            "Connectors", "Regular expression that matches whole names of deleted connectors; empty: all."
        ),
        "older_than": text(
            "Older than",
            "ISO 8601 duration, like P30D: only connectors of whose offsets none was written since; empty: of any age.",
        ),
        "remove": Param(
            default=False,
            type="boolean",
            title="Remove",
            description="Whether to remove what is found; otherwise the run only reports it.",
        ),
        "approval": Param(
            default=True,
            type="boolean",
            title="Ask for approval",
            description="Whether someone has to approve the removal.",
        ),
        "offsets_topic": Param(
            "connect-offsets",
            type="string",
            minLength=1,
            title="Offsets topic",
            description="The offset.storage.topic of the Connect cluster's workers.",
        ),
        "connect_conn_id": text(
            "Connect connection", "Airflow connection of the Connect cluster.", default="kafka_connect_default"
        ),
        "kafka_conn_id": text(
            "Kafka connection",
            "Airflow connection of the Kafka cluster that Connect itself works on, where its offsets topic is.",
            default="kafka_default",
        ),
        "spark_conn_id": text(
            "Spark connection", "Airflow connection of the Spark that searches.", default="spark_default"
        ),
    }


def as_arguments(params: dict[str, Param]) -> dict[str, Any]:
    """The same Params as templated arguments of their task group."""
    return {name: f"{{{{ params.{name} }}}}" for name in params}


def flag(title: str, description: str, *, default: bool) -> Param:
    """A Param that is true or false."""
    return Param(default=default, type="boolean", title=title, description=description)


def text(title: str, description: str, *, default: str = "") -> Param:
    """A Param that is a text, which may be empty."""
    return Param(default, type="string", title=title, description=description)

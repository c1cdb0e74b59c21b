"""The Params that the ready DAGs of one change share, and the templates that hand them to their tasks."""

from __future__ import annotations

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
        "connector": _text("", "Name of the connector.", minLength=1, title="Connector"),
        "to": Param("current", type="string", enum=list(_TO), title="Resume at", description="Where to resume."),
        "value": _text(
            "",
            "What goes with it: a moment, a duration, a number of records, a position, a URI, or a connector's name.",
            title="Value",
        ),
        "topics": _text("", "Regular expression that matches whole names; empty: all topics.", title="Topics"),
        "partitions": _text("", "Like 0,3-5; empty: all partitions.", title="Partitions"),
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
            enum=["rest"],
            title="Control",
            description="How connectors are controlled: by Connect's REST API.",
        ),
        "connect_conn_id": _text("kafka_connect_default", "Connection of the Connect cluster.", minLength=1),
        "kafka_conn_id": _text(
            "kafka_default",
            "Connection of the Kafka cluster that the positions refer to: the source cluster of a MirrorSource, a sink's "
            "own cluster. Empty for connectors whose offsets are no positions.",
        ),
        "spark_conn_id": _text("spark_default", "Connection of the Spark that plans.", minLength=1),
    }


def change_arguments() -> dict[str, str]:
    """The same Params as templated arguments of a change's task group."""
    names = set(change_params()) - {"control"}
    return {name: f"{{{{ params.{name} }}}}" for name in sorted(names)}


def _text(default: str, description: str, *, title: str | None = None, minLength: int = 0) -> Param:  # noqa: N803 - JSON schema's word
    return Param(default, type="string", description=description, title=title, minLength=minLength)

"""The Params of the ready DAGs that change connectors, in the order in which the trigger form shows them."""

from __future__ import annotations

from airflow.sdk import Param

from airflow_provider_connect_offsets.task_groups.form import (
    Section,
    choice,
    connection,
    count,
    flag,
    optional,
    required,
)

# ``to`` of a request, and what the form calls it.
PLACES = {
    "earliest": "earliest: the first record that is still there",
    "latest": "latest: after the last record",
    "datetime": "datetime: the first record at or after a moment",
    "duration": "duration: so long ago",
    "shift": "shift: so many records back or on",
    "offset": "offset: that very record",
    "skip": "skip: after so many records",
    "clear": "clear: store nothing, so that auto.offset.reset decides",
    "file": "file: what a file says",
    "connector": "connector: where another connector resumes",
    "current": "current: change nothing, show positions and log offsets",
}


def change_params() -> dict[str, Param]:
    """Params of a change of one connector."""
    return {
        "connector": required("Connector", "Name of the connector.", section=Section.WHAT, example="orders-mirror"),
        **place_params(),
        **safety_params(),
        "control": control(),
        "connect_conn_id": connect_connection(),
        "kafka_conn_id": optional(
            "Kafka connection",
            "Airflow connection of the Kafka cluster that the positions refer to: a MirrorSource's source cluster, a "
            "sink's own. Empty for connectors whose offsets are no positions.",
            section=Section.CONNECTIONS,
            example="kafka_source",
            default="kafka_default",
        ),
        "spark_conn_id": spark_connection("plans"),
    }


def backfill_params() -> dict[str, Param]:
    """Params of a rewind to the start of the data interval: those of a change, but for where it resumes."""
    shared = change_params()
    del shared["to"], shared["value"]
    # A scheduled DAG must be valid without anyone filling in its form; the run fails where no connector is named.
    shared["connector"] = optional(
        "Connector",
        "Name of the connector. Set it in the DAG file, for scheduled runs.",
        section=Section.WHAT,
        example="orders-mirror",
    )
    place = {name: shared.pop(name) for name in ("connector", "topics", "partitions")}
    max_rewind = required(
        "Furthest back",
        "ISO 8601 duration: how far back from now an interval may begin.",
        section=Section.LIMITS,
        example="P7D",
        default="P7D",
    )
    return {**place, "max_rewind": max_rewind, **shared}


def place_params() -> dict[str, Param]:
    """Params that say where to resume: ``to``, ``value``, ``topics``, ``partitions``."""
    return {
        "to": choice("Resume at", "Where to resume.", section=Section.WHERE, values=PLACES, default="current"),
        "value": optional(
            "Value",
            "What goes with it: a moment, a duration (PT2H), a number of records, a position, a URI, or a connector's "
            "name. Empty for earliest, latest, current and clear.",
            section=Section.WHERE,
            example="2026-01-31T03:00:00+01:00",
        ),
        "topics": optional(
            "Topics",
            "Regular expression that matches whole names. Empty: all topics.",
            section=Section.WHERE,
            example="orders-.*",
        ),
        "partitions": optional(
            "Partitions", "Numbers and ranges. Empty: all partitions.", section=Section.WHERE, example="0,3-5"
        ),
    }


def safety_params() -> dict[str, Param]:
    """Params that say whether to ask, and whether to change anything."""
    return {
        "approval": flag(
            "Ask for approval",
            "Whether someone has to approve the plan before anything is stopped.",
            section=Section.SAFETY,
            default=True,
        ),
        "dry_run": flag(
            "Dry run",
            "Whether to stop after the plan; nothing is stopped or changed then.",
            section=Section.SAFETY,
            default=False,
        ),
    }


def control() -> Param:
    """How the connectors are controlled."""
    return choice(
        "Control",
        "rest: by Connect's REST API. storage: in the offsets topic or file that the Connect connection names, while "
        "the process is down; for dedicated MirrorMakers, standalone workers, and workers before Kafka 3.6.",
        section=Section.CONNECTIONS,
        values={"rest": "rest: Connect's REST API", "storage": "storage: offsets topic or file, process down"},
        default="rest",
    )


def connect_connection() -> Param:
    """The Connect cluster."""
    return connection(
        "Connect connection", "Airflow connection of the Connect cluster.", default="kafka_connect_default"
    )


def source_connection(description: str = "Airflow connection of the flow's source cluster.") -> Param:
    """The source cluster of a MirrorMaker 2 flow."""
    return connection("Source Kafka connection", description, default="kafka_source")


def target_connection(description: str = "Airflow connection of the flow's target cluster.") -> Param:
    """The target cluster of a MirrorMaker 2 flow."""
    return connection("Target Kafka connection", description, default="kafka_target")


def spark_connection(does: str) -> Param:
    """The Spark that ``does`` something."""
    return connection("Spark connection", f"Airflow connection of the Spark that {does}.", default="spark_default")


def fleet_params() -> dict[str, Param]:
    """Params of a change over many connectors: those of one, but for its name, and how many may be down."""
    shared = change_params()
    del shared["connector"]
    place = {name: shared.pop(name) for name in place_params()}
    return {
        "connectors": required(
            "Connectors",
            "Regular expression that matches whole names of connectors.",
            section=Section.WHAT,
            example="orders-.*",
        ),
        **place,
        "max_down": count(
            "Down at once", "How many connectors may be stopped at the same time.", section=Section.LIMITS, default=5
        ),
        "max_failures": count(
            "Failures",
            "After so many connectors that could not be changed, no further one is stopped.",
            section=Section.LIMITS,
            default=5,
        ),
        **shared,
    }


def orphan_params() -> dict[str, Param]:
    """Params of the search for orphaned offsets."""
    return {
        "connectors": optional(
            "Connectors",
            "Regular expression that matches whole names of deleted connectors. Empty: all.",
            section=Section.WHAT,
            example="orders-.*",
        ),
        "older_than": optional(
            "Older than",
            "ISO 8601 duration: only connectors none of whose offsets was written since. Empty: of any age.",
            section=Section.WHAT,
            example="P30D",
        ),
        "remove": flag(
            "Remove",
            "Whether to remove what is found; otherwise the run only reports it.",
            section=Section.SAFETY,
            default=False,
        ),
        "approval": flag(
            "Ask for approval",
            "Whether someone has to approve the removal.",
            section=Section.SAFETY,
            default=True,
        ),
        "offsets_topic": required(
            "Offsets topic",
            "The offset.storage.topic of the Connect cluster's workers.",
            section=Section.CONNECTIONS,
            example="connect-offsets",
            default="connect-offsets",
        ),
        "connect_conn_id": connect_connection(),
        "kafka_conn_id": connection(
            "Kafka connection",
            "Airflow connection of the Kafka cluster that Connect itself works on, where its offsets topic is.",
            default="kafka_default",
        ),
        "spark_conn_id": spark_connection("searches"),
    }

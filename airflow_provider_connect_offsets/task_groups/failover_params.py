"""The Params of failover and failback of consumer groups, in the order in which the trigger form shows them."""

from __future__ import annotations

from airflow.sdk import Param

from airflow_provider_connect_offsets.task_groups.form import (
    Section,
    choice,
    connection,
    count,
    flag,
    optional,
    optional_count,
    required,
    share,
)
from airflow_provider_connect_offsets.task_groups.params import (
    connect_connection,
    safety_params,
    source_connection,
    spark_connection,
    target_connection,
)


def failback_params() -> dict[str, Param]:
    """Params of a failback: what it shares with a failover, and the two flows."""
    shared = failover_params()
    own = {
        "groups": shared["groups"],
        "forward_connector": optional(
            "MirrorSource from home",
            "Name of the MirrorSourceConnector that once brought the records from home; stopped during the run. Empty: "
            "the groups read no remote topics.",
            section=Section.WHAT,
            example="orders-mirror",
        ),
        "source_connector": optional(
            "MirrorSource that leads back",
            "Name of the MirrorSourceConnector that replicates to home, where there is one; drained and stopped.",
            section=Section.WHAT,
            example="orders-mirror-back",
        ),
        "checkpoint_connector": optional(
            "MirrorCheckpoint that leads back",
            "Name of its MirrorCheckpointConnector, to be stopped as well. Empty: none.",
            section=Section.WHAT,
            example="orders-checkpoints-back",
        ),
        "topics": optional(
            "Topics",
            "Regular expression that matches whole names of topics as the groups read them now. Empty: all.",
            section=Section.WHAT,
            example=r"primary\.orders",
        ),
    }
    kept = (
        "rewind",
        "min_coverage",
        "max_rereads",
        "compared",
        "compared_total",
        "drain_timeout",
        "resume_flow",
        "approval",
        "dry_run",
    )
    connections = {
        "forward_connect_conn_id": connection(
            "Connect connection",
            "Airflow connection of the Connect cluster of the MirrorSource from home.",
            default="kafka_connect_default",
        ),
        "connect_conn_id": optional(
            "Connect connection, leading back",
            "Airflow connection of the Connect cluster of the flow that leads back. Empty: the same.",
            section=Section.CONNECTIONS,
            example="kafka_connect_back",
        ),
        "source_kafka_conn_id": connection(
            "Where the groups are", "Airflow connection of the cluster that they leave.", default="kafka_target"
        ),
        "target_kafka_conn_id": connection("Home", "Airflow connection of their home cluster.", default="kafka_source"),
        "spark_conn_id": shared["spark_conn_id"],
    }
    return {**own, **{name: shared[name] for name in kept}, **connections}


def failover_params() -> dict[str, Param]:
    """Params of a failover."""
    return {
        **_what(),
        **_flow(),
        **_limits(),
        "trust_checkpoints": flag(
            "Trust checkpoints",
            "Where the source is gone: whether groups go on where nothing but MirrorMaker 2's own checkpoints tells. "
            "These may skip records if the flow was being set back, or its topic was created anew.",
            section=Section.SAFETY,
            default=True,
        ),
        "resume_flow": flag(
            "Start the flow again",
            "Whether its connectors are started again after the commit.",
            section=Section.SAFETY,
            default=False,
        ),
        **safety_params(),
        "connect_conn_id": connect_connection(),
        "source_kafka_conn_id": source_connection(),
        "target_kafka_conn_id": target_connection(),
        "spark_conn_id": spark_connection("translates"),
    }


def _what() -> dict[str, Param]:
    return {
        "groups": required(
            "Groups",
            "Regular expression that matches whole names of consumer groups.",
            section=Section.WHAT,
            example="orders-.*",
            default=".*",
        ),
        "planned": flag(
            "Planned",
            "Whether the source is alive: replication is drained and stopped first then. Otherwise the checkpoints on "
            "the target decide.",
            section=Section.WHAT,
            default=True,
        ),
        "source_connector": optional(
            "MirrorSource",
            "Name of the flow's MirrorSourceConnector; needed where planned.",
            section=Section.WHAT,
            example="orders-mirror",
        ),
        "checkpoint_connector": optional(
            "MirrorCheckpoint",
            "Name of the flow's MirrorCheckpointConnector, to be stopped as well. Empty: none.",
            section=Section.WHAT,
            example="orders-checkpoints",
        ),
        "topics": optional(
            "Topics",
            "Regular expression that matches whole names of the source. Empty: all topics.",
            section=Section.WHAT,
            example="orders-.*",
        ),
    }


def _flow() -> dict[str, Param]:
    """What a connector would tell of the flow, for a failover without one."""
    flow = Section.FLOW
    return {
        "source_alias": optional(
            "Source alias",
            "Alias of the source cluster. Empty: as the connector says.",
            section=flow,
            example="primary",
        ),
        "target_alias": optional(
            "Target alias",
            "Alias of the target cluster. Empty: as the connector says.",
            section=flow,
            example="backup",
        ),
        "replication_policy": choice(
            "Replication policy",
            "How remote topics are named.",
            section=flow,
            values={
                None: "as the connector says",
                "default": "default: the alias before the name",
                "identity": "identity: the same name",
            },
            default=None,
        ),
        "separator": optional(
            "Separator",
            "replication.policy.separator. Empty: as the connector says, or a dot.",
            section=flow,
            example="_",
        ),
        "syncs_on": choice(
            "Offset syncs are on",
            "offset-syncs.topic.location.",
            section=flow,
            values={None: "as the connector says", "source": "source", "target": "target"},
            default=None,
        ),
    }


def _limits() -> dict[str, Param]:
    return {
        "rewind": optional(
            "May go back",
            "Regular expression of groups that may be set back on the target, where they are further. Empty: none.",
            section=Section.LIMITS,
            example="orders-.*",
        ),
        "min_coverage": share(
            "Coverage",
            "Share of the partitions that must be translated; with less nothing is committed.",
            section=Section.LIMITS,
            default=1.0,
        ),
        "max_rereads": optional_count(
            "Re-reads",
            "How many records may be read again, all groups together; with more nothing is committed. Empty: of each "
            "partition as many as the preview says.",
            section=Section.LIMITS,
            example=500,
        ),
        "compared": count(
            "Records compared",
            "How many records of either log are read at most, for each partition, to prove exact offsets; of what lies "
            "before, only single records.",
            section=Section.LIMITS,
            default=100_000,
            minimum=0,
        ),
        "compared_total": count(
            "Records compared, in all",
            "How many records are read at most while the flow is stopped, of both logs and all partitions together. "
            "The preview names the partitions that get less than they need.",
            section=Section.LIMITS,
            default=10_000_000,
            minimum=0,
        ),
        "drain_timeout": count(
            "Drain timeout",
            "Seconds in which replication has to catch up with the source, where planned.",
            section=Section.LIMITS,
            default=300,
        ),
    }


def restore_params() -> dict[str, Param]:
    """Params of a failover's restore."""
    return {
        "run_uri": required(
            "Run",
            "Directory of the failover's final translation, as its message and its report name it.",
            section=Section.WHAT,
            example="file:///var/lib/airflow/connect_offsets/mirror_failover/manual__2026-01-31/final",
        ),
        "target_kafka_conn_id": target_connection(),
    }

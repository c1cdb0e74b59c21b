"""The Params of a failover of consumer groups."""

from __future__ import annotations

from airflow.sdk import Param

from airflow_provider_connect_offsets.task_groups.params import flag, text


def failback_params() -> dict[str, Param]:
    """Params of a failback, in the order in which the trigger form shows them; what it shares with a failover."""
    shared = failover_params()
    own = {
        "groups": shared["groups"],
        "forward_connector": text(
            "MirrorSource from home",
            "Name of the MirrorSourceConnector that once brought the records from home; stopped during the run.",
        ),
        "source_connector": text(
            "MirrorSource that leads back",
            "Name of the MirrorSourceConnector that replicates to home, where there is one; drained and stopped.",
        ),
        "checkpoint_connector": text(
            "MirrorCheckpoint that leads back", "Name of its MirrorCheckpointConnector, to be stopped as well."
        ),
        "topics": text(
            "Topics", "Regular expression that matches whole names of topics as the groups read them now; empty: all."
        ),
    }
    kept = (
        "rewind",
        "min_coverage",
        "compared",
        "drain_timeout",
        "resume_flow",
        "approval",
        "dry_run",
    )
    connections = {
        "forward_connect_conn_id": text(
            "Connect connection",
            "Airflow connection of the Connect cluster of the MirrorSource from home.",
            default="kafka_connect_default",
        ),
        "connect_conn_id": text(
            "Connect connection, leading back",
            "Airflow connection of the Connect cluster of the flow that leads back; empty: the same.",
        ),
        "source_kafka_conn_id": text(
            "Where the groups are", "Airflow connection of the cluster that they leave.", default="kafka_target"
        ),
        "target_kafka_conn_id": text("Home", "Airflow connection of their home cluster.", default="kafka_source"),
        "spark_conn_id": shared["spark_conn_id"],
    }
    return {**own, **{name: shared[name] for name in kept}, **connections}


def failover_params() -> dict[str, Param]:
    """Params of a failover, in the order in which the trigger form shows them."""
    return {
        "groups": Param(
            ".*",
            type="string",
            minLength=1,
            title="Groups",
            description="Regular expression that matches whole names of consumer groups.",
        ),
        "planned": flag(
            "Planned",
            "Whether the source is alive: replication is drained and stopped first then. Otherwise the checkpoints on "
            "the target decide.",
            default=True,
        ),
        "source_connector": text("MirrorSource", "Name of the flow's MirrorSourceConnector; needed where planned."),
        "checkpoint_connector": text(
            "MirrorCheckpoint", "Name of the flow's MirrorCheckpointConnector, to be stopped as well; may be empty."
        ),
        "source_alias": text("Source alias", "Alias of the source cluster; read from the connector where planned."),
        "target_alias": text("Target alias", "Alias of the target cluster; read from the connector where planned."),
        "replication_policy": Param(
            "",
            type="string",
            enum=["", "default", "identity"],
            title="Replication policy",
            description="How replicas are named, where there is no connector to tell.",
        ),
        "separator": text(
            "Separator", "replication.policy.separator, where there is no connector to tell; empty: a dot."
        ),
        "syncs_on": Param(
            "",
            type="string",
            enum=["", "source", "target"],
            title="Offset-syncs are on",
            description="offset-syncs.topic.location, where there is no connector to tell.",
        ),
        "topics": text("Topics", "Regular expression that matches whole names of the source; empty: all topics."),
        "rewind": text(
            "May go back",
            "Regular expression of groups that may be set back on the target, where they stand further; empty: none.",
        ),
        "min_coverage": Param(
            1.0,
            type="number",
            minimum=0,
            maximum=1,
            title="Coverage",
            description="Share of the partitions that must be translated; with less nothing is committed.",
        ),
        "compared": Param(
            100_000,
            type="integer",
            minimum=0,
            title="Records compared",
            description="How many records of either log are read at most, for each partition, to prove exact places; "
            "of what lies before, only single records, to check places.",
        ),
        "drain_timeout": Param(
            300,
            type="integer",
            minimum=1,
            title="Drain timeout",
            description="Seconds in which replication has to catch up with the source, where planned.",
        ),
        "resume_flow": flag(
            "Start the flow again", "Whether its connectors are started again after the commit.", default=False
        ),
        "approval": flag(
            "Ask for approval", "Whether someone has to approve before anything is stopped or moved.", default=True
        ),
        "dry_run": flag("Dry run", "Whether to stop after the preview.", default=False),
        "connect_conn_id": text(
            "Connect connection", "Airflow connection of the Connect cluster.", default="kafka_connect_default"
        ),
        "source_kafka_conn_id": text("Source", "Airflow connection of the source cluster.", default="kafka_source"),
        "target_kafka_conn_id": text("Target", "Airflow connection of the target cluster.", default="kafka_target"),
        "spark_conn_id": text(
            "Spark connection", "Airflow connection of the Spark that translates.", default="spark_default"
        ),
    }

"""The Params of the look at a flow's readiness. Those with a number are thresholds, 0: only shown, not judged."""

from __future__ import annotations

from typing import Any

from airflow.sdk import Param

from airflow_provider_connect_offsets.offsets.readiness import Thresholds
from airflow_provider_connect_offsets.task_groups.params import text

_DEFAULTS = Thresholds()


def threshold_params() -> dict[str, Param]:
    """The thresholds, with their defaults."""
    return {
        "max_lag_records": _count(
            "Records", _DEFAULTS.max_lag_records, "How many records of a partition may not be replicated yet."
        ),
        "max_lag_seconds": _count(
            "Seconds",
            _DEFAULTS.max_lag_seconds,
            "How old the oldest record that is not replicated may be. More than the workers' offset.flush.interval.ms, "
            "as what they have not flushed yet is not seen.",
        ),
        "max_sync_age": _count(
            "Age of syncs",
            _DEFAULTS.max_sync_age,
            "Seconds for which records may be replicated without an offset sync.",
        ),
        "max_checkpoint_age": _count(
            "Age of checkpoints",
            _DEFAULTS.max_checkpoint_age,
            "Seconds for which a checkpoint may stay behind what the offset syncs allow.",
        ),
        "stuck_after": _count(
            "Stuck after", _DEFAULTS.stuck_after, "Seconds without progress in spite of a lag, as the history tells."
        ),
        "min_coverage": Param(
            _DEFAULTS.min_coverage,
            type="number",
            minimum=0,
            maximum=1,
            title="Coverage",
            description="Share of each group's partitions that a failover now would have to translate.",
        ),
        "max_rereads": _count(
            "Re-reads", _DEFAULTS.max_rereads, "How many records a group may read again after a failover now."
        ),
    }


def readiness_params() -> dict[str, Param]:
    """Params of the look, in the order in which the trigger form shows them."""
    return {
        "source_connector": Param(
            "MirrorSourceConnector",
            type="string",
            minLength=1,
            title="Source connector",
            description="Name of the flow's MirrorSourceConnector.",
        ),
        "checkpoint_connector": text(
            "Checkpoint connector",
            "Name of the flow's MirrorCheckpointConnector; empty: nothing is told of groups.",
            default="MirrorCheckpointConnector",
        ),
        "groups": text(
            "Groups", "Regular expression that matches whole names of the source's consumer groups; empty: all."
        ),
        **threshold_params(),
        "keep": Param(
            672, type="integer", minimum=1, title="History", description="How many runs are kept, with their pages."
        ),
        "control": Param(
            "rest",
            type="string",
            enum=["rest", "storage"],
            title="Control",
            description="rest: Connect's REST API. storage: the offsets topic that the Connect connection names, for a "
            "dedicated MirrorMaker.",
        ),
        "connect_conn_id": text(
            "Connect connection", "Airflow connection of the Connect cluster.", default="kafka_connect_default"
        ),
        "source_kafka_conn_id": text(
            "Source Kafka connection", "Airflow connection of the flow's source cluster.", default="kafka_source"
        ),
        "target_kafka_conn_id": text(
            "Target Kafka connection", "Airflow connection of the flow's target cluster.", default="kafka_target"
        ),
        "spark_conn_id": text(
            "Spark connection", "Airflow connection of the Spark that judges.", default="spark_default"
        ),
    }


def readiness_arguments() -> dict[str, Any]:
    """The same Params as templated arguments of the task group ``mirror_readiness``."""
    thresholds = {name: _template(name) for name in threshold_params()}
    others = {name: _template(name) for name in readiness_params() if name not in thresholds}
    return {**others, "thresholds": thresholds}


def _template(name: str) -> str:
    return f"{{{{ params.{name} }}}}"


def _count(title: str, default: int, description: str) -> Param:
    text = f"{description} 0: not judged."
    return Param(default, type="integer", minimum=0, title=title, description=text)

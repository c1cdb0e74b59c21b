"""The Params of the look at a flow's readiness. Those with a number are thresholds, 0: only shown, not judged."""

from __future__ import annotations

from typing import Any

from airflow.sdk import Param

from airflow_provider_connect_offsets.offsets.requests.readiness import Thresholds
from airflow_provider_connect_offsets.task_groups.form import Section, as_arguments, count, optional, required, share
from airflow_provider_connect_offsets.task_groups.params import (
    connect_connection,
    control,
    source_connection,
    spark_connection,
    target_connection,
)

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
        "min_coverage": share(
            "Coverage",
            "Share of each group's partitions that a failover now would have to translate, planned or not.",
            section=Section.LIMITS,
            default=_DEFAULTS.min_coverage,
        ),
        "max_rereads": _count(
            "Re-reads", _DEFAULTS.max_rereads, "How many records a group may read again after a planned failover now."
        ),
    }


def readiness_params() -> dict[str, Param]:
    """Params of the look, in the order in which the trigger form shows them."""
    return {
        "source_connector": required(
            "Source connector",
            "Name of the flow's MirrorSourceConnector.",
            section=Section.WHAT,
            example="orders-mirror",
            default="MirrorSourceConnector",
        ),
        "checkpoint_connector": optional(
            "Checkpoint connector",
            "Name of the flow's MirrorCheckpointConnector. Empty: nothing is reported of groups.",
            section=Section.WHAT,
            example="orders-checkpoints",
            default="MirrorCheckpointConnector",
        ),
        "groups": optional(
            "Groups",
            "Regular expression that matches whole names of the source's consumer groups. Empty: all.",
            section=Section.WHAT,
            example="orders-.*",
        ),
        **threshold_params(),
        "keep": count("History", "How many runs are kept, with their reports.", section=Section.LIMITS, default=672),
        "control": control(),
        "connect_conn_id": connect_connection(),
        "source_kafka_conn_id": source_connection(),
        "target_kafka_conn_id": target_connection(),
        "spark_conn_id": spark_connection("judges"),
    }


def readiness_arguments() -> dict[str, Any]:
    """The same Params as templated arguments of the task group ``mirror_readiness``."""
    others = [name for name in readiness_params() if name not in threshold_params()]
    return {**as_arguments(others), "thresholds": as_arguments(threshold_params())}


def _count(title: str, default: int, description: str) -> Param:
    return count(title, f"{description} 0: not judged.", section=Section.LIMITS, default=default, minimum=0)

"""The Params of a flow's reset, in the order in which the trigger form shows them."""

from __future__ import annotations

from airflow.sdk import Param

from airflow_provider_connect_offsets.task_groups.form import Section, choice, flag, optional, required
from airflow_provider_connect_offsets.task_groups.params import (
    PLACES,
    connect_connection,
    control,
    place_params,
    safety_params,
    source_connection,
    spark_connection,
    target_connection,
)


def mirror_reset_params() -> dict[str, Param]:
    """Params of a reset."""
    return {
        "source_connector": required(
            "MirrorSource", "Name of the flow's MirrorSourceConnector.", section=Section.WHAT, example="orders-mirror"
        ),
        "checkpoint_connector": optional(
            "MirrorCheckpoint",
            "Name of the flow's MirrorCheckpointConnector, which is stopped meanwhile and forgets the old syncs. "
            "Empty: there is none.",
            section=Section.WHAT,
            example="orders-checkpoints",
        ),
        **place_params(),
        "to": choice(
            "Resume at",
            "Where the MirrorSource resumes; earliest replicates everything again, current nothing.",
            section=Section.WHERE,
            values={place: words for place, words in PLACES.items() if place != "skip"},
            default="earliest",
        ),
        "checkpoints": flag(
            "Checkpoints",
            "Whether to remove the flow's checkpoints, too; needed where the remote topics were made anew.",
            section=Section.WHERE,
            default=False,
        ),
        **safety_params(),
        "control": control(),
        "connect_conn_id": connect_connection(),
        "source_kafka_conn_id": source_connection(),
        "target_kafka_conn_id": target_connection(),
        "spark_conn_id": spark_connection("plans"),
    }

"""The Params of a flow's reset."""

from __future__ import annotations

from airflow.sdk import Param

from airflow_provider_connect_offsets.task_groups.params import change_params, text

_SHARED = ("value", "topics", "partitions", "approval", "dry_run", "control", "connect_conn_id", "spark_conn_id")


def mirror_reset_params() -> dict[str, Param]:
    """Params of a reset, in the order in which the trigger form shows them."""
    shared = {name: param for name, param in change_params().items() if name in _SHARED}
    places = [place for place in change_params()["to"].schema["enum"] if place != "skip"]
    return {
        "source_connector": Param(
            type="string", minLength=1, title="MirrorSource", description="Name of the flow's MirrorSourceConnector."
        ),
        "checkpoint_connector": text(
            "MirrorCheckpoint",
            "Name of the flow's MirrorCheckpointConnector, which stands still meanwhile and forgets the old syncs; "
            "empty: there is none.",
        ),
        "to": Param(
            "earliest",
            type="string",
            enum=places,
            title="Resume at",
            description="Where the MirrorSource resumes; earliest replicates everything again, current nothing.",
        ),
        **{name: shared.pop(name) for name in ("value", "topics", "partitions")},
        "checkpoints": Param(
            default=False,
            type="boolean",
            title="Checkpoints",
            description="Whether to remove the flow's checkpoints, too; needed where the replicas were made anew.",
        ),
        **{name: shared.pop(name) for name in ("approval", "dry_run", "control", "connect_conn_id")},
        "source_kafka_conn_id": text(
            "Source Kafka connection", "Airflow connection of the flow's source cluster.", default="kafka_source"
        ),
        "target_kafka_conn_id": text(
            "Target Kafka connection", "Airflow connection of the flow's target cluster.", default="kafka_target"
        ),
        **shared,
    }

"""What ``mirror_failover`` would make of each group's position now: planned, and with the source gone.

Both answers are those of ``pipeline.failover.failover``, on what a look at the flow has found.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from airflow_provider_connect_offsets.offsets.flow import Flow
from airflow_provider_connect_offsets.offsets.requests.failover import FailoverRequest, Mode
from airflow_provider_connect_offsets.pipeline.events import KEY
from airflow_provider_connect_offsets.pipeline.failover.failover import translated
from airflow_provider_connect_offsets.pipeline.failover.observed import ObservedFlow
from airflow_provider_connect_offsets.pipeline.frames import shaped
from airflow_provider_connect_offsets.workspace.flow_schemas import GROUP_READINESS

NO_REMOTE_TOPIC = "there is no remote topic of the partition"
UNSEEN = "neither a checkpoint nor the ledger tells where it is, so nobody knows once the source is gone"

_OF_GROUP = ("group", *KEY)
_ANSWER = ("downstream", "upper", "missing", "exact", "max_rereads", "method")


def group_readiness(
    rows: DataFrame, planned: ObservedFlow, unplanned: ObservedFlow, checkpoints: DataFrame, *, flow: Flow
) -> DataFrame:
    """Dataset ``group_readiness``: a row for each position of a group in a topic of the flow.

    rows: dataset ``readiness``
    planned, unplanned: what a failover of that kind would see; ``members`` of them should be empty, as who reads now
    would be stopped before
    checkpoints: dataset ``checkpoints``, the last of each group and partition

    ``checkpoint_rereads``: how many records a group would read again by its checkpoint alone, at most.
    """
    of_source = planned.group_offsets.where(F.col("kafka_cluster") == flow.source_alias)
    logs = rows.select(*KEY, "target_topic", "target_end", "sync_upstream", "sync_downstream", "sync_at")
    positions = of_source.select("group", "group_state", *KEY, F.col("offset").alias("position")).join(logs, list(KEY))
    by_target = ["group", "target_topic", "kafka_partition"]
    found = (
        positions.join(_answers(Mode.PLANNED, planned, flow), list(_OF_GROUP), "left")
        .join(_answers(Mode.UNPLANNED, unplanned, flow), list(_OF_GROUP), "left")
        .join(_told(checkpoints), by_target, "left")
        .join(_on_target(planned, flow), by_target, "left")
    )
    return shaped(_compared(found), GROUP_READINESS)


def _answers(mode: Mode, seen: ObservedFlow, flow: Flow) -> DataFrame:
    """Answers of one kind: group, topic, kafka_partition, and columns that begin with the kind's name."""
    # Whether a group may go back on the target is said by itself.
    request = FailoverRequest(mode=mode, flow=flow, groups=".*", rewind=".*")
    kind = mode.value
    return translated(request, seen).select(
        "group",
        F.col("source_topic").alias("topic"),
        "kafka_partition",
        F.col("upstream").alias(f"{kind}_upstream"),
        *[F.col(name).alias(f"{kind}_{name}") for name in _ANSWER],
        F.when(F.col("covered"), None).otherwise(F.col("reason")).alias(f"{kind}_reason"),
    )


def _told(checkpoints: DataFrame) -> DataFrame:
    return checkpoints.select(
        "group",
        F.col("topic").alias("target_topic"),
        "kafka_partition",
        F.col("upstream").alias("checkpoint_upstream"),
        F.col("downstream").alias("checkpoint_downstream"),
        F.col("log_timestamp").alias("checkpoint_at"),
    )


def _on_target(seen: ObservedFlow, flow: Flow) -> DataFrame:
    return seen.group_offsets.where(F.col("kafka_cluster") == flow.target_alias).select(
        "group",
        F.col("topic").alias("target_topic"),
        "kafka_partition",
        F.col("group_state").alias("target_state"),
        F.col("offset").alias("target_position"),
    )


def _compared(found: DataFrame) -> DataFrame:
    absent, unseen = F.col("target_end").isNull(), F.col("unplanned_method").isNull()
    ahead = F.greatest(F.col("planned_downstream") - F.col("checkpoint_downstream"), F.lit(0))
    # MirrorMaker 2 has that sync in memory, whatever others it has dropped, and would write a higher checkpoint.
    passed = (F.col("sync_upstream") <= F.col("position")) & (F.col("sync_downstream") > F.col("checkpoint_downstream"))
    return found.withColumns(
        {
            "planned_reason": F.when(absent, NO_REMOTE_TOPIC).otherwise(F.col("planned_reason")),
            "unplanned_position": F.col("unplanned_upstream"),
            "unplanned_reason": F.when(absent, NO_REMOTE_TOPIC)
            .when(unseen, UNSEEN)
            .otherwise(F.col("unplanned_reason")),
            # ``greatest`` passes over null.
            "checkpoint_rereads": F.when(F.col("checkpoint_downstream").isNotNull(), F.col("planned_max_rereads"))
            + ahead,
            "checkpoint_behind_since": F.when(passed, F.greatest("checkpoint_at", "sync_at")),
        }
    )

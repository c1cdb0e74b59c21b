"""Translate each group's position as a planned and as an unplanned failover would now.

``pipeline.failover.failover`` makes both translations, for the flow as it was observed.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from airflow_provider_connect_offsets.offsets.flow import Flow
from airflow_provider_connect_offsets.offsets.requests.failover import FailoverRequest, Mode
from airflow_provider_connect_offsets.pipeline.events import KEY
from airflow_provider_connect_offsets.pipeline.failover.failover import translate_positions
from airflow_provider_connect_offsets.pipeline.failover.observed import ObservedFlow
from airflow_provider_connect_offsets.pipeline.frames import conform
from airflow_provider_connect_offsets.workspace.flow_schemas import GROUP_READINESS

NO_REMOTE_TOPIC = "the partition has no remote topic"
UNSEEN = "neither a checkpoint nor the ledger has the group's position, so it would be lost with the source"

_OF_GROUP = ("group", *KEY)
_TRANSLATED = ("downstream", "upper", "missing", "exact", "max_rereads", "method")


def group_readiness(
    rows: DataFrame, planned: ObservedFlow, unplanned: ObservedFlow, checkpoints: DataFrame, *, flow: Flow
) -> DataFrame:
    """Dataset ``group_readiness``: a row for each position of a group in a topic of the flow.

    ``checkpoint_rereads`` counts the records that a group would read again, at most, if it resumed at its checkpoint.

    Args:
        rows: dataset ``readiness``
        planned: the flow as a planned failover would observe it; without ``members``, as they would be stopped first
        unplanned: the flow as an unplanned failover would observe it; without ``members``
        checkpoints: dataset ``checkpoints``, the last of each group and partition
        flow: the flow
    """
    of_source = planned.group_offsets.where(F.col("kafka_cluster") == flow.source_alias)
    logs = rows.select(*KEY, "target_topic", "target_end", "sync_upstream", "sync_downstream", "sync_at")
    positions = of_source.select("group", "group_state", *KEY, F.col("offset").alias("position")).join(logs, list(KEY))
    by_target = ["group", "target_topic", "kafka_partition"]
    joined = (
        positions.join(_translate(Mode.PLANNED, planned, flow), list(_OF_GROUP), "left")
        .join(_translate(Mode.UNPLANNED, unplanned, flow), list(_OF_GROUP), "left")
        .join(_by_target(checkpoints), by_target, "left")
        .join(_on_target(planned, flow), by_target, "left")
    )
    return conform(_with_reasons(joined), GROUP_READINESS)


def _translate(mode: Mode, observed: ObservedFlow, flow: Flow) -> DataFrame:
    """Translations for one mode: group, topic, kafka_partition, and columns that begin with the mode's name."""
    # A separate rule reports groups that are ahead on the target.
    request = FailoverRequest(mode=mode, flow=flow, groups=".*", rewind=".*")
    kind = mode.value
    return translate_positions(request, observed).select(
        "group",
        F.col("source_topic").alias("topic"),
        "kafka_partition",
        F.col("upstream").alias(f"{kind}_upstream"),
        *[F.col(name).alias(f"{kind}_{name}") for name in _TRANSLATED],
        F.when(F.col("covered"), None).otherwise(F.col("reason")).alias(f"{kind}_reason"),
    )


def _by_target(checkpoints: DataFrame) -> DataFrame:
    return checkpoints.select(
        "group",
        F.col("topic").alias("target_topic"),
        "kafka_partition",
        F.col("upstream").alias("checkpoint_upstream"),
        F.col("downstream").alias("checkpoint_downstream"),
        F.col("log_timestamp").alias("checkpoint_at"),
    )


def _on_target(observed: ObservedFlow, flow: Flow) -> DataFrame:
    return observed.group_offsets.where(F.col("kafka_cluster") == flow.target_alias).select(
        "group",
        F.col("topic").alias("target_topic"),
        "kafka_partition",
        F.col("group_state").alias("target_state"),
        F.col("offset").alias("target_position"),
    )


def _with_reasons(joined: DataFrame) -> DataFrame:
    absent, unseen = F.col("target_end").isNull(), F.col("unplanned_method").isNull()
    ahead = F.greatest(F.col("planned_downstream") - F.col("checkpoint_downstream"), F.lit(0))
    # MirrorMaker 2 keeps the newest sync in memory, so it would write a higher checkpoint.
    passed = (F.col("sync_upstream") <= F.col("position")) & (F.col("sync_downstream") > F.col("checkpoint_downstream"))
    return joined.withColumns(
        {
            "planned_reason": F.when(absent, NO_REMOTE_TOPIC).otherwise(F.col("planned_reason")),
            "unplanned_position": F.col("unplanned_upstream"),
            "unplanned_reason": F.when(absent, NO_REMOTE_TOPIC)
            .when(unseen, UNSEEN)
            .otherwise(F.col("unplanned_reason")),
            # ``greatest`` ignores null.
            "checkpoint_rereads": F.when(F.col("checkpoint_downstream").isNotNull(), F.col("planned_max_rereads"))
            + ahead,
            "checkpoint_behind_since": F.when(passed, F.greatest("checkpoint_at", "sync_at")),
        }
    )

"""Verdicts on the readiness of consumer groups, on small frames."""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from airflow_provider_connect_offsets.offsets.requests.readiness import Thresholds
from airflow_provider_connect_offsets.pipeline.flow.group_readiness import NO_REMOTE_TOPIC, UNSEEN
from airflow_provider_connect_offsets.pipeline.flow.group_rules import by_group, group_verdicts
from airflow_provider_connect_offsets.workspace.flow_schemas import (
    GROUP_READINESS,
)
from tests.support.rows.readiness_frames import NOON, ago, frame, joined, messages


def judged_groups(spark: SparkSession) -> DataFrame:
    """Groups that either kind of failover translates, or one of them, or none; one ahead on the target."""
    where = {"kafka_partition": 0, "group_state": "Empty", "position": 50, "planned_max_rereads": 0}

    def at(group: str, topic: str = "t", **joined: Any) -> dict[str, Any]:
        return {**where, "group": group, "topic": topic, "target_topic": f"s.{topic}", **joined}

    checkpoint: dict[str, Any] = {"checkpoint_downstream": 50}
    unseen = {"unplanned_reason": UNSEEN}
    return frame(
        spark,
        GROUP_READINESS,
        [
            at("both", **checkpoint, target_state="Stable", planned_downstream=50, target_position=60),
            at("planned", **unseen),
            at("neither", planned_reason="no sync tells", **unseen, planned_max_rereads=None),
            at("several", "bare", planned_reason=NO_REMOTE_TOPIC, unplanned_reason=NO_REMOTE_TOPIC),
            at("several", "t", **unseen, planned_max_rereads=19),
            at("several", "u", **checkpoint, checkpoint_behind_since=ago(700)),
            at("several", "v", **checkpoint, checkpoint_behind_since=ago(600)),
        ],
    )


def test_what_is_found_of_groups(spark: SparkSession) -> None:
    """A line for each group and kind of failover, and an example of why a partition is not covered."""
    thresholds = Thresholds(min_coverage=0.75, max_checkpoint_age=600, max_rereads=15)
    rows = judged_groups(spark).withColumn("observed_at", F.lit(NOON))
    totals = by_group(rows, thresholds, ("both|planned|several", "planned"))

    found = messages(group_verdicts(totals, thresholds, connector="c"))

    too_few = ", fewer than min_coverage (75%) requires. Partition"
    lost = "if the source were lost now, a failover would translate"
    assert found == [
        (
            "error",
            "checkpoint_old",
            joined(
                "in 1 partition the group passed an offset sync more than 600 s ago, but its checkpoint is still "
                "before that sync, so checkpoints are no longer written."
            ),
        ),
        (
            "error",
            "coverage",
            f"a planned failover now would translate 0 of 1 partition{too_few} `t-0`: no sync tells.",
        ),
        (
            "error",
            "rereads",
            joined(
                "after a planned failover now, the group would read up to 19 records again, more than "
                "max_rereads (15) allows."
            ),
        ),
        ("error", "unplanned_coverage", f"{lost} 0 of 1 partition{too_few} `t-0`: {UNSEEN}."),
        ("error", "unplanned_coverage", f"{lost} 0 of 1 partition{too_few} `t-0`: {UNSEEN}."),
        ("error", "unplanned_coverage", f"{lost} 2 of 4 partitions{too_few} `bare-0`: {NO_REMOTE_TOPIC}."),
        (
            "info",
            "target_group",
            joined(
                "in 1 partition, the group's offset on the target is ahead of the translated offset. A "
                "failover moves it back only if the group matches its Param rewind."
            ),
        ),
        *[
            (
                "warning",
                "checkpoint_missing",
                joined(
                    "1 of its 1 partition has no checkpoint. The connector's settings groups or groups.exclude leave "
                    "the group out."
                ),
            )
        ]
        * 2,
        (
            "warning",
            "checkpoint_missing",
            joined(
                "2 of its 4 partitions have no checkpoint. MirrorMaker 2 writes no checkpoint while "
                "the group is behind all offset syncs of the partition, and looks for new groups only every "
                "refresh.groups.interval.seconds."
            ),
        ),
        (
            "warning",
            "coverage",
            f"a planned failover now would translate 3 of 4 partitions. Partition `bare-0`: {NO_REMOTE_TOPIC}.",
        ),
        (
            "warning",
            "target_group",
            joined(
                "on the target, the group of this name has members (Stable), so neither a "
                "failover nor MirrorMaker 2 can commit offsets for it there."
            ),
        ),
    ]

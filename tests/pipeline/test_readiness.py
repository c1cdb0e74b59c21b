"""The readiness of a flow's partitions, on small frames: lag, loss, verdicts, history and trend."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from airflow_provider_connect_offsets.offsets.flow import Side
from airflow_provider_connect_offsets.offsets.requests.readiness import Thresholds
from airflow_provider_connect_offsets.pipeline.flow import readiness_job
from airflow_provider_connect_offsets.pipeline.flow.readiness import (
    ObservedLogs,
    as_history,
    readiness,
    trend,
    with_progress,
)
from airflow_provider_connect_offsets.pipeline.flow.readiness_rules import partition_verdicts
from airflow_provider_connect_offsets.workspace.flow_schemas import (
    FLOW_TOPICS,
    LAG_HISTORY,
    READINESS,
    REMAINING,
)
from airflow_provider_connect_offsets.workspace.readiness import ReadinessDirectory
from airflow_provider_connect_offsets.workspace.schemas import CONNECTOR_OFFSETS, LOG_BOUNDS, OFFSET_SYNCS
from tests.support.model.mirror_events import history
from tests.support.model.mirror_observations import flow_of, write_readiness_observation
from tests.support.model.mirror_world import Ending
from tests.support.programs.submitting import Cluster, assert_same_on_cluster
from tests.support.rows.readiness_frames import NOON, ago, frame, joined, messages

NONE = Thresholds(
    max_lag_records=0,
    max_lag_seconds=0,
    max_sync_age=0,
    max_checkpoint_age=0,
    stuck_after=0,
    min_coverage=0,
    max_rereads=0,
)


def stored(topic: str, position: int | None, partition: int = 0) -> dict[str, Any]:
    return {"topic": topic, "kafka_partition": partition, "position": position}


def log(alias: str, topic: str, start: int, end: int, partition: int = 0) -> dict[str, Any]:
    where = {"kafka_cluster": alias, "topic": topic, "kafka_partition": partition}
    return {**where, "log_start": start, "log_end": end}


def sync(topic: str, upstream: int, downstream: int, number: int, age: float = 0) -> dict[str, Any]:
    mapping = {"topic": topic, "kafka_partition": 0, "upstream": upstream, "downstream": downstream}
    return {**mapping, "log_offset": number, "log_timestamp": ago(age)}


def left(topic: str, offset: int, age: float | None) -> dict[str, Any]:
    written_at = None if age is None else ago(age)
    return {"topic": topic, "kafka_partition": 0, "log_offset": offset, "written_at": written_at}


@pytest.fixture(scope="module")
def rows(spark: SparkSession) -> DataFrame:
    """A partition of each kind."""
    return frame(spark, READINESS, [row.asDict() for row in judged_partitions(spark).collect()])


def judged_partitions(spark: SparkSession) -> DataFrame:
    topics = ["drained", "late", "lost", "beyond", "gone", "fresh"]
    return readiness(
        ObservedLogs(
            offsets=frame(
                spark,
                CONNECTOR_OFFSETS,
                [
                    stored("drained", 10),
                    stored("late", 40),
                    stored("lost", 40),
                    stored("beyond", 99),
                    stored("gone", 7),
                ],
            ),
            topics=frame(
                spark,
                FLOW_TOPICS,
                [{"topic": topic, "target_topic": f"s.{topic}", "topic_id": f"id-{topic}"} for topic in topics],
            ),
            bounds=frame(
                spark,
                LOG_BOUNDS,
                [
                    log("s", "drained", 0, 11),  # the last offset is a transaction marker
                    log("s", "late", 0, 100),
                    log("s", "lost", 50, 100),
                    log("s", "beyond", 3, 20),
                    log("s", "fresh", 5, 9),
                    *(log("t", f"s.{topic}", 0, 100) for topic in ("drained", "late", "lost", "beyond", "gone")),
                ],
            ),
            remaining=frame(
                spark,
                REMAINING,
                [left("late", 40, 30), left("lost", 50, None), left("beyond", 3, 1), left("fresh", 5, -2)],
            ),
            syncs=frame(
                spark,
                OFFSET_SYNCS,
                # Its offset was removed since the last one, so that it begins anew.
                [sync("drained", 9, 90, 1, 500), sync("late", 5, 50, 2, 60), sync("fresh", 3, 3, 3, 900)],
            ),
            source="s",
            target="t",
            observed_at=NOON,
        )
    )


def test_lag_and_loss_of_a_partition(rows: DataFrame) -> None:
    """Lag counts offsets from the position on, or from the log start where MirrorMaker 2 starts over."""
    found = {row["topic"]: row for row in rows.collect()}

    assert {topic: (row["position"], row["lag"], row["lag_ms"], row["lost"]) for topic, row in found.items()} == {
        "drained": (10, 0, 0, 0),
        "late": (40, 60, 30_000, 0),
        "lost": (40, 60, None, 10),
        "beyond": (99, 17, 1_000, None),
        "gone": (7, None, None, None),
        "fresh": (None, 4, 0, None),
    }
    synced = {topic: (row["unsynced"], row["sync_age_ms"]) for topic, row in found.items()}
    assert (synced["drained"], synced["late"]) == ((0, 0), (34, 60_000))
    assert synced["lost"] == synced["fresh"] == (None, None)


def test_without_an_offset_and_from_latest_nobody_knows(spark: SparkSession) -> None:
    """What such a partition lacks is unknown."""
    nothing = {schema: frame(spark, schema, []) for schema in (CONNECTOR_OFFSETS, REMAINING, OFFSET_SYNCS)}
    [row] = readiness(
        ObservedLogs(
            offsets=nothing[CONNECTOR_OFFSETS],
            topics=frame(spark, FLOW_TOPICS, [{"topic": "new", "target_topic": "s.new"}]),
            bounds=frame(spark, LOG_BOUNDS, [log("s", "new", 0, 5)]),
            remaining=nothing[REMAINING],
            syncs=nothing[OFFSET_SYNCS],
            source="s",
            target="t",
            observed_at=NOON,
            starts_elsewhere=True,
        )
    ).collect()

    assert (row["lag"], row["lag_ms"], row["target_end"]) == (None, None, None)


def test_what_is_found_of_partitions(spark: SparkSession, rows: DataFrame) -> None:
    """Each finding has its numbers; a value that is unknown, or at a threshold, is no finding."""
    calm = with_progress(rows, frame(spark, LAG_HISTORY, []), stuck_after=300)
    thresholds = Thresholds(max_lag_seconds=29, max_sync_age=59)

    found = messages(partition_verdicts(calm, thresholds, connector="m", running=True))

    unsynced = "it is replicated up to {}, but has no offset sync, so no group's position can be translated."
    assert found == [
        ("error", "lag", "60 records are not replicated yet; the oldest is 30 s old."),
        (
            "error",
            "retention_loss",
            joined(
                "records 40 to 49 (10 offsets) were deleted from the source before they were replicated. "
                "The source's log now starts at 50, and the remote topic will never have these records."
            ),
        ),
        (
            "error",
            "source_recreated",
            joined(
                "MirrorMaker 2 is at position 99, beyond the log end 20. The source topic was "
                "deleted and created again, or has lost its last records. auto.offset.reset decides where MirrorMaker "
                "2 continues, and positions of groups now refer to different records. Reset the flow."
            ),
        ),
        ("error", "sync_missing", unsynced.format(40)),
        ("error", "sync_missing", unsynced.format(99)),
        (
            "error",
            "sync_old",
            joined("34 records were replicated after the newest offset sync (2026-01-31 11:59:00 UTC)."),
        ),
        (
            "warning",
            "source_recreated",
            joined(
                "the partition no longer exists on the source, but MirrorMaker 2 keeps position 7 for it. If "
                "the partition is created again, it is not replicated from its beginning."
            ),
        ),
    ]


def test_a_group_without_progress_is_found_in_the_history(spark: SparkSession, rows: DataFrame) -> None:
    """It had a lag at this position long enough ago; a group that has moved, or has a new lag, is not found."""

    def then(topic: str, position: int, lag: int, seconds: float, **ids: str) -> dict[str, Any]:
        seen = {"run_uri": f"run-{seconds}", "observed_at": ago(seconds), "lag_ms": 0}
        return {**stored(topic, position), "lag": lag, "topic_id": f"id-{topic}", **seen, **ids}

    history = frame(
        spark,
        LAG_HISTORY,
        [
            then("late", 40, 10, 400),
            then("late", 39, 1, 900),
            then("lost", 40, 0, 400),
            then("beyond", 98, 5, 400),
            then("drained", 10, 3, 400),
            then("fresh", 0, 3, 100, topic_id="another"),
        ],
    )
    progress = with_progress(rows, history, stuck_after=300)

    stuck = {row["topic"]: row["stuck_since"] for row in progress.collect() if row["stuck_since"]}
    assert stuck == {"late": ago(400).replace(tzinfo=None)}
    found = messages(partition_verdicts(progress, Thresholds(max_sync_age=0), connector="m", running=True))
    [message] = [text for _, rule, text in found if rule == "stuck"]
    assert message == (
        "the connector is RUNNING, but has been at position 40 since at least 2026-01-31 11:53:20 UTC, with a lag of "
        "60 records."
    )
    assert [
        text for _, _, text in found if "deleted and created again since the run of 2026-01-31 11:58:20 UTC" in text
    ]


def test_a_remote_topic_that_was_created_again_is_found(spark: SparkSession) -> None:
    """By its end, and where it has grown beyond the last sync since, by its id."""
    base = {"kafka_partition": 0, "target_topic": "s.t", "log_start": 0, "log_end": 9, "position": 9, "lag": 0}
    rows = frame(
        spark,
        READINESS,
        [
            {**base, "topic": "short", "target_end": 5, "sync_downstream": 5, "sync_at": NOON, "observed_at": NOON},
            {
                **base,
                "topic": "other",
                "target_end": 9,
                "sync_downstream": 5,
                "sync_at": NOON,
                "observed_at": NOON,
                "target_topic_id": "new",
            },
        ],
    )
    history = frame(
        spark,
        LAG_HISTORY,
        [{**stored("other", 9), "target_topic_id": "old", "observed_at": ago(60), "run_uri": "r", "lag": 0}],
    )
    progress = with_progress(rows, history, stuck_after=300)

    assert messages(partition_verdicts(progress, NONE, connector="m", running=True)) == [
        (
            "error",
            "remote_topic_lost",
            joined(
                "the remote topic `s.t` ends at 5, but an offset sync refers to offset 5 in it. The remote topic was "
                "deleted and created again, or has lost its last records. Reset the flow."
            ),
        ),
        (
            "error",
            "remote_topic_lost",
            joined(
                "the remote topic `s.t` has been deleted and created again since the run of 2026-01-31 "
                "11:59:00 UTC, so the target no longer has the records that were replicated before. Reset the flow."
            ),
        ),
    ]


def test_history_and_trend(spark: SparkSession, rows: DataFrame) -> None:
    """The trend has the sum of all partitions, and the partitions that lag most."""
    earlier = frame(
        spark,
        LAG_HISTORY,
        [
            {**stored("late", 1), "lag": 90, "lag_ms": 9, "observed_at": ago(60), "run_uri": "a"},
            {**stored("drained", 1), "lag": 5, "lag_ms": 2, "observed_at": ago(60), "run_uri": "a"},
        ],
    )

    kept = earlier.unionByName(as_history(rows, run_uri="now"))
    points = trend(kept, drawn=1).collect()
    lines = {(row["topic"], row["observed_at"]): (row["lag"], row["lag_ms"]) for row in points}
    noon, before = NOON.replace(tzinfo=None), ago(60).replace(tzinfo=None)
    assert lines == {
        (None, noon): (141, 30_000),
        (None, before): (95, 9),
        ("late", noon): (60, 30_000),
        ("late", before): (90, 9),
    }


@pytest.mark.cluster
def test_on_a_cluster(spark: SparkSession, tmp_path: Path, cluster: Cluster) -> None:
    """The datasets are those that one machine gives."""
    random = Random(3)
    directory = ReadinessDirectory(tmp_path.as_uri())
    worlds = [history(random, ending=Ending.BROKEN) for _ in range(10)]
    write_readiness_observation(directory, worlds, flow_of(Side.SOURCE))
    readiness_job.run(spark, directory)

    assert_same_on_cluster("readiness", tmp_path, cluster)

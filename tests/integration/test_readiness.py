"""Readiness of a real MirrorMaker 2 flow, with each fault caused on the real parts."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from airflow_provider_connect_offsets.report import Readiness
from airflow_provider_connect_offsets.workspace.datasets import read_dataset
from airflow_provider_connect_offsets.workspace.files import list_names
from airflow_provider_connect_offsets.workspace.flow_schemas import LAG_TREND
from sandbox import Sandbox, wait_for
from tests.support.flows.readiness import RECORDS, Judged, ReadinessRuns, WatchedFlow, commit

pytestmark = pytest.mark.mirror

LOST, LATE = 10, 30


@dataclass(frozen=True)
class Story:
    """One flow, judged while it is well, after much has happened to it, and once it was started again.

    ``lag_seconds`` passed from before it lagged until the second look was over.
    """

    flow: WatchedFlow
    well: Judged
    broken: Judged
    stuck: Judged
    lag_seconds: float


@pytest.fixture(scope="module")
def story(sandbox: Sandbox, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Story]:
    readiness = ReadinessRuns(sandbox, tmp_path_factory.mktemp("workspace").as_uri(), spark)
    with WatchedFlow.start(sandbox) as flow:
        well = readiness.judge(flow)
        began = time.time()
        break_it(flow)
        broken = readiness.judge(flow, max_lag_records=LATE - 1)
        lag_seconds = time.time() - began
        start_it_wrongly(flow)
        stuck = readiness.judge(flow, keep=2, stuck_after=1, max_lag_seconds=1)
        yield Story(flow, well, broken, stuck, lag_seconds)


def break_it(flow: WatchedFlow) -> None:
    """Stop both connectors; lag, retention, a topic created anew, a deleted remote topic, a group that came late."""
    sandbox = flow.sandbox
    for name in (flow.checkpoints, flow.name):
        sandbox.connect.stop(name)
    sandbox.connect.update_config(
        flow.name, flow.source_config(**{"source.consumer.auto.offset.reset": "latest", "offset.lag.max": "500"})
    )
    sandbox.connect.update_config(flow.checkpoints, flow.checkpoint_config(**{"sync.group.offsets.enabled": "true"}))
    sandbox.source.produce(flow.topic("late"), ["more"] * LATE)
    sandbox.source.produce(flow.topic("retained"), ["more"] * LATE)
    sandbox.source.delete_records(flow.topic("retained"), {0: RECORDS + LOST})
    sandbox.source.delete_topic(flow.topic("recreated"))
    sandbox.source.create_topic(flow.topic("recreated"))
    sandbox.source.produce(flow.topic("recreated"), ["new"] * 5)
    sandbox.target.delete_topic(f"source.{flow.topic('dropped')}")
    commit(sandbox.source, f"{flow.name}-new", {flow.topic("late"): RECORDS, flow.topic("dropped"): RECORDS})


def start_it_wrongly(flow: WatchedFlow) -> None:
    """Without a way to go on where its offset is out of range, and with a checkpoint task that can't start."""
    connect = flow.sandbox.connect
    connect.update_config(flow.name, flow.source_config(**{"source.consumer.auto.offset.reset": "none"}))
    connect.resume(flow.name)
    connect.update_config(flow.checkpoints, flow.checkpoint_config(**{"source.consumer.max.poll.records": "-1"}))
    connect.call("PUT", f"/connectors/{flow.checkpoints}/resume")  # not waited for: its task fails at once
    wait_for(lambda: tasks(flow, flow.checkpoints), ["FAILED"], 60, "no task has failed", progress=connect.work)
    # What can be replicated is, and flushed; the others make no progress.
    late = "what is late was not replicated"
    wait_for(lambda: flow.positions()["late"], RECORDS + LATE, 60, late, progress=connect.work)


def tasks(flow: WatchedFlow, connector: str) -> list[str]:
    """The states of a connector's tasks."""
    return [task["state"] for task in flow.sandbox.connect.status(connector)["tasks"]]


def test_a_flow_that_is_well_is_ready(story: Story) -> None:
    """It has no error, warning or lag; every position is covered, and nothing would be read again."""
    well = story.well.summary

    assert (well["ready"], well["worst"], story.well.errors, story.well.warnings) == (True, None, {}, {})
    assert (well["partitions"], well["lag"], well["lag_ms"], well["lost"], well["unsynced"]) == (
        4,
        0,
        0,
        0,
        0,
    )
    assert (well["groups"], well["group_partitions"], well["group_covered"], well["group_rereads"]) == (
        1,
        2,
        2,
        0,
    )
    late = story.well.groups[story.flow.name, story.flow.topic("late")]
    assert (late["planned_downstream"], late["planned_exact"]) == (RECORDS, True)
    assert late["checkpoint_downstream"] == RECORDS
    assert (late["unplanned_downstream"], late["unplanned_method"]) == (RECORDS, "end")


def test_lag_is_found(story: Story) -> None:
    """The error counts the records; the dataset has the age of the first of them, too."""
    late = story.broken.partitions[story.flow.topic("late")]

    assert (late["position"], late["log_end"], late["lag"]) == (RECORDS, RECORDS + LATE, LATE)
    assert 0 <= late["lag_ms"] <= story.lag_seconds * 1000
    [message] = [text for text in story.broken.errors["lag"] if story.flow.topic("late") in text]
    assert f"topic `{story.flow.topic('late')}`, partition 0: {LATE} records are not replicated yet" in message


def test_what_retention_took_is_found_and_is_the_worst(story: Story) -> None:
    """Records that went before they were replicated, with the very offsets."""
    [message] = story.broken.errors["retention_loss"]

    assert (
        f"topic `{story.flow.topic('retained')}`, partition 0: records 100 to 109 (10 offsets) were deleted" in message
    )
    assert story.broken.partitions[story.flow.topic("retained")]["lost"] == LOST
    assert story.broken.summary["worst"] == {"rule": "retention_loss", "message": message}
    assert story.broken.summary["ready"] is False


def test_a_topic_that_was_created_again_is_found(story: Story) -> None:
    """By its id, which the run before has kept; and without such a run, as the position lies beyond the log's end."""
    [by_id] = story.broken.errors["source_recreated"]
    [beyond] = story.stuck.errors["source_recreated"]

    assert (
        f"topic `{story.flow.topic('recreated')}`, partition 0: the source topic has been deleted and created" in by_id
    )
    assert "is at position 100, beyond the log end 5" in beyond


def test_a_remote_topic_that_is_gone_is_found(story: Story) -> None:
    """It was deleted, or created again and is shorter than an offset sync says."""
    [gone] = story.broken.errors["remote_topic_lost"]
    [shorter] = story.stuck.errors["remote_topic_lost"]

    assert f" of `source.{story.flow.topic('dropped')}`" in gone
    assert "ends at 0, but an offset sync refers to offset 99 in it" in shorter


def test_connectors_that_do_not_run_are_found(story: Story) -> None:
    """Stopped ones, and a task that failed in a connector that is RUNNING."""
    stopped = story.broken.errors["not_running"]
    failed = story.stuck.errors["not_running"]

    assert [f"`{story.flow.checkpoints}` is STOPPED, so it writes no checkpoints. Resume it."] == [
        text for text in stopped if story.flow.checkpoints in text
    ]
    assert len(stopped) == 2
    assert len(failed) == 1
    assert f"`{story.flow.checkpoints}` is RUNNING, but 1 of its 1 task failed. A failed task writes no" in failed[0]


def test_a_task_without_progress_is_found(story: Story) -> None:
    """MirrorMaker 2 stays RUNNING where its consumer has nowhere to go on; only the history shows it."""
    stuck = story.stuck.errors["stuck"]

    assert {kind for kind in ("late", "retained", "recreated") for text in stuck if story.flow.topic(kind) in text} == {
        "retained",
        "recreated",
    }
    assert "the connector is RUNNING, but has been at position 100 since at least" in stuck[0]


def test_a_group_without_checkpoint_or_remote_topic_is_found(story: Story) -> None:
    """What a failover now would not translate, and why; what MirrorMaker 2 has no checkpoint for."""
    group = f"{story.flow.name}-new"
    [coverage] = story.broken.errors["coverage"]
    [missing] = story.broken.warnings["checkpoint_missing"]

    assert (
        f"group `{group}`: a planned failover now would translate 1 of 2 partitions, fewer than min_coverage (90%)"
        in coverage
    )
    assert "the partition has no remote topic." in coverage
    assert f"group `{group}`: 2 of its 2 partitions have no checkpoint." in missing
    [unseen] = [text for text in story.broken.errors["unplanned_coverage"] if f"group `{group}`" in text]
    assert "if the source were lost now, a failover would translate 1 of 2 partitions" in unseen


def test_settings_that_make_a_failover_worse_are_named(story: Story) -> None:
    """Warnings have Kafka's own names, and the values found."""
    [latest] = story.broken.warnings["from_latest"]
    settings = " ".join(story.broken.warnings["failover_setting"])

    assert "`source.consumer.auto.offset.reset=latest`" in latest
    assert "`offset.lag.max=500`" in settings
    assert "`sync.group.offsets.enabled=true`" in settings
    assert "`source.consumer.auto.offset.reset=none`" in " ".join(story.stuck.warnings["failover_setting"])


def test_the_history_keeps_so_many_runs(story: Story) -> None:
    """Earlier runs are drawn next to the last one; the directory of the one that fell out is gone."""
    points = read_dataset(story.stuck.directory.lag_trend, LAG_TREND)
    late = [point for point in points if point["topic"] == story.flow.topic("late")]

    assert [point["lag"] for point in sorted(late, key=lambda point: point["observed_at"])] == [LATE, 0]
    assert story.stuck.summary["expired"] == [story.well.directory.uri]
    assert list_names(story.well.directory.uri) == []
    assert list_names(story.broken.directory.uri) != []
    written = {Path(look.summary["next_history"].removeprefix("file://")): look for look in (story.broken, story.stuck)}
    assert sorted(next(iter(written)).parent.glob("*.parquet")) == list(written)
    for path, look in written.items():
        # Each run has added its own rows, and has left those of others as they were.
        assert set(pq.ParquetFile(path).read()["run_uri"].to_pylist()) == {look.directory.uri}


def test_the_report_shows_all_of_it(story: Story) -> None:
    """It has the headline, a section for each kind of finding, the plots and the settings."""
    html = Path(Readiness.read(story.broken.directory).write().removeprefix("file://")).read_text()
    assert "Not ready: 9 errors" in html
    for text in ("Lost or created again", "Connectors and their tasks", "Groups after a failover", "offset.lag.max"):
        assert text in html
    assert html.count("<svg") == 2

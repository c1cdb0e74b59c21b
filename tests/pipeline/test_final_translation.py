"""The final translation of a drained failover, compared with the preview that was approved."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from airflow_provider_connect_offsets.pipeline.failover import standby_job, translate_job
from airflow_provider_connect_offsets.workspace import files
from airflow_provider_connect_offsets.workspace.datasets import read_dataset, write_dataset
from airflow_provider_connect_offsets.workspace.files import read_json
from airflow_provider_connect_offsets.workspace.flow_schemas import (
    COMPARE_RANGES,
    MIRROR_PARTITIONS,
    RECORD_DIGESTS,
    TRANSLATION,
)
from airflow_provider_connect_offsets.workspace.layout import FailoverDirectory, StandbyDirectory
from airflow_provider_connect_offsets.workspace.schemas import GROUP_OFFSETS
from sandbox import wait_until
from tests.support.rows.written_failover import write_observation

pytestmark = pytest.mark.jobs

Row = tuple[int | None, bool, str, str, bool | None]


@pytest.fixture
def directory(tmp_path: Path) -> FailoverDirectory:
    return FailoverDirectory(tmp_path.as_uri())


def rows(directory: FailoverDirectory) -> dict[str, dict[str, Any]]:
    """The translation by group; each has one partition."""
    return {row["group"]: row for row in read_dataset(directory.translation, TRANSLATION)}


@pytest.fixture
def final(directory: FailoverDirectory, tmp_path: Path) -> FailoverDirectory:
    """Where the translation that follows lies."""
    del directory
    return FailoverDirectory((tmp_path / "final").as_uri())


def test_a_final_translation_that_is_as_its_preview_passes(
    spark: SparkSession, directory: FailoverDirectory, final: FailoverDirectory
) -> None:
    """The gate is what it is without a preview."""
    for one in (directory, final):
        write_observation(one, min_coverage=0.3)
    translate_job.run(spark, directory)

    assert translate_job.run(spark, final, directory)["errors"] == []


def test_a_group_that_the_preview_did_not_show_closes_the_gate(
    spark: SparkSession, directory: FailoverDirectory, final: FailoverDirectory
) -> None:
    """Nobody has approved it: it has appeared while the flow was drained."""
    for one in (directory, final):
        write_observation(one, min_coverage=0.3)
    offsets = [row for row in read_dataset(directory.group_offsets, GROUP_OFFSETS) if row["group"] != "between"]
    write_dataset(directory.group_offsets, GROUP_OFFSETS, offsets)
    translate_job.run(spark, directory)

    (error,) = translate_job.run(spark, final, directory)["errors"]

    assert error == (
        "Groups that the preview did not show would also be moved: 'between'. Start a new run, whose preview shows "
        "this before anything is stopped, or narrow `groups`."
    )


def test_more_rereads_than_the_preview_said_close_the_gate(
    spark: SparkSession, directory: FailoverDirectory, final: FailoverDirectory
) -> None:
    """Of a partition that the preview would have moved; where `max_rereads` allows them, that is the limit."""
    write_observation(directory, min_coverage=0.2)
    translate_job.run(spark, directory)
    before = read_json(directory.summary)["max_rereads"]
    write_observation(final, min_coverage=0.2)
    partitions = [
        {**row, "gapless": False} if row["kafka_partition"] == 0 else row
        for row in read_dataset(final.mirror_partitions, MIRROR_PARTITIONS)
    ]
    write_dataset(final.mirror_partitions, MIRROR_PARTITIONS, partitions)

    summary = translate_job.run(spark, final, directory)

    assert summary["max_rereads"] > before
    assert len(summary["errors"]) == 1
    assert summary["errors"][0].startswith("More records would be read again than in the preview: up to ")
    assert "instead of 0 in group 'between', topic 'here.orders', partition 0." in summary["errors"][0]
    for allowed, errors in ((summary["max_rereads"], 0), (summary["max_rereads"] - 1, 1)):
        request = {**read_json(final.request), "max_rereads": allowed}
        files.write_json(final.request, request)
        assert len(translate_job.run(spark, final, directory)["errors"]) == errors


@pytest.fixture
def waiting(directory: FailoverDirectory) -> StandbyDirectory:
    """Where a driver that waits for the final observation leaves its messages."""
    return StandbyDirectory(f"{directory.uri}/final/standby/1")


def test_a_driver_that_waited_translates_as_one_that_did_not(
    spark: SparkSession, directory: FailoverDirectory, final: FailoverDirectory, waiting: StandbyDirectory
) -> None:
    """It leaves the preview alone, and reads nothing of the final observation before that is whole."""
    write_observation(directory, min_coverage=0.3)
    translate_job.run(spark, directory)
    preview = {name: files.read_bytes(f"{directory.uri}/{name}") for name in ("summary.json", "request.json")}
    arguments = [directory.uri, final.uri, waiting.uri, "600"]
    files.write_bytes(waiting.wanted, b"")

    with ThreadPoolExecutor(1) as pool:
        standing_by = pool.submit(standby_job.JOB.run, spark, arguments)
        wait_until(lambda: files.exists(waiting.ready) or standing_by.done(), 600, "the driver is not ready")
        write_observation(final, min_coverage=0.3)
        files.write_bytes(waiting.observed, b"")
        standing_by.result()

    assert preview == {name: files.read_bytes(f"{directory.uri}/{name}") for name in preview}
    other = FailoverDirectory(f"{directory.uri}/other")
    write_observation(other, min_coverage=0.3)
    summary = translate_job.run(spark, other, directory)
    assert _untimed(read_json(final.summary)) == _untimed(summary)
    assert rows(final) == rows(other)


def test_a_driver_gets_ready_with_records_as_they_will_be_read(
    spark: SparkSession, directory: FailoverDirectory, tmp_path: Path
) -> None:
    """Those of the chosen ranges, alike from the ends of both logs on, so that it compares as it will in the end."""
    write_observation(directory, min_coverage=0.3)
    translate_job.run(spark, directory)
    ranges = read_dataset(directory.compare_ranges, COMPARE_RANGES)
    outputs = FailoverDirectory((tmp_path / "standby").as_uri())

    translate_job.rehearse(spark, directory, outputs)

    logs = {(one["kafka_partition"], side): one[f"{side}_from"] for one in ranges for side in ("source", "target")}
    expected = [(*log, offset) for log, start in logs.items() for offset in range(start, 100)]
    digests = read_dataset(outputs.record_digests, RECORD_DIGESTS)
    assert sorted((row["kafka_partition"], row["side"], row["log_offset"]) for row in digests) == sorted(expected)
    of_last = {row["digest"] for row in digests if row["log_offset"] == 99}
    assert [len(digest) for digest in of_last] == [16]
    partitions = read_dataset(outputs.mirror_partitions, MIRROR_PARTITIONS)
    froms = {(row["kafka_partition"], side): row[f"{side}_from"] for row in partitions for side in ("source", "target")}
    assert froms == {(number, side): logs.get((number, side)) for number in (0, 1) for side in ("source", "target")}
    assert {row["method"] for row in read_dataset(outputs.translation, TRANSLATION)} > {"record"}


@pytest.mark.parametrize(("seconds", "told"), [("600", []), ("0", ["wanted"])], ids=["not wanted", "too late"])
def test_a_driver_that_nobody_needs_ends(
    spark: SparkSession,
    directory: FailoverDirectory,
    final: FailoverDirectory,
    waiting: StandbyDirectory,
    seconds: str,
    told: list[str],
) -> None:
    """It has translated nothing then."""
    write_observation(directory, min_coverage=0.3)
    translate_job.run(spark, directory)
    for name in told:
        files.write_bytes(f"{waiting.uri}/{name}", b"")

    standby_job.JOB.run(spark, [directory.uri, final.uri, waiting.uri, seconds])

    assert not files.exists(final.summary)
    assert files.exists(waiting.ready) == bool(told)


def _untimed(summary: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in summary.items() if name != "translated_at"}

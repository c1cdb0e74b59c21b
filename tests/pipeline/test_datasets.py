"""Datasets as the jobs read and write them, whatever Spark settings users have."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from airflow_provider_connect_offsets.exceptions import DatasetError
from airflow_provider_connect_offsets.pipeline import jvm, session
from airflow_provider_connect_offsets.pipeline.frames import make_frame, read_dataset, struct_type, write_dataset
from airflow_provider_connect_offsets.pipeline.shipping import PACKAGE
from airflow_provider_connect_offsets.workspace import datasets, files, paths
from airflow_provider_connect_offsets.workspace.schemas import VERDICTS, Schema

_NO_MARKERS = "mapreduce.fileoutputcommitter.marksuccessfuljobs"
_ROW = {"rule": "lag", "severity": "error", "connector": "flow", "partition": "p", "message": "m"}

TASKS, ADAPTIVE = "spark.sql.shuffle.partitions", "spark.sql.adaptive.enabled"


def without(column: str) -> Schema:
    """The schema of verdicts, before it had that column."""
    return Schema(VERDICTS.name, tuple(one for one in VERDICTS.columns if one.name != column))


@pytest.fixture
def careless(spark: SparkSession) -> Iterator[SparkSession]:
    """A session that writes no ``_SUCCESS``, and passes over files that can't be read."""
    hadoop: Any = spark.sparkContext._jsc.hadoopConfiguration()
    hadoop.set(_NO_MARKERS, "false")
    spark.conf.set("spark.sql.files.ignoreCorruptFiles", "true")
    yield spark
    hadoop.unset(_NO_MARKERS)
    spark.conf.unset("spark.sql.files.ignoreCorruptFiles")


def test_what_a_job_has_written_is_finished(careless: SparkSession, tmp_path: Path) -> None:
    """For readers of either side, also where Hadoop is configured to write no markers."""
    frame = careless.createDataFrame([tuple(_ROW.values())], struct_type(VERDICTS))

    write_dataset(frame, str(tmp_path / "d"))

    assert datasets.read_dataset(str(tmp_path / "d"), VERDICTS) == [_ROW]
    assert [row.asDict() for row in read_dataset(careless, str(tmp_path / "d"), VERDICTS).collect()] == [_ROW]


def test_a_damaged_part_is_an_error(careless: SparkSession, tmp_path: Path) -> None:
    """A plan made without its rows would be wrong."""
    datasets.write_dataset(str(tmp_path / "d"), VERDICTS, [_ROW])
    (tmp_path / "d" / "part-00001.parquet").write_bytes(b"PAR1 and no more")

    with pytest.raises((DatasetError, PySparkException)):
        read_dataset(careless, str(tmp_path / "d"), VERDICTS).collect()


def test_a_column_that_was_added_later(spark: SparkSession, tmp_path: Path) -> None:
    """Null in an older dataset where it may be, or one sentence that names it."""
    datasets.write_dataset(str(tmp_path / "old"), without("partition"), [_ROW])
    datasets.write_dataset(str(tmp_path / "another"), without("message"), [_ROW])

    found = read_dataset(spark, str(tmp_path / "old"), VERDICTS).collect()

    assert [row.asDict() for row in found] == [{**_ROW, "partition": None}]
    with pytest.raises(
        DatasetError, match=r"/another is not a dataset verdicts: it lacks required columns \(message\)"
    ):
        read_dataset(spark, str(tmp_path / "another"), VERDICTS)


def test_a_dataset_that_was_never_finished(spark: SparkSession, tmp_path: Path) -> None:
    """Refused as by those who read without Spark."""
    datasets.write_dataset(str(tmp_path / "d"), VERDICTS, [_ROW])
    files.remove_tree(str(tmp_path / "d" / paths.MARKER))

    for uri in (str(tmp_path / "d"), str(tmp_path / "none")):
        with pytest.raises(DatasetError, match=r"the dataset verdicts at .* was never finished \(no _SUCCESS\)"):
            read_dataset(spark, uri, VERDICTS)


def test_a_default_yields_to_what_is_set(spark: SparkSession) -> None:
    """What the session was started with stays."""
    was = spark.conf.get("spark.sql.shuffle.partitions")
    session.set_default(spark, "spark.sql.shuffle.partitions", "77")
    session.set_default(spark, "spark.sql.files.openCostInBytes", "65536")

    assert spark.conf.get("spark.sql.shuffle.partitions") == was
    assert spark.conf.get("spark.sql.files.openCostInBytes") == "65536"
    spark.conf.unset("spark.sql.files.openCostInBytes")


@pytest.mark.parametrize(
    ("megabytes", "expected"),
    [
        (1, session.SMALL),
        (2, {TASKS: "5", ADAPTIVE: "false"}),
        (80, {TASKS: "5", ADAPTIVE: "false"}),
        (100, {TASKS: "7"}),
    ],
)
def test_large_datasets_are_divided_among_more_tasks(
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    megabytes: int,
    expected: dict[str, str],
) -> None:
    """A task that sorts too many rows runs out of the driver's memory, while a connector may be stopped."""
    part = tmp_path / "forward" / "record_digests" / "part.parquet"
    part.parent.mkdir(parents=True)
    with part.open("wb") as file:
        file.truncate(megabytes * 2**20)
    chosen: dict[str, str] = {}
    monkeypatch.setattr(session, "set_default", lambda _, setting, value: chosen.update({setting: value}))

    session.fit(spark, tmp_path.as_uri(), tasks=5)

    assert chosen == expected


@pytest.mark.parametrize(
    ("words", "modules"),
    [
        (("SparkSession.builder", ".conf.set("), {"session"}),
        # People's own files and tables of offsets, and the history, which is a folder of files that are each whole.
        ((".parquet(", ".write."), {"frames", "lists", "readiness_run", "tables"}),
    ],
)
def test_all_jobs_share_it(words: tuple[str, ...], modules: set[str]) -> None:
    """No job opens a session of its own, changes its settings, or reads and writes datasets in another way."""
    sources = {path.stem: path.read_text() for path in (PACKAGE / "pipeline").rglob("*.py")}

    assert {name for name, text in sources.items() if any(word in text for word in words)} == modules


def test_few_rows_are_just_those(spark: SparkSession) -> None:
    """Whatever characters a name has; and no rows are known to be none, before anything runs."""
    shape = "`group` string, position long, share double, planned boolean, reason string"
    rows = [("gro\"up\\ \u2028é 'x'\n", 2**63 - 1, 0.1, True, None), ("", -1, 1.0, False, "null")]

    found = make_frame(spark, rows, shape)

    assert [tuple(row) for row in found.collect()] == rows
    assert make_frame(spark, [], shape).schema.simpleString() == found.schema.simpleString()
    assert make_frame(spark, [], shape).collect() == []


@pytest.mark.parametrize(
    ("uri", "why"),
    [
        ("s3://offsets/run", 'No FileSystem for scheme "s3".*hadoop-aws.*Use s3a://'),
        ("s3a://offsets/run", "S3AFileSystem not found.*hadoop-aws for s3a://, with the task's argument 'packages'"),
    ],
)
def test_a_store_that_spark_cannot_reach(spark: SparkSession, uri: str, why: str) -> None:
    """The first line that reads from it says what the job lacks."""
    with pytest.raises(DatasetError, match=f"Spark can't reach {uri}: .*{why}"):
        jvm.size_of(spark, uri)

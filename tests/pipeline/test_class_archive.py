"""The class-data archive of Spark's driver: written once, used if it fits, and never an obstacle."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from airflow_provider_connect_offsets.pipeline import class_archive, rehearsal_job
from airflow_provider_connect_offsets.pipeline.shipping import QUICK_START, spark_submit_path
from airflow_provider_connect_offsets.workspace.layout import FailoverDirectory


def test_a_file_that_is_missing_is_not_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An existing archive is named after our options and before the user's."""
    archive = tmp_path / "classes.jsa"
    assert class_archive.quick_start("") == {"SPARK_SUBMIT_OPTS": QUICK_START}
    assert class_archive.quick_start(str(archive)) == {"SPARK_SUBMIT_OPTS": QUICK_START}

    archive.touch()
    monkeypatch.setenv("SPARK_SUBMIT_OPTS", "-Dmine=1")

    options = class_archive.quick_start(str(archive))
    assert options == {"SPARK_SUBMIT_OPTS": f"{QUICK_START} -XX:SharedArchiveFile={archive} -Dmine=1"}


def test_a_rehearsal_translates_what_it_has_made_up(spark: SparkSession, tmp_path: Path) -> None:
    """Both groups get the offsets of their checkpoints."""
    summary = rehearsal_job.rehearse(spark, FailoverDirectory(tmp_path.as_uri()))

    assert (summary["errors"], summary["commit"], summary["by_checkpoint"]) == ([], 2, 2)


@pytest.mark.parametrize("words", [[], ["--help"], ["a", "b"]])
def test_words_that_make_no_sense(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """The exit code is 2, and one line shows the usage."""
    assert class_archive.main(words) == 2
    assert capsys.readouterr().err.startswith("usage: python -m ")


def test_a_folder_that_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is begun."""
    assert class_archive.main([str(tmp_path / "none" / "classes.jsa")]) == 2
    assert "There is no folder" in capsys.readouterr().err


def test_a_job_that_fails_leaves_no_file_behind(tmp_path: Path) -> None:
    """Its output is part of the message."""
    program = tmp_path / "spark-submit"
    program.write_text("#!/bin/sh\necho it did not work >&2\nexit 3\n")
    program.chmod(0o700)

    assert class_archive.write_class_archive(tmp_path / "classes.jsa", str(program)) == "it did not work"
    assert [path.name for path in tmp_path.iterdir()] == ["spark-submit"]


@pytest.mark.processes
def test_the_jvm_starts_from_what_it_has_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Most of Spark's own classes come from the archive, as the JVM says of each; the others are made as they run."""
    archive, loaded, job = tmp_path / "classes.jsa", tmp_path / "loaded", tmp_path / "job.py"
    assert class_archive.main([str(archive)]) == 0
    assert str(archive) in capsys.readouterr().out
    assert [path.name for path in tmp_path.iterdir()] == ["classes.jsa"]
    job.write_text("from pyspark.sql import SparkSession; SparkSession.builder.getOrCreate().stop()")
    mine = f"spark.driver.extraJavaOptions=-Xlog:class+load:file={loaded}"
    command = [str(spark_submit_path()), "--master", "local[1]", "--conf", mine, str(job)]
    here = {**os.environ, **class_archive.quick_start(str(archive)), "PYSPARK_PYTHON": sys.executable}

    subprocess.run(command, check=True, capture_output=True, cwd=tmp_path, env=here)

    spark_classes = [line for line in loaded.read_text().splitlines() if " org.apache.spark." in line]
    archived = [line for line in spark_classes if "source: shared objects file (top)" in line]
    assert len(archived) > 0.5 * len(spark_classes) > 1000

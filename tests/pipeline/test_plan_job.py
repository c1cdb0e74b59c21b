"""The plan job as a whole: its input, datasets and summary, with nothing but the shipped zip."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from airflow_provider_connect_offsets.offsets.plan import Action, OffsetPlan, PlanRow
from airflow_provider_connect_offsets.offsets.requests.request import Request
from airflow_provider_connect_offsets.pipeline import job, shipping, unzipped
from airflow_provider_connect_offsets.pipeline.plan import plan_job
from airflow_provider_connect_offsets.pipeline.summary import SAMPLE
from airflow_provider_connect_offsets.workspace import schemas
from airflow_provider_connect_offsets.workspace.datasets import read_dataset, write_dataset
from airflow_provider_connect_offsets.workspace.files import read_bytes, read_json, write_json
from airflow_provider_connect_offsets.workspace.layout import RunDirectory
from tests.support.programs.submitting import Cluster, UserSettings, assert_same_on_cluster, submit
from tests.support.rows.planning import NOW, Connector, Log, Logs, Planner, at_mirror, mirror, replicated, sink

LOGS = {("orders", 0): Log(0, 100), ("orders", 1): Log(0, 100), ("orders", 2): Log(0, 100)}
FLOW = mirror({("orders", 0): 60, ("orders", 1): 20})


def snapshot(path: Path, connector: Connector, logs: Logs = LOGS, **requested: str) -> RunDirectory:
    """Write what the job reads."""
    directory = RunDirectory(str(path))
    request = Request.parse(connector=connector.name, now=NOW, **requested)
    write_json(directory.request, request.as_json())
    write_dataset(directory.connectors, schemas.CONNECTORS, [connector.row()])
    write_dataset(directory.connector_offsets, schemas.CONNECTOR_OFFSETS, connector.offset_rows())
    write_dataset(
        directory.log_bounds, schemas.LOG_BOUNDS, [_bounds(topic, number, log) for (topic, number), log in logs.items()]
    )
    return directory


def _bounds(topic: str, number: int, log: Log) -> dict[str, Any]:
    known = {"kafka_cluster": "kafka", "topic": topic, "kafka_partition": number}
    return {**known, "log_start": log.start, "log_end": log.end, "lookup_timestamp": None, "lookup_offset": log.lookup}


def plan_in(directory: RunDirectory) -> OffsetPlan:
    """Read the plan back as those do who apply it."""
    rows = read_dataset(directory.offset_plan, schemas.OFFSET_PLAN)
    request = Request.from_json(read_json(directory.request))
    return OffsetPlan.of(request, (PlanRow(**{**row, "action": Action(row["action"])}) for row in rows))


def test_a_run(spark: SparkSession, planner: Planner, tmp_path: Path) -> None:
    """Plan and verdicts can be read back, and the summary counts exactly these."""
    del planner
    directory = snapshot(tmp_path, FLOW, to="offset", value="40")

    [summary] = plan_job.run_all(spark, [directory])

    plan = plan_in(directory)
    assert [(row.partition, row.before, row.after, row.action, row.family) for row in plan.rows] == [
        (at_mirror(0), replicated(59), replicated(39), "set", "mirror_source"),
        (at_mirror(1), replicated(19), replicated(39), "set", "mirror_source"),
        (at_mirror(2), None, replicated(39), "set", "mirror_source"),
    ]
    assert read_json(directory.summary) == summary
    assert summary["planned_at"] > "2026-"
    del summary["planned_at"]
    assert summary == {
        "connector": "flow",
        "request": plan.request.as_json(),
        "partitions": 3,
        "set": 3,
        "clear": 0,
        "keep": 0,
        "records_again": 20,
        "records_skipped": 60,
        "digest": plan.digest,
        "verdicts": {"error": 0, "warning": 3, "info": 0},
        "rules": {"rewind": 1, "skip": 2},
        "worst": "warning",
        "errors": [],
        "warnings": [
            "`flow`, topic `orders`, partition 0: 20 records are delivered again.",
            "`flow`, topic `orders`, partition 1: 20 records are never delivered.",
            "`flow`, topic `orders`, partition 2: 40 records are never delivered.",
        ],
    }
    assert {row["rule"] for row in read_dataset(directory.verdicts, schemas.VERDICTS)} == {"rewind", "skip"}


def test_a_refused_request(spark: SparkSession, planner: Planner, tmp_path: Path) -> None:
    """An error is no reason for the job to fail: the summary has it, with an empty plan."""
    del planner
    directory = snapshot(tmp_path, FLOW, to="file", value="/nowhere/offsets.json")

    [summary] = plan_job.run_all(spark, [directory])

    assert (summary["worst"], summary["partitions"], summary["digest"]) == ("error", 0, plan_in(directory).digest)
    assert summary["errors"] == [row["message"] for row in read_dataset(directory.verdicts, schemas.VERDICTS)]


def test_many_verdicts_are_counted_and_sampled(spark: SparkSession, planner: Planner, tmp_path: Path) -> None:
    """A plan of a thousand partitions names a few of its verdicts, and counts all."""
    del planner
    many = {("orders", number): Log(0, 100) for number in range(1000)}
    directory = snapshot(tmp_path, sink(dict.fromkeys(many, 7)), many, to="offset", value="101")

    [summary] = plan_job.run_all(spark, [directory])

    assert (summary["partitions"], summary["verdicts"]) == (1000, {"error": 1000, "warning": 1000, "info": 0})
    assert (len(summary["errors"]), len(summary["warnings"])) == (SAMPLE, SAMPLE)
    assert summary["digest"] == plan_in(directory).digest


def test_a_failed_run_leaves_no_summary(spark: SparkSession, planner: Planner, tmp_path: Path) -> None:
    """The summary of an earlier attempt must not vouch for a plan that is not its own."""
    del planner
    directory = snapshot(tmp_path, FLOW, to="latest")
    write_json(directory.summary, {"digest": "of an earlier attempt"})
    write_dataset(directory.connectors, schemas.CONNECTORS, [])

    with pytest.raises(Exception, match="connector 'flow' is not in the snapshot"):
        plan_job.run_all(spark, [directory])

    assert read_bytes(directory.summary) is None


def test_usage(capsys: pytest.CaptureFixture[str]) -> None:
    """Wrong arguments end before Spark starts."""
    assert plan_job.JOB.main([]) == 2
    assert capsys.readouterr().err == "usage: job.py plan RUN_DIRECTORY\n"


@pytest.mark.parametrize("arguments", [[], ["export"], ["plan.plan_job", "run"]])
def test_an_unknown_job(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """The usage names all jobs."""
    assert job.main(arguments) == 2
    names = "plan,replay,mirror-reset,translation,standby,readiness,orphans,offset-changes,rehearsal"
    assert capsys.readouterr().err == f"usage: job.py {{{names}}} RUN_DIRECTORY ...\n"


@pytest.mark.parametrize("name", job.JOBS)
def test_each_job_has_its_name(name: str) -> None:
    """The name that ``job.py`` takes is the one that its usage and Spark's application show."""
    assert job.load(name).name == name


@pytest.mark.processes
def test_spark_submit(tmp_path: Path) -> None:
    """The job runs where nothing of ours is installed: driver and workers find all they import in the zip.

    It keeps to the user's settings, but for the markers that end datasets.
    """
    directory = snapshot(tmp_path / "run", FLOW, to="shift", value="-10")
    user = UserSettings(tmp_path / "log")

    submit("plan", directory.uri, tmp_path, user.settings)

    user.assert_kept()
    assert [(row.partition, row.after_position) for row in plan_in(directory).rows] == [
        (at_mirror(0), 50),
        (at_mirror(1), 10),
        (at_mirror(2), None),
    ]
    assert read_json(directory.summary)["digest"] == plan_in(directory).digest


def test_the_zip(tmp_path: Path) -> None:
    """The same modules give the same bytes, whenever they are packed, and no more than the job needs."""
    first = shipping.write_py_files(tmp_path / "first.zip")
    second = shipping.write_py_files(tmp_path / "second.zip")

    assert first.read_bytes() == second.read_bytes()
    names = zipfile.ZipFile(first).namelist()
    rooms = {name.split("/")[1] for name in names}
    assert rooms == {"__init__.py", "exceptions.py", "masking.py", "offsets", "pipeline", "words.py", "workspace"}
    assert [name.split("/")[2] for name in names if "/workspace/" in name] == [
        "__init__.py",
        "flow_schemas.py",
        "layout.py",
        "paths.py",
        "readiness.py",
        "schemas.py",
        "snapshots.py",
    ]
    assert shipping.job_path().is_file()


def test_a_zip_goes_behind_the_package_that_it_is_a_copy_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where pip has installed both; one of another Spark stays where it is, and so does one whose package is away."""
    site = tmp_path / "site-packages"
    (site / "pyspark").mkdir(parents=True)
    (site / "pyspark" / "__init__.py").touch()
    lib = site / "pyspark" / "python" / "lib"
    copy, without_package = str(lib / "pyspark.zip"), str(lib / "py4j-0.10.9.9-src.zip")
    others = ["/opt/spark/python/lib/pyspark.zip", "/srv/connect_offsets.zip", "", "pyspark.zip"]
    path = [copy, without_package, *others, str(site)]

    monkeypatch.setattr(unzipped, "_ON_PATH", frozenset(path))
    assert sorted(path, key=unzipped.is_copy) == [without_package, *others, str(site), copy]
    monkeypatch.setattr(unzipped, "_ON_PATH", frozenset(path) - {str(site)})
    assert sorted(path, key=unzipped.is_copy) == path


def test_packing_needs_no_pyspark() -> None:
    """An Airflow task packs the zip; importing pyspark for that would cost it seconds."""
    program = (
        "import sys; from airflow_provider_connect_offsets.pipeline import shipping; "
        "sys.exit('pyspark' in sys.modules or 'airflow' in sys.modules)"
    )

    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


@pytest.mark.cluster
def test_on_a_cluster(spark: SparkSession, tmp_path: Path, cluster: Cluster) -> None:
    """The datasets are those that one machine gives."""
    directory = snapshot(tmp_path / "run", FLOW, to="shift", value="-10")
    plan_job.run_all(spark, [directory])

    assert_same_on_cluster("plan", tmp_path / "run", cluster)

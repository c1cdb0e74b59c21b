"""Airflow's own commands, in processes of their own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from airflow_provider_connect_offsets.workspace.layout import RunDirectory
from airflow_provider_connect_offsets.workspace.outcome import Outcome, Result
from tests.support.flows.flows import RECORDS, MirrorFlow

pytestmark = pytest.mark.processes
DAGS = Path(__file__).parents[2] / "dags"


def airflow(*arguments: str) -> str:
    """Run an ``airflow`` command, which has to succeed, and give what it prints."""
    done = subprocess.run([sys.executable, "-m", "airflow", *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.usefixtures("_airflow_database", "connections")
def test_dags_test_makes_a_change(mirror: MirrorFlow, workspace: str) -> None:
    """``airflow dags test connector_offsets_change --conf '{…}'`` ends with the plan applied, and with a report.

    Of the partition that was named, as many records are delivered again as planned; the other one is left alone.
    """
    before = mirror.target_ends()
    requested = {
        "connector": mirror.name,
        "to": "offset",
        "value": "40",
        "partitions": "1",
        "kafka_conn_id": "kafka_source",
    }

    airflow("dags", "test", "connector_offsets_change", "--conf", json.dumps({**requested, "approval": False}))

    mirror.wait_until_caught_up()
    assert mirror.target_ends() == {0: before[0], 1: before[1] + RECORDS - 40}
    (run,) = Path(workspace.removeprefix("file://"), "connector_offsets_change").iterdir()
    directory = RunDirectory(run.as_uri())
    outcome = Outcome.read(directory.outcome)
    assert outcome is not None
    assert (outcome.result, outcome.prior_state, outcome.final_state) == (Result.APPLIED, "RUNNING", "RUNNING")
    html = Path(directory.report.removeprefix("file://")).read_text()
    assert mirror.name in html
    assert mirror.topic in html


def test_the_provider_is_listed() -> None:
    """``airflow providers list`` shows it, and the hook of its connection type."""
    assert "airflow-provider-connect-offsets" in airflow("providers", "list")
    assert "kafka_connect" in airflow("providers", "hooks")


@pytest.mark.parametrize("name", sorted(file.stem for file in DAGS.glob("*.py")))
def test_parsing_a_dag_imports_no_heavy_client(name: str) -> None:
    """Airflow parses DAG files every half minute; Spark, Kafka's and HTTP clients wait until a task runs."""
    code = (
        "import sys, runpy\n"
        "from airflow.sdk import DAG\n"
        f"runpy.run_path({str(DAGS / f'{name}.py')!r})\n"
        "print(*(name for name in ('pyspark', 'confluent_kafka', 'pyarrow') if name in sys.modules))"
    )

    loaded = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout

    assert loaded.split() == []

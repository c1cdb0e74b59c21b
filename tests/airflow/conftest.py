"""Real DAG runs, in this process, on the shared sandbox."""

from __future__ import annotations

import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from dag_runs import Ran

from airflow_provider_connect_offsets.workspace.layout import run_directory
from sandbox import Sandbox

DAGS = Path(__file__).parents[2] / "dags"


@pytest.fixture(scope="session")
def _airflow_database() -> None:
    subprocess.run([sys.executable, "-m", "airflow", "db", "migrate"], check=True, capture_output=True)


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The workspace of the test's DAG runs."""
    uri = (tmp_path / "workspace").as_uri()
    monkeypatch.setenv("AIRFLOW__CONNECT_OFFSETS__WORKSPACE", uri)
    return uri


@pytest.fixture
def connections(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    """Airflow's default connections lead to the sandbox."""
    for name, value in sandbox.to_connections().items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def run_dag(
    _airflow_database: None, connections: None, workspace: str, capfd: pytest.CaptureFixture[str]
) -> Callable[..., Ran]:
    """Run a ready DAG with Params, in this process, and wait for its end."""
    del connections

    def run(dag_id: str = "connector_offsets_change", dags: Path = DAGS, **params: Any) -> Ran:
        from airflow.dag_processing.dagbag import DagBag

        capfd.readouterr()
        with warnings.catch_warnings():
            # What Airflow warns itself of is not ours to mend.
            warnings.simplefilter("default")
            warnings.filterwarnings("error", module="airflow_provider_connect_offsets")
            dag = DagBag(str(dags / f"{dag_id}.py")).dags[dag_id]
            ended = dag.test(run_conf={"approval": False, **params})
        printed = capfd.readouterr()
        print(printed.out, printed.err)  # noqa: T201 - shown by pytest where the test fails
        return Ran(
            state=str(ended.state),
            tasks={task.task_id.removeprefix("change."): str(task.state) for task in ended.get_task_instances()},
            directory=run_directory(workspace, dag_id=dag_id, run_id=ended.run_id),
            output=printed.out + printed.err,
        )

    return run

"""Fixtures that run DAGs in this process, on the shared sandbox."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from airflow_provider_connect_offsets.workspace.layout import run_directory
from sandbox import Sandbox
from sandbox.airflow import DAGS, parse_dags
from sandbox.connect import Connect
from tests.support.airflow.dag_runs import Ran
from tests.support.airflow.planted import leaks, planted_config, planted_connection, stored_by_airflow

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_MODULE_OF_DAG_TEST, _BETWEEN_PASSES = "airflow.sdk.definitions.dag", 0.05  # seconds


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
def connection(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Set an Airflow connection, as JSON in its environment variable; a string is set as it is."""

    def set_connection(conn_id: str = "kafka_connect_default", uri: str | None = None, **fields: Any) -> None:
        value = uri or json.dumps({"conn_type": "kafka_connect", **fields})
        monkeypatch.setenv(f"AIRFLOW_CONN_{conn_id.upper()}", value)

    return set_connection


@pytest.fixture
def connections(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    """Airflow's default connections lead to the sandbox; they, and new connectors, have secrets that nobody needs."""
    for name, value in sandbox.to_connections().items():
        monkeypatch.setenv(name, planted_connection(value))


@pytest.fixture
def planted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Connectors that a test creates have secrets among their settings."""
    create = Connect.create

    def planting(worker: Connect, name: str, config: Mapping[str, str], **how: Any) -> None:
        create(worker, name, planted_config(config), **how)

    monkeypatch.setattr(Connect, "create", planting)


@pytest.fixture(scope="session")
def _warm_spark(spark: SparkSession) -> Iterator[Path]:
    from tests.support.programs.warm_spark import WarmSpark

    # A socket's path is limited to about 100 characters, which pytest's own folders may exceed.
    with tempfile.TemporaryDirectory(prefix="connect-offsets-") as folder, WarmSpark(spark).serve(Path(folder)) as path:
        yield path


@pytest.fixture
def spark_submit(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Jobs go to a Spark that runs already, unless the test is marked ``submits``."""
    if request.node.get_closest_marker("submits") is None:
        folder = request.getfixturevalue("_warm_spark")
        monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ.get('PATH', os.defpath)}")


@pytest.fixture
def _quick_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    """``DAG.test()`` sleeps a second after each pass without a task to run, as when tasks become upstream_failed."""
    sleep = time.sleep

    def quick(seconds: float) -> None:
        is_of_dag_test = sys._getframe(1).f_globals.get("__name__") == _MODULE_OF_DAG_TEST
        sleep(_BETWEEN_PASSES if is_of_dag_test else seconds)

    monkeypatch.setattr(time, "sleep", quick)


@contextmanager
def _logs_on_stdout() -> Iterator[None]:
    """Airflow's handler of logs keeps the stdout that it found when Airflow was imported, which capfd does not read."""
    with pytest.MonkeyPatch.context() as patch:
        for handler in logging.getLogger().handlers:
            if type(handler) is logging.StreamHandler:
                patch.setattr(handler, "stream", sys.stdout)
        yield


@pytest.fixture
def run_dag(
    _airflow_database: None,
    _quick_passes: None,
    connections: None,
    spark_submit: None,
    workspace: str,
    capfd: pytest.CaptureFixture[str],
) -> Callable[..., Ran]:
    """Run a ready DAG with Params, in this process, and wait for its end; no planted secret may be left anywhere."""
    del connections, spark_submit

    def run(dag_id: str = "connector_offsets_change", dags: Path = DAGS, **params: Any) -> Ran:
        capfd.readouterr()
        with warnings.catch_warnings():
            # What Airflow warns itself of is not ours to mend.
            warnings.simplefilter("default")
            warnings.filterwarnings("error", module="airflow_provider_connect_offsets")
            warnings.filterwarnings("ignore", "unclosed <socket", ResourceWarning)  # py4j's, as in pyproject.toml
            dag = parse_dags(dags / f"{dag_id}.py")[dag_id]
            with _logs_on_stdout():
                ended = dag.test(run_conf={"approval": False, **params})
        printed = capfd.readouterr()
        print(printed.out, printed.err)  # noqa: T201 - shown by pytest where the test fails
        stored = stored_by_airflow(dag_id, ended.run_id)
        assert not leaks(workspace=workspace, printed=printed.out + printed.err, stored=stored)
        return Ran(
            state=str(ended.state),
            run=f"{dag_id}/{ended.run_id}",
            tasks={task.task_id.removeprefix("change."): str(task.state) for task in ended.get_task_instances()},
            directory=run_directory(workspace, dag_id=dag_id, run_id=ended.run_id),
            output=printed.out + printed.err,
        )

    return run

"""DAG runs in this process on the shared sandbox."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import SparkSession

from airflow_provider_connect_offsets.workspace.layout import run_directory
from sandbox import Sandbox
from sandbox.airflow import DAGS, parse_dags
from tests.support.airflow.dag_runs import Ran
from tests.support.programs.warm_spark import WarmSpark

if TYPE_CHECKING:
    from fastapi import FastAPI
    from fastapi.testclient import TestClient


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
    """Set an Airflow connection, as JSON in its environment variable; a text is set as it is."""

    def set_connection(conn_id: str = "kafka_connect_default", uri: str | None = None, **fields: Any) -> None:
        value = uri or json.dumps({"conn_type": "kafka_connect", **fields})
        monkeypatch.setenv(f"AIRFLOW_CONN_{conn_id.upper()}", value)

    return set_connection


@pytest.fixture
def connections(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    """Airflow's default connections lead to the sandbox."""
    for name, value in sandbox.to_connections().items():
        monkeypatch.setenv(name, value)


@pytest.fixture(scope="session")
def _warm_spark(spark: SparkSession) -> Iterator[Path]:
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
def run_dag(
    _airflow_database: None, connections: None, spark_submit: None, workspace: str, capfd: pytest.CaptureFixture[str]
) -> Callable[..., Ran]:
    """Run a ready DAG with Params, in this process, and wait for its end."""
    del connections, spark_submit

    def run(dag_id: str = "connector_offsets_change", dags: Path = DAGS, **params: Any) -> Ran:
        capfd.readouterr()
        with warnings.catch_warnings():
            # What Airflow warns itself of is not ours to mend.
            warnings.simplefilter("default")
            warnings.filterwarnings("error", module="airflow_provider_connect_offsets")
            warnings.filterwarnings("ignore", "unclosed <socket", ResourceWarning)  # py4j's, as in pyproject.toml
            dag = parse_dags(dags / f"{dag_id}.py")[dag_id]
            ended = dag.test(run_conf={"approval": False, **params})
        printed = capfd.readouterr()
        print(printed.out, printed.err)  # noqa: T201 - shown by pytest where the test fails
        return Ran(
            state=str(ended.state),
            run=f"{dag_id}/{ended.run_id}",
            tasks={task.task_id.removeprefix("change."): str(task.state) for task in ended.get_task_instances()},
            directory=run_directory(workspace, dag_id=dag_id, run_id=ended.run_id),
            output=printed.out + printed.err,
        )

    return run


@pytest.fixture(scope="session")
def api_server(_airflow_database: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[FastAPI]:
    """Airflow's app, as the API server runs it, with plugins found as they are found there."""
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what Airflow warns itself of is not ours to mend
        from airflow.api_fastapi.app import create_app, purge_cached_app
        from airflow.models.dag import DagModel
        from airflow.models.dagbundle import DagBundleModel
        from airflow.utils.session import create_session

        home = tmp_path_factory.mktemp("passwords")
        patch.setenv("AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE", str(home / "passwords.json"))
        patch.setenv("AIRFLOW__CORE__AUTH_MANAGER", "tests.support.airflow.per_dag_access.PerDagAuthManager")
        purge_cached_app()
        app = create_app()
        with create_session() as session:
            session.merge(DagBundleModel(name="ready"))
            session.flush()
            for dag_id in ("reports_of_one", "reports_of_another"):
                session.merge(DagModel(dag_id=dag_id, bundle_name="ready", fileloc="a.py"))  # type: ignore[no-untyped-call]
    yield app
    purge_cached_app()


@pytest.fixture
def browser(api_server: FastAPI, workspace: str) -> Iterator[TestClient]:
    """A browser in which nobody has signed in."""
    del workspace
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from fastapi.testclient import TestClient

        yield TestClient(api_server, base_url="http://localhost", follow_redirects=False)


@pytest.fixture
def token_of(api_server: FastAPI) -> Callable[..., str]:
    """The token that Airflow gives a user when they sign in."""
    from airflow.api_fastapi.auth.managers.simple.user import SimpleAuthManagerUser

    def token(username: str = "somebody", role: str | None = "viewer") -> str:
        return str(api_server.state.auth_manager.generate_jwt(SimpleAuthManagerUser(username=username, role=role)))

    return token

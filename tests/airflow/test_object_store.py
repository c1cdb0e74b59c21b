"""Whole runs whose workspace is on an object store, planned on a Spark cluster."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from airflow_provider_connect_offsets.workspace import files
from airflow_provider_connect_offsets.workspace.paths import join
from tests.support.airflow.dag_runs import Ran
from tests.support.flows.flows import RECORDS, SinkFlow
from tests.support.programs.object_store import ObjectStore
from tests.support.programs.submitting import ON_CLUSTER

if TYPE_CHECKING:
    from fastapi.testclient import TestClient

RunDag = Callable[..., Ran]


@pytest.fixture
def workspace(store: ObjectStore, monkeypatch: pytest.MonkeyPatch) -> str:
    """On the store, in a directory that does not exist yet."""
    uri = join(store.create_bucket(), "airflow", "workspace")
    monkeypatch.setenv("AIRFLOW__CONNECT_OFFSETS__WORKSPACE", uri)
    return uri


@pytest.fixture
def _on_cluster(
    connections: None, store: ObjectStore, spark_master: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark's jobs go to a cluster, and are told how the store is reached."""
    del connections
    settings = {**ON_CLUSTER, **store.spark_settings}
    (tmp_path / "spark-defaults.conf").write_text("".join(f"{name} {value}\n" for name, value in settings.items()))
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", json.dumps({"conn_type": "spark", "host": spark_master}))


@pytest.mark.cluster
@pytest.mark.submits
@pytest.mark.usefixtures("_on_cluster")
def test_a_change_and_its_undo(
    sink: SinkFlow, run_dag: RunDag, workspace: str, browser: TestClient, token_of: Callable[..., str]
) -> None:
    """Snapshot, plan, journal and report are on the store; another run restores from there what it found."""
    sink.sandbox.connect.stop(sink.name)

    ran = run_dag(connector=sink.name, to="shift", value="-5")

    assert (ran.state, set(ran.tasks.values())) == ("success", {"success"})
    assert sink.position() == RECORDS - 5
    assert ran.directory.uri.startswith(f"{workspace}/")
    assert "_journal" in files.list_names(workspace)
    run = ran.directory.uri.removeprefix(f"{workspace}/")
    report = browser.get(
        f"/connect-offsets/report/{run}/report.html", headers={"Authorization": f"Bearer {token_of()}"}
    )
    assert report.status_code == 200
    assert sink.name in report.text

    undone = run_dag("connector_offsets_restore", snapshot_uri=ran.directory.uri, connectors=sink.name)

    assert undone.state == "success"
    assert sink.position() == RECORDS

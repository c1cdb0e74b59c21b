"""The files of a run that a browser may get."""

from __future__ import annotations

from urllib.parse import unquote

import pytest

from airflow_provider_connect_offsets.workspace.layout import run_directory
from airflow_provider_connect_offsets.workspace.paths import served_path, served_uri

WORKSPACE = "s3://bucket/workspace/"
RUN_IDS = ["manual__2026-01-31T12:00:00+00:00", "x" * 250, "mañana", "a b/c"]


@pytest.mark.parametrize("run_id", RUN_IDS)
@pytest.mark.parametrize("dag_id", ["changes", "changes.eu-central", "umsätze"])
def test_a_path_leads_back_to_the_file_it_was_made_of(dag_id: str, run_id: str) -> None:
    """With any DAG and run, whichever rule named their directories."""
    uri = run_directory(WORKSPACE, dag_id=dag_id, run_id=run_id, part="final").report

    path = served_path(uri, workspace=WORKSPACE, dag_id=dag_id)

    assert path is not None
    owner, run, *rest = unquote(path).split("/")
    assert owner == dag_id
    assert served_uri("/".join(rest), workspace=WORKSPACE, dag_id=owner, run_id=run) == uri


@pytest.mark.parametrize("run_id", ["", ".", ".."])
def test_a_run_is_a_directory_of_its_own(run_id: str) -> None:
    """No run id leads to the directory of all runs, or of all DAGs."""
    assert served_uri("report.html", workspace=WORKSPACE, dag_id="changes", run_id=run_id) is None


@pytest.mark.parametrize(
    "path",
    [
        "",
        "/",
        "../report.html",
        "a/../report.html",
        "./report.html",
        "//report.html",
        "a\\b/report.html",
        "a:b/report.html",
        "summary.json",
        "offset_plan/part-0.parquet",
        "report.html/",
    ],
)
def test_what_is_not_served(path: str) -> None:
    """Files outside of the run, and files for programs, are not served."""
    assert served_uri(path, workspace=WORKSPACE, dag_id="changes", run_id="run") is None


def test_another_workspace_is_not_served() -> None:
    """Also not one whose name has the same start."""
    assert served_path("s3://bucket/workspace-2/a/b/report.html", workspace=WORKSPACE, dag_id="a") is None

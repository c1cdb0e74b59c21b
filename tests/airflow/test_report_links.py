"""Links to reports in Airflow's UI: in the approval's text, and the button of each task that has one."""

from __future__ import annotations

import importlib
import inspect
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin

import pytest
from airflow.sdk import DAG, BaseOperator

from airflow_provider_connect_offsets.get_provider_info import get_provider_info
from airflow_provider_connect_offsets.operators.apply import ApplyOffsetPlanOperator, ApproveOffsetPlanOperator
from airflow_provider_connect_offsets.operators.existence import ApproveCopyOperator
from airflow_provider_connect_offsets.operators.failover import ApproveFailoverOperator, TranslateGroupOffsetsOperator
from airflow_provider_connect_offsets.operators.fleet import ApproveFleetOperator, PlanFleetOperator
from airflow_provider_connect_offsets.operators.mirror_reset import ApproveMirrorResetOperator
from airflow_provider_connect_offsets.operators.orphans import ApproveRemovalOperator
from airflow_provider_connect_offsets.operators.shared.links import ReportLink
from airflow_provider_connect_offsets.operators.snapshot import SnapshotConnectorOffsetsOperator
from airflow_provider_connect_offsets.workspace.layout import FailoverDirectory, run_directory
from airflow_provider_connect_offsets.workspace.paths import unique_segment
from tests.support.rows.written import orphaned, rewound, rewound_fleet
from tests.support.rows.written_reports import failover_row, planned_reset, write_failover

if TYPE_CHECKING:
    from fastapi.testclient import TestClient

DAGS = Path(__file__).with_name("dags")
DAG_ID, RUN_ID = "some_dag", "manual__2026-01-31T12:00:00+00:00"
URL = f"/connect-offsets/report/{DAG_ID}/{unique_segment(RUN_ID)}/report.html"
OPERATORS = sorted(
    {
        one
        for item in get_provider_info()["operators"]
        for module in item["python-modules"]
        for _, one in inspect.getmembers(importlib.import_module(module), inspect.isclass)
        if issubclass(one, BaseOperator) and one.__module__ == module and not one.__name__.startswith("_")
    },
    key=lambda one: one.__name__,
)


@pytest.fixture
def directory(workspace: str) -> Path:
    """The directory of a run."""
    return Path(run_directory(workspace, dag_id=DAG_ID, run_id=RUN_ID).uri.removeprefix("file://"))


def fleet_of_one(path: Path) -> None:
    rewound_fleet(path, ["flow"])


def failover_of_one(path: Path) -> None:
    write_failover(FailoverDirectory(path.as_uri()), [failover_row("orders-1")])


@pytest.mark.parametrize(
    ("operator", "write"),
    [
        (ApproveOffsetPlanOperator, rewound),
        (ApproveFleetOperator, fleet_of_one),
        (ApproveRemovalOperator, orphaned),
        (ApproveFailoverOperator, failover_of_one),
        (ApproveMirrorResetOperator, planned_reset),
    ],
)
def test_every_question_links_to_its_report(
    operator: type[Any], write: Callable[[Path], Any], directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The link is a path or a URL that browsers can follow; where reports aren't served, it is the URI."""
    write(directory)
    summary = {"run_uri": directory.as_uri(), "report": f"{directory.as_uri()}/report.html", "connector": "flow"}
    with DAG(DAG_ID, schedule=None):
        task = operator(task_id="approve", summary=summary)

    assert f"[The full report](<{URL}>)" in task.question()[1]

    monkeypatch.setenv("AIRFLOW__API__BASE_URL", "https://airflow.example.com/team")
    assert f"[The full report](<https://airflow.example.com/team{URL}>)" in task.question()[1]

    monkeypatch.setenv("AIRFLOW__CONNECT_OFFSETS__SERVE_REPORTS", "False")
    assert f"The full report: `{summary['report']}`" in task.question()[1]


@pytest.mark.parametrize("operator", OPERATORS, ids=lambda one: one.__name__)
def test_every_task_with_a_report_has_the_button(operator: type[BaseOperator]) -> None:
    """All that work on a run's directory; not the single steps on a connector, which have none."""
    initialisers = [vars(one)["__init__"] for one in operator.__mro__ if "__init__" in vars(one)]
    arguments = {
        name for one in initialisers if one is not object.__init__ for name in inspect.signature(one).parameters
    }
    # The question about a copy is a sentence: a copy has no report.
    has_directory = bool(arguments & {"run_uri", "summary", "part"}) and operator is not ApproveCopyOperator

    assert any(isinstance(link, ReportLink) for link in operator.operator_extra_links) is has_directory


def test_the_button_opens_the_report_of_the_task(
    browser: TestClient, token_of: Callable[..., str], workspace: str
) -> None:
    """Airflow's API gives the address for a task whose class it doesn't load, and none where there is no report."""
    from airflow.dag_processing.dagbag import DagBag

    run = f"{workspace}/report_links/some_run"
    report = Path(run.removeprefix("file://"), "reported", "report.html")
    report.parent.mkdir(parents=True)
    report.write_text("the report")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what Airflow warns itself of is not ours to mend
        dag = DagBag(str(DAGS / "report_links.py")).dags["report_links"]
        ended = dag.test(run_conf={"run_uri": run})
    assert ended.state == "success"
    browser.cookies.set("_token", token_of(role="admin"))

    def links(task: str) -> Any:
        url = f"/api/v2/dags/report_links/dagRuns/{ended.run_id}/taskInstances/{task}/links"
        return browser.get(url).json()["extra_links"]

    assert links("unreported") == {"Report": None}
    assert links("reported") == {"Report": "/connect-offsets/report/report_links/some_run/reported/report.html"}
    assert browser.get(links("reported")["Report"]).text == "the report"


def test_what_a_report_links_to_is_there(browser: TestClient, token_of: Callable[..., str], workspace: str) -> None:
    """Before anyone approves: the reports of a fleet's connectors, and the CSV of a failover."""
    browser.cookies.set("_token", token_of())
    found = []
    for name, write in (("fleet", fleet_of_one), ("failover", failover_of_one)):
        directory = Path(run_directory(workspace, dag_id="reports_of_one", run_id=name).uri.removeprefix("file://"))
        write(directory)
        with DAG("reports_of_one", schedule=None):
            operator = PlanFleetOperator if name == "fleet" else TranslateGroupOffsetsOperator
            url = operator(task_id=name, run_uri=directory.as_uri()).judge()["report_url"]

        links = re.findall('<a href="([^"]+)"', browser.get(url).text)

        assert all(browser.get(urljoin(url, link)).status_code == 200 for link in links)
        found += links
    assert found == ["by_connector/flow/report.html", "translation.csv"]


def test_a_snapshot_has_the_button_once_there_is_a_report(directory: Path) -> None:
    """A task that makes its directory itself finds it again by DAG, run, part and map index."""
    task = SnapshotConnectorOffsetsOperator(task_id="snapshot", connector="flow", part="first")
    instance: Any = SimpleNamespace(dag_id=DAG_ID, run_id=RUN_ID, map_index=2)
    assert ReportLink().get_link(task, ti_key=instance) == ""

    (directory / "first-2").mkdir(parents=True)
    (directory / "first-2" / "report.html").write_text("the report")

    assert ReportLink().get_link(task, ti_key=instance) == URL.replace("report.html", "first-2/report.html")


def test_a_button_fails_no_task(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """Airflow requests the address after the task has done its work; a workspace that is away must not undo that."""
    monkeypatch.setenv("AIRFLOW__CONNECT_OFFSETS__WORKSPACE", "nothing-like-this://host")
    task = ApplyOffsetPlanOperator(task_id="apply", run_uri=f"nothing-like-this://host/{DAG_ID}/run", digest="d")
    instance: Any = SimpleNamespace(dag_id=DAG_ID, run_id=RUN_ID, map_index=-1)

    assert ReportLink().get_link(task, ti_key=instance) == ""
    assert "No link to a report" in caplog.text

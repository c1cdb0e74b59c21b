"""The page of the workspace, served by Airflow's own API server to users with different rights."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest
from sqlalchemy import delete

from airflow_provider_connect_offsets.hooks.reports import page_url
from airflow_provider_connect_offsets.plugins.reports import ReportsPlugin
from airflow_provider_connect_offsets.saga import Journal, Owner
from airflow_provider_connect_offsets.workspace.layout import journal_root, run_directory
from tests.support.faults.dead_holders import ELSEWHERE, leave
from tests.support.rows.snapshots import At, Taken, keep_snapshot

if TYPE_CHECKING:
    from fastapi.testclient import TestClient

MINE, OTHER = "reports_of_one", "reports_of_another"  # Airflow knows both
PAGE = "/connect-offsets/"


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


@pytest.fixture
def page(browser: TestClient, token_of: Callable[..., str]) -> Callable[..., str]:
    """The page, as a user sees it."""

    def seen(username: str = "somebody") -> str:
        answer = browser.get(PAGE, headers=bearer(token_of(username)))
        assert answer.status_code == 200, answer.text
        return str(answer.text)

    return seen


def test_an_empty_workspace_says_what_fills_it(page: Callable[..., str]) -> None:
    """Nothing is there yet, not even the workspace's directory."""
    text = page()

    assert "No run waits." in text
    assert "Nothing is unfinished." in text
    assert "The DAG connector_offsets_snapshot keeps one each time it runs." in text


def test_it_shows_the_newest_snapshot_worst_first(page: Callable[..., str], workspace: str) -> None:
    """The failed connector is first, then the one that lags most; what was not observed is unknown."""
    states = {"calm": "RUNNING", "late": "RUNNING", "broken": "FAILED", "files": "RUNNING"}
    offsets = [At(0, 90, "calm"), At(0, 10, "late"), At(1, 150, "late"), At(0, None, "broken")]
    keep_snapshot(
        workspace, MINE, Taken(offsets, ends=(100, 200), states=states, files={"files": 7}, unread={"gone": "404"})
    )
    keep_snapshot(workspace, MINE, Taken([], states={"long ago": "RUNNING"}), at="2026-01-30T120000.000000Z")

    text = page()

    names = ["broken", "late", "calm", "files"]
    assert sorted(names, key=lambda name: text.index(f">{name}</a><small>")) == names
    assert "<h3>Connectors of kafka_connect_default</h3>" in text
    assert "4 connectors with 5 offsets; 1 failed." in text
    rows = {name: text.split(f">{name}</a><small>")[1].split("</tr>")[0] for name in names}
    assert '<td class="n">140</td>' in rows["late"]
    assert '<td class="n">10</td>' in rows["calm"]
    assert '<td class="n">unknown</td>' in rows["files"]
    assert "The offsets of gone are not in it: 404" in text
    assert "long ago" not in text


def test_it_names_what_was_left_unfinished(page: Callable[..., str], workspace: str) -> None:
    """With the run that has begun it, and when that was last heard from."""
    Path(workspace.removeprefix("file://"), MINE).mkdir(parents=True)
    journal = Journal(journal_root(workspace), cluster="c", resource="orders")
    leave(journal, Owner(f"{MINE}/run-1", "apply", ELSEWHERE, 1))

    text = page()

    assert '<th scope="row">orders</th>' in text
    assert f"<td>{MINE}/run-1</td>" in text
    assert "Nothing is unfinished." not in text


def test_each_user_sees_what_they_may_read(page: Callable[..., str], workspace: str) -> None:
    """Snapshots and unfinished operations of other DAGs are not shown, nor what belongs to no DAG."""
    for dag_id in (MINE, OTHER):
        keep_snapshot(workspace, dag_id, Taken([], states={f"sink-of-{dag_id}": "RUNNING"}))
        journal = Journal(journal_root(workspace), cluster="c", resource=f"left-by-{dag_id}")
        leave(journal, Owner(f"{dag_id}/run", "apply", ELSEWHERE, 1))
    leave(
        Journal(journal_root(workspace), cluster="c", resource="left-by-a-shell"),
        Owner("connect-offsets import, process 7", "import", ELSEWHERE, 1),
    )
    names = [f"sink-of-{MINE}", f"left-by-{MINE}", f"sink-of-{OTHER}", f"left-by-{OTHER}", "left-by-a-shell"]

    assert [name for name in names if name in page()] == names
    assert [name for name in names if name in page(f"reader-of-{MINE}")] == names[:2]
    assert [name for name in names if name in page(f"reader-of-{OTHER}")] == names[2:4]
    assert [name for name in names if name in page("reader-of-nothing")] == []


def test_who_is_not_signed_in_gets_a_link_to_do_so(browser: TestClient) -> None:
    """It leads back to the page."""
    answer = browser.get(PAGE)

    assert answer.status_code == 401
    assert "/auth/login?next=%2Fconnect-offsets%2F" in answer.text


@pytest.fixture
def asked(browser: TestClient) -> Iterator[None]:
    """A run with a question that nobody has answered, and one whose question was answered."""
    del browser  # knows the DAGs
    from airflow.models.dagrun import DagRun
    from airflow.models.hitl import HITLDetail
    from airflow.models.taskinstance import TaskInstance
    from airflow.providers.standard.operators.empty import EmptyOperator
    from airflow.sdk import DAG
    from airflow.utils.session import create_session
    from airflow.utils.state import DagRunState

    now = datetime.now(tz=UTC)
    with DAG(MINE, schedule=None):
        approve = EmptyOperator(task_id="approve")
    ada = {"id": "1", "name": "ada"}
    with create_session() as session:
        for run_id in ("waiting", "answered"):
            session.add(DagRun(dag_id=MINE, run_id=run_id, run_type="manual", run_after=now, state=DagRunState.RUNNING))
            session.flush()
            instance = TaskInstance(cast("Any", approve), dag_version_id=None, run_id=run_id, state="deferred")
            session.add(instance)
            session.flush()
            detail = HITLDetail(
                ti_id=instance.id,
                options=["Approve", "Reject"],
                subject=f"Move &lt;{run_id}&gt; back?",
                assignees=[ada],
            )
            if run_id == "answered":
                detail.responded_at, detail.responded_by = now, ada
            session.add(detail)
    yield
    with create_session() as session:
        session.execute(delete(DagRun).where(DagRun.dag_id == MINE))


@pytest.mark.usefixtures("asked")
def test_it_lists_open_questions_and_the_newest_runs(page: Callable[..., str], workspace: str) -> None:
    """Each leads to where it is answered, and a run to its report if it has one."""
    for run_id in ("waiting", "answered"):
        directory = Path(run_directory(workspace, dag_id=MINE, run_id=run_id).uri.removeprefix("file://"))
        directory.mkdir(parents=True)
        if run_id == "answered":
            (directory / "report.html").write_text("<p>the report</p>")
    text = page()

    waits, _, rest = text.partition("<h3>Unfinished</h3>")
    assert "Move &amp;lt;waiting&amp;gt; back?" in waits, "a question is text, not HTML"
    assert f"/dags/{MINE}/runs/waiting/tasks/approve/required_actions" in waits
    assert "<td>ada</td>" in waits
    assert "answered" not in waits
    assert f'href="/connect-offsets/report/{MINE}/answered"' in rest
    assert f'href="/connect-offsets/report/{MINE}/waiting"' not in rest
    assert f'href="/dags/{MINE}/runs/waiting"' in rest
    assert "Move" not in page(f"reader-of-{OTHER}")


def test_airflows_navigation_leads_to_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Under Airflow's own address; not if reports are not served."""
    monkeypatch.setenv("AIRFLOW__API__BASE_URL", "https://airflow.example/prefix/")
    assert page_url() == "https://airflow.example/prefix/connect-offsets/"
    assert [view["href"] for view in ReportsPlugin().external_views] == [page_url()]

    monkeypatch.setenv("AIRFLOW__CONNECT_OFFSETS__SERVE_REPORTS", "false")
    assert ReportsPlugin().external_views == []

"""Reports served by Airflow's own API server with the plugin, to users with different rights."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest

from airflow_provider_connect_offsets.hooks.reports import report_url
from airflow_provider_connect_offsets.workspace.layout import run_directory
from airflow_provider_connect_offsets.workspace.paths import unique_segment

if TYPE_CHECKING:
    from fastapi.testclient import TestClient

DAG_ID = "reports_of_one"  # Airflow knows both
OTHER_DAG = "reports_of_another"
RUN_ID = "manual__2026-01-31T12:00:00+00:00"
PAGE = "<!doctype html><p>the report</p>"
URL = f"/connect-offsets/report/{DAG_ID}/{quote(RUN_ID)}/report.html"


@pytest.fixture
def run(workspace: str) -> Path:
    """The directory of a run that has a report."""
    directory = Path(run_directory(workspace, dag_id=DAG_ID, run_id=RUN_ID).uri.removeprefix("file://"))
    directory.mkdir(parents=True)
    (directory / "report.html").write_text(PAGE)
    return directory


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def test_the_link_opens_for_who_is_signed_in(browser: TestClient, token_of: Callable[..., str], run: Path) -> None:
    """The UI's cookie is enough, and so is a token in the header; each role that reads DAGs reads reports."""
    url = report_url((run / "report.html").as_uri(), dag_id=DAG_ID)
    assert url == f"/connect-offsets/report/{DAG_ID}/{unique_segment(RUN_ID)}/report.html"

    for role in ("viewer", "user", "op", "admin"):
        by_header = browser.get(url, headers=bearer(token_of(role=role)))
        assert (by_header.status_code, by_header.text) == (200, PAGE)
    browser.cookies.set("_token", token_of())
    assert browser.get(url).text == PAGE
    assert browser.get(URL).text == PAGE, "a run's id serves as well as its directory's name"
    assert browser.get(URL).headers["content-type"] == "text/html; charset=utf-8"


@pytest.mark.usefixtures("run")
def test_nobody_else_reads_it(browser: TestClient, token_of: Callable[..., str]) -> None:
    """Nobody signed in: 401. A user without access to the DAG: 403, whether or not the file is there."""
    missing = URL.replace("report.html", "nothing/report.html")
    for url in (URL, missing, URL.removesuffix("/report.html")):
        anonymous = browser.get(url)
        assert anonymous.status_code == 401
        assert "/auth/login?next=%2Fconnect-offsets%2Freport%2F" in anonymous.text

        for token in (token_of(role=None), token_of(f"reader-of-{OTHER_DAG}")):
            assert browser.get(url, headers=bearer(token)).status_code == 403
    assert browser.get(URL, headers=bearer("no token")).status_code in {401, 403}
    assert browser.get(URL, headers=bearer(token_of(f"reader-of-{DAG_ID}"))).status_code == 200


@pytest.mark.parametrize(
    "path",
    [
        f"{DAG_ID}/{quote(RUN_ID)}/..%2F..%2Fsecret%2Freport.html",
        f"{DAG_ID}/{quote(RUN_ID)}/%2e%2e/%2e%2e/secret/report.html",
        f"{DAG_ID}/{quote(RUN_ID)}/..%5C..%5Csecret/report.html",
        f"{DAG_ID}/{quote(RUN_ID)}/%2Fetc%2Freport.html",
        f"{DAG_ID}/%2e%2e/secret/report.html",
        f"{DAG_ID}/%2e%2e/report.html",
        f"{DAG_ID}/%2e/{unique_segment(RUN_ID)}/report.html",
        f"{DAG_ID}/another/report.html",
        f"{DAG_ID}/{quote(RUN_ID)}/final/report.html",
        f"{DAG_ID}/{quote(RUN_ID)}/request.json",
        f"{DAG_ID}/{quote(RUN_ID)}/report.html/report.html",
        f"{DAG_ID}/another",
        f"{DAG_ID}/{quote(RUN_ID)}/request.json/",
        f"reports_of%3Aone/{quote(RUN_ID)}/report.html",
        f"~/{quote(RUN_ID)}/report.html",
    ],
)
def test_nothing_outside_of_the_run_is_served(
    path: str, browser: TestClient, token_of: Callable[..., str], run: Path
) -> None:
    """Other runs, other folders, files for programs, DAGs that only look like one: 404."""
    for secret in (run.parents[1] / "secret", run.parents[0] / "secret"):
        secret.mkdir()
        (secret / "report.html").write_text("secret")
    (run.parents[1] / "report.html").write_text("secret")
    (run / "request.json").write_text("{}")

    answer = browser.get(f"/connect-offsets/report/{path}", headers=bearer(token_of(role="admin")))

    assert (answer.status_code, "secret" in answer.text) == (404, False)


@pytest.mark.parametrize("linked", ["report.html", "by_connector/sink/report.html", "by_connector"])
def test_no_link_is_followed(
    linked: str, browser: TestClient, token_of: Callable[..., str], run: Path, tmp_path: Path
) -> None:
    """Whoever can write into the workspace could have the API server read any of its files."""
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / "sink").mkdir(parents=True)
    for secret in (elsewhere / "report.html", elsewhere / "sink" / "report.html"):
        secret.write_text("secret")
    link = run / linked
    link.parent.mkdir(parents=True, exist_ok=True)
    link.unlink(missing_ok=True)
    link.symlink_to(elsewhere if linked == "by_connector" else elsewhere / "report.html")
    path = "report.html" if linked == "report.html" else "by_connector/sink/report.html"

    for below in (path, path.removesuffix("/report.html")):
        answer = browser.get(URL.replace("report.html", below), headers=bearer(token_of()))
        assert (answer.status_code, "secret" in answer.text) == (404, False)


def test_what_reports_link_to_is_served(browser: TestClient, token_of: Callable[..., str], run: Path) -> None:
    """Reports of single connectors, the final report of a failover, and the files for people's own tools."""
    browser.cookies.set("_token", token_of())
    files = {
        "by_connector/sink-1a2b/report.html": "text/html; charset=utf-8",
        "final/translation.csv": "text/csv; charset=utf-8",
        "removed.json": "application/json",
    }
    for name, media_type in files.items():
        (run / name).parent.mkdir(parents=True, exist_ok=True)
        (run / name).write_text(name)

        answer = browser.get(URL.replace("report.html", name))

        assert (answer.text, answer.headers["content-type"]) == (name, media_type)
    for directory, text in (("", PAGE), ("/", PAGE), ("/by_connector/sink-1a2b", "by_connector/sink-1a2b/report.html")):
        assert browser.get(URL.replace("/report.html", directory), follow_redirects=True).text == text


def test_no_script_runs_and_nothing_is_kept(browser: TestClient, token_of: Callable[..., str], run: Path) -> None:
    """A report shows names from outside, and may be about anything: no script, no sniffing, no copy in a cache."""
    del run
    for answer in (browser.get(URL), browser.get(URL, headers=bearer(token_of()))):
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "script-src" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cache-control"] == "no-store"


def test_any_file_system_will_do(
    browser: TestClient, token_of: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What fsspec reaches is served; what the API server can't reach is said to be so."""
    from airflow_provider_connect_offsets.workspace.files import write_bytes

    monkeypatch.setenv("AIRFLOW__CONNECT_OFFSETS__WORKSPACE", "memory://reports")
    write_bytes(run_directory("memory://reports", dag_id=DAG_ID, run_id=RUN_ID).report, PAGE.encode())
    assert browser.get(URL, headers=bearer(token_of())).text == PAGE

    monkeypatch.setenv("AIRFLOW__CONNECT_OFFSETS__WORKSPACE", "nothing-like-this://user:hunter2@host")
    answer = browser.get(URL, headers=bearer(token_of()))
    assert answer.status_code == 503
    assert "hunter2" not in answer.text


def test_a_prefix_and_a_host_of_airflow_are_in_the_link(workspace: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """``[api] base_url`` says under which address browsers reach Airflow."""
    uri = f"{workspace}/{DAG_ID}/run/final/report.html"
    monkeypatch.setenv("AIRFLOW__API__BASE_URL", "https://airflow.example.com/team/")

    expected = f"https://airflow.example.com/team/connect-offsets/report/{DAG_ID}/run/final/report.html"
    assert report_url(uri, dag_id=DAG_ID) == expected
    assert report_url("file:///elsewhere/report.html", dag_id=DAG_ID) is None


def test_access_to_a_dag_is_checked_by_its_name_not_its_directory(workspace: str) -> None:
    """Access is checked for the DAG's own id, of which a directory's name may be a part only."""
    uri = run_directory(workspace, dag_id="umsätze", run_id=RUN_ID).report

    assert report_url(uri, dag_id="umsätze") == (
        f"/connect-offsets/report/ums%C3%A4tze/{unique_segment(RUN_ID)}/report.html"
    )


def test_it_can_be_turned_off(monkeypatch: pytest.MonkeyPatch, workspace: str) -> None:
    """Then Airflow gets no app, and no link leads to one."""
    from airflow_provider_connect_offsets.plugins.reports import ReportsPlugin

    monkeypatch.setenv("AIRFLOW__CONNECT_OFFSETS__SERVE_REPORTS", "False")

    assert ReportsPlugin().fastapi_apps == []
    assert report_url(f"{workspace}/{DAG_ID}/run/report.html", dag_id=DAG_ID) is None

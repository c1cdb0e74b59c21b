"""A change that only one named person may approve, from the question to its undo."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from sandbox import Sandbox
from sandbox.airflow import AirflowAt, AirflowStandalone, Login
from tests.support.airflow.airflow_ui import AirflowUi, DagRunUi, chromium_page
from tests.support.flows.flows import RECORDS, SinkFlow

pytestmark = pytest.mark.browser
DAG_ID, POSITION = "connector_offsets_change", 5
PICTURES = Path("build/browser").absolute()
ADA, BOB = Login("ada", "a-password-of-hers"), Login("bob", "a-password-of-his")
FILE = f"""
from airflow_provider_connect_offsets.dags import connector_offsets_change

connector_offsets_change(pinned={{"approval": True}}, approvers=["{ADA.username}"])
"""


@pytest.fixture
def ui(sandbox: Sandbox, tmp_path: Path) -> Iterator[AirflowUi]:
    """An Airflow with two users, who sign in with passwords."""
    folder, passwords = tmp_path / "dags", tmp_path / "passwords.json"
    folder.mkdir()
    (folder / "asking.py").write_text(FILE)
    passwords.write_text(json.dumps({one.username: one.password for one in (ADA, BOB)}))
    settings = {
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_ALL_ADMINS": "False",
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_USERS": f"{ADA.username}:op,{BOB.username}:op",
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE": str(passwords),
    }
    airflow = AirflowStandalone(sandbox, workspace=tmp_path / "workspace", dags=folder, settings=settings)
    airflow.start()
    try:
        AirflowAt(airflow.url, BOB).wait_for_dag(DAG_ID)
        with chromium_page() as page:
            opened = AirflowUi(page, airflow.url, PICTURES, BOB)
            yield opened
            opened.picture("last-named-approver")
    finally:
        airflow.close()


def test_only_ada_may_answer_and_the_change_can_be_undone(sandbox: Sandbox, ui: AirflowUi) -> None:
    """Bob asks, and can't approve; Ada does, from the page of the workspace; the report names her and has an undo."""
    flow = SinkFlow.start(sandbox)
    sandbox.connect.pause(flow.name)  # so that it stays where the change leaves it
    sandbox.connect.wait_state(flow.name, "PAUSED")
    ui.sign_in(BOB)
    where = {"connector": flow.name, "kafka_conn_id": "kafka_target"}
    run = ui.trigger(DAG_ID, {**where, "to": "offset", "value": str(POSITION)})
    run.open_question()
    with ui.page.expect_response(lambda answer: answer.request.method == "PATCH") as answered:
        ui.page.get_by_role("button", name="Approve").click()
    assert answered.value.status == 403
    ui.picture("named-approver-refused")
    assert flow.position() == RECORDS

    report = _approved_by_ada(ui, run, flow)
    assert flow.position() == POSITION

    undo = report.locator("dd", has_text="airflow dags trigger").inner_text()
    params = json.loads(shlex.split(undo)[-1])
    assert (params["connector"], params["to"]) == (flow.name, "file")
    ui.sign_in(BOB)
    undoing = ui.trigger(DAG_ID, {**where, "to": "file", "value": params["value"]})
    undone = _approved_by_ada(ui, undoing, flow)
    expect(undone.get_by_text(flow.name).first).to_be_visible()
    assert flow.position() == RECORDS


def _approved_by_ada(ui: AirflowUi, run: DagRunUi, flow: SinkFlow) -> Page:
    """Answer as Ada, with keys, from the page of the workspace; return the report of the applied change."""
    run.open_question()
    ui.sign_in(ADA)
    overview = ui.open_overview()
    overview.get_by_role("link", name=f"Change the offsets of {flow.name}?").press("Enter")
    expect(overview.get_by_text("Nothing has been stopped yet")).to_be_visible()
    run.await_heartbeats()
    overview.get_by_role("button", name="Approve").press("Enter")
    assert run.end() == "success"
    overview.close()
    report = run.open_report("change.apply")
    expect(report.get_by_text("Approved by ada")).to_be_visible()
    expect(report.get_by_text("Applied").first).to_be_visible()
    return report

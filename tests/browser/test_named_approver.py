"""A change that one named person may approve, from the connector's page to its undo, with a mouse and with keys."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Page, expect

from sandbox import Sandbox, wait_until
from sandbox.airflow import AirflowAt, AirflowStandalone, Login
from tests.support.airflow.airflow_ui import AirflowUi, DagRunUi, answer_with, chromium_page
from tests.support.airflow.dag_runs import params_of
from tests.support.airflow.hands import Hand, Keys, Mouse
from tests.support.flows.flows import RECORDS, SinkFlow

pytestmark = pytest.mark.browser
DAG_ID, POSITION = "connector_offsets_change", 5
PICTURES = Path("build/browser").absolute()
ADA, BOB = Login("ada", "a-password-of-hers"), Login("bob", "a-password-of-his")
FILE = f"""
from airflow_provider_connect_offsets.dags import connector_offsets_change, connector_offsets_snapshot

connector_offsets_change(pinned={{"approval": True}}, approvers=["{ADA.username}"])
connector_offsets_snapshot()
"""


@dataclass(frozen=True)
class Way:
    """How, and on which screen, all of it is done."""

    hand: Hand
    width: int
    scheme: Literal["light", "dark"]


WAYS = {"keys": Way(Keys(), 1280, "light"), "phone": Way(Mouse(), 390, "dark")}


@pytest.fixture(params=WAYS)
def ui(sandbox: Sandbox, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[AirflowUi]:
    """An Airflow with two users, who sign in with passwords."""
    way = WAYS[request.param]
    folder, passwords = tmp_path / "dags", tmp_path / "passwords.json"
    folder.mkdir()
    (folder / "asking.py").write_text(FILE)
    passwords.write_text(json.dumps({one.username: one.password for one in (ADA, BOB)}))
    settings = {
        "AIRFLOW__CONNECT_OFFSETS__SUGGEST_CONNECTORS": "True",
        "AIRFLOW__DAG_PROCESSOR__MIN_FILE_PROCESS_INTERVAL": "10",  # a form proposes what was known to the last parsing
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_ALL_ADMINS": "False",
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_USERS": f"{ADA.username}:op,{BOB.username}:op",
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE": str(passwords),
    }
    airflow = AirflowStandalone(sandbox, workspace=tmp_path / "workspace", dags=folder, settings=settings)
    airflow.start()
    try:
        AirflowAt(airflow.url, BOB).wait_for_dag(DAG_ID)
        with chromium_page(width=way.width) as page:
            page.emulate_media(color_scheme=way.scheme)
            opened = AirflowUi(page, airflow.url, PICTURES / "named-approver" / request.param, BOB, way.hand)
            yield opened
            opened.picture("last")
    finally:
        airflow.close()


def test_only_ada_may_answer_and_the_change_can_be_undone(sandbox: Sandbox, ui: AirflowUi) -> None:
    """Bob asks from the connector's page, and can't approve; Ada does; the report names her, and has an undo."""
    flow = SinkFlow.start(sandbox)
    sandbox.connect.pause(flow.name)  # so that it stays where the change leaves it
    sandbox.connect.wait_state(flow.name, "PAUSED")
    ui.sign_in(BOB)
    assert ui.trigger("connector_offsets_snapshot", {"kafka_conn_id": "kafka_target"}).end() == "success"
    _open_dag_from_page(ui, flow)
    wait_until(lambda: _proposes(ui, flow), 180, "the form does not propose the connector", interval=5)
    where = {"connector": flow.name, "kafka_conn_id": "kafka_target"}
    run = ui.trigger(DAG_ID, {**where, "to": "offset", "value": str(POSITION)})
    run.open_question_in_drawer()
    assert answer_with(ui.page.get_by_role("button", name="Approve"), ui.hand).status == 403
    ui.picture("refused")
    assert flow.position() == RECORDS

    report = _approved_by_ada(ui, run, flow)
    assert flow.position() == POSITION

    undo = report.locator("dd", has_text="airflow dags trigger").inner_text()
    params = params_of(undo, DAG_ID)
    assert (params["connector"], params["to"]) == (flow.name, "file")
    ui.sign_in(BOB)
    undoing = ui.trigger(DAG_ID, {**where, "to": "file", "value": params["value"]})
    undone = _approved_by_ada(ui, undoing, flow)
    expect(undone.get_by_text(flow.name).first).to_be_visible()
    assert flow.position() == RECORDS


def _open_dag_from_page(ui: AirflowUi, flow: SinkFlow) -> None:
    """From Airflow's navigation by the connector's page to the DAG that moves it."""
    overview = ui.open_overview()
    ui.hand.press(overview.get_by_role("link", name=flow.name, exact=True))
    overview.get_by_role("heading", name="What you can do").wait_for()
    overview.screenshot(path=ui.pictures / "connector.png")
    ui.hand.press(overview.get_by_role("link", name=f"Open {DAG_ID}").first)
    overview.get_by_role("button", name="Trigger").first.wait_for()
    overview.close()


def _proposes(ui: AirflowUi, flow: SinkFlow) -> bool:
    """Whether the form proposes the connector, once the DAG has been parsed after the snapshot."""
    form = ui.open_form(DAG_ID)
    form.button.wait_for()
    return form.dialog.locator(f"datalist option[value='{flow.name}']").count() > 0


def _approved_by_ada(ui: AirflowUi, run: DagRunUi, flow: SinkFlow) -> Page:
    """Answer as Ada, from the page of the workspace; return the report of the applied change."""
    run.open_question_in_drawer()
    ui.sign_in(ADA)
    overview = ui.open_overview()
    overview.screenshot(path=ui.pictures / "overview.png")
    ui.hand.press(overview.get_by_role("link", name=f"Change the offsets of {flow.name}?"))
    expect(overview.get_by_text("Nothing has been stopped yet")).to_be_visible()
    run.await_heartbeats()
    overview.screenshot(path=ui.pictures / "question.png")
    assert answer_with(overview.get_by_role("button", name="Approve"), ui.hand).ok
    overview.close()
    assert run.end() == "success"
    report = run.open_report("change.apply")
    expect(report.get_by_text("Approved by ada")).to_be_visible()
    expect(report.get_by_text("Applied").first).to_be_visible()
    report.screenshot(path=ui.pictures / "report.png", full_page=True)
    return report

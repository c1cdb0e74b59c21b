"""README and browser suffice to apply a first change after ``make up`` and to open its report."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import ViewportSize, expect

from sandbox import wait_for
from sandbox.scene import MIRROR, SINK
from tests.support.airflow.airflow_ui import AirflowUi, follow
from tests.support.airflow.make_up import Playing
from tests.support.airflow.pictured import refuse_old, words_of

pytestmark = pytest.mark.browser
DAG_ID = "connector_offsets_change"
PHONE, DESKTOP = ViewportSize(width=390, height=844), ViewportSize(width=1280, height=1000)
REPORT = ViewportSize(width=990, height=980)
# What is beyond the screen; of a table, whose names can't be broken, only what can't be scrolled into view either.
OUT_OF_REACH = """
drawers => drawers.flatMap(drawer => [...drawer.querySelectorAll('*')])
  .filter(element => element.getBoundingClientRect().right > document.documentElement.clientWidth + 0.5)
  .filter(element => {
    let box = element.closest('table')?.parentElement;
    while (box && !['auto', 'scroll'].includes(getComputedStyle(box).overflowX)) box = box.parentElement;
    return !box;
  })
  .map(element => element.outerHTML.slice(0, 120))
"""


def test_an_approved_change_is_applied_and_reported(playing: Playing, ui: AirflowUi) -> None:
    """What it says to fill in; nothing is stopped before the answer; as many records come again as it said."""
    offsets, count = playing.connect.offsets(MIRROR), playing.replicated()
    run = ui.trigger(DAG_ID, playing.first_change(), picture="form")

    run.open_question()
    question = ui.page.locator("#root").inner_text()
    ui.picture("approval", shown=ui.page.locator("#root table"))

    assert f"Change the offsets of {MIRROR}?" in question
    assert "Nothing has been stopped yet" in question
    assert playing.connect.offsets(MIRROR) == offsets
    found = re.search(r"Records delivered again: ([\d,]+)", question)
    assert found
    predicted = int(found[1].replace(",", ""))
    assert predicted > 0
    report = follow(ui.page.get_by_role("link", name="The full report"), ui.hand)
    expect(report.get_by_text("Waiting for approval").first).to_be_visible()

    overview = ui.open_overview()
    overview.screenshot(path=ui.pictures / "overview.png")
    overview.get_by_role("link", name=f"Change the offsets of {MIRROR}?").press("Enter")
    expect(overview.get_by_text("Nothing has been stopped yet")).to_be_visible()
    overview.close()
    run.open_question()
    run.answer("Approve")

    assert run.end() == "success"
    assert set(run.tasks().values()) == {"success"}
    late, work = "the records it predicted have not arrived", playing.connect.work
    wait_for(playing.replicated, count + predicted, 60, late, progress=work)
    report = run.open_report("change.apply")
    expect(report.get_by_text("Applied").first).to_be_visible()
    report.set_viewport_size(REPORT)
    report.screenshot(path=ui.pictures / "change.png")
    refuse_old("change", words_of(report.locator("body")), ui.pictures)


def test_a_change_rejected_on_a_phone_touches_nothing(playing: Playing, ui: AirflowUi) -> None:
    """The form can be filled in there, and all of the question be read; all that would follow is skipped."""
    offsets = playing.connect.offsets(SINK)
    ui.page.set_viewport_size(PHONE)
    run = ui.trigger(DAG_ID, {"connector": SINK, "to": "earliest", "kafka_conn_id": "kafka_target"}, fits=OUT_OF_REACH)
    drawer = run.open_question_in_drawer()
    expect(drawer.get_by_text("Nothing has been stopped yet")).to_be_visible()
    # Once the drawer has slid in.
    wait_for(lambda: drawer.evaluate_all(OUT_OF_REACH), [], 30, "the question is wider than the screen")
    ui.picture("approval-phone")
    run.answer("Reject")
    ui.page.set_viewport_size(DESKTOP)

    assert run.end() == "success"
    tasks = run.tasks()
    assert {tasks[task] for task in ("begin", "apply", "restore", "outcome")} == {"skipped"}
    assert playing.connect.offsets(SINK) == offsets
    expect(run.open_report("change.approve").get_by_text("Rejected").first).to_be_visible()


def test_the_connection_form_tests_the_worker(playing: Playing, ui: AirflowUi) -> None:
    """Its button turns green where a worker answers, and red where none does."""
    _, _, address = playing.connect.url.partition("://")
    host, _, port = address.partition(":")

    ui.add_connection("orders_connect", "Kafka Connect", {"host": host, "port": port, "schema": "http"})
    ui.picture("connection")
    assert ui.is_connection_fine("orders_connect")

    ui.add_connection("nobody", "Kafka Connect", {"host": host, "port": "9", "schema": "http"})
    assert not ui.is_connection_fine("nobody")

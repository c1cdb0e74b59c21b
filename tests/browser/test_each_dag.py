"""Each ready DAG is triggered by its form with the values that its documentation names."""

from __future__ import annotations

import os
import random
import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from airflow_provider_connect_offsets import dags
from sandbox.scene import CHECKPOINTS, MIRROR, READERS, SINK
from tests.support.airflow.airflow_ui import AirflowUi
from tests.support.airflow.make_up import Playing

pytestmark = pytest.mark.browser
ON_TARGET = {"kafka_conn_id": "kafka_target"}
FLOW = {"source_connector": MIRROR, "checkpoint_connector": CHECKPOINTS}
# What to fill in, the task whose report is opened, and what that says; no task if there is no report.
FORMS: dict[str, tuple[dict[str, str | bool], str | None, str]] = {
    "connector_offsets_copy": (
        {"connector": SINK, "new_name": "copied-sink", "dry_run": True, "approval": False, **ON_TARGET},
        None,
        "",
    ),
    "connector_offsets_stepwise": (
        {"connector": SINK, "to": "shift", "value": "-10", "approval": False, **ON_TARGET},
        "restore",
        SINK,
    ),
    "connector_offsets_fleet": (
        {"connectors": ".*-sink", "to": "shift", "value": "-5", "max_down": "2", "approval": False, **ON_TARGET},
        "change.apply",
        SINK,
    ),
    "group_offsets_change": (
        {"groups": READERS, "to": "shift", "value": "-3", "approval": False, "kafka_conn_id": "kafka_source"},
        "change.apply",
        READERS,
    ),
    "connector_offsets_backfill": ({"connector": SINK, "approval": False, **ON_TARGET}, "change.apply", SINK),
    "connector_offsets_orphans": ({"older_than": "P30D", **ON_TARGET}, "orphans.find", "connect-offsets"),
    "connector_offsets_poison": ({"connector": SINK, **ON_TARGET}, "poison.find", SINK),
    "mirror_readiness": ({**FLOW, "max_lag_seconds": "600"}, "readiness.judge", MIRROR),
    "mirror_reset": ({**FLOW, "to": "current", "approval": False}, "reset.apply", MIRROR),
}
# These have tests of their own.
ELSEWHERE = {
    "connector_offsets_change",
    "connector_offsets_restore",
    "connector_offsets_snapshot",
    "mirror_failover",
    "mirror_failback",
    "mirror_failover_restore",
}


def test_no_dag_is_left_out() -> None:
    """A new one needs a form here."""
    assert FORMS.keys() | ELSEWHERE == set(dags.__all__)


def drawn() -> list[str]:
    """All DAGs; with ``FORMS_SHARE=3`` every third, from another one on each time."""
    share = int(os.environ.get("FORMS_SHARE", "1"))
    return list(FORMS)[random.SystemRandom().randrange(share) :: share]


@pytest.mark.parametrize("dag_id", drawn())
def test_it_is_triggered_by_its_form(ui: AirflowUi, dag_id: str) -> None:
    """Its run ends well, and its report opens from a task's link."""
    fields, task, said = FORMS[dag_id]

    run = ui.trigger(dag_id, fields)

    assert run.end() == "success"
    if task is not None:
        expect(run.open_report(task).get_by_text(said).first).to_be_visible()


def test_a_snapshot_is_taken_and_restored(ui: AirflowUi) -> None:
    """The report of the snapshot has the URI that the form of the restore asks for."""
    taken = ui.trigger("connector_offsets_snapshot", {"source_kafka_conn_id": "kafka_source", **ON_TARGET})
    assert taken.end() == "success"
    report = taken.open_report("snapshot.compare")
    expect(report.get_by_text(SINK).first).to_be_visible()
    found = re.search(r"file://\S+/_snapshots/\S+", report.locator("body").inner_text())
    assert found

    values: dict[str, str | bool] = {"snapshot_uri": found[0], "connectors": SINK, "approval": False, **ON_TARGET}
    restored = ui.trigger("connector_offsets_restore", values)
    assert restored.end() == "success"
    expect(restored.open_report("change.apply").get_by_text(SINK).first).to_be_visible()


def test_a_backfill_replays_an_interval_by_the_same_form(ui: AirflowUi) -> None:
    """The plan says what the log still has of yesterday, be that nothing."""
    fields: dict[str, str | bool] = {
        "connector": SINK,
        "mode": "replay",
        "approval": False,
        "partial": True,
        **ON_TARGET,
    }

    run = ui.trigger("connector_offsets_backfill", fields)

    assert run.end() == "success"
    expect(run.open_report("replay.plan").get_by_text(SINK).first).to_be_visible()


@pytest.fixture
def flow_that_goes_on(playing: Playing) -> Iterator[None]:
    """A failover leaves the flow STOPPED; others go on with it."""
    yield
    for connector in (MIRROR, CHECKPOINTS):
        playing.connect.resume(connector)


@pytest.mark.usefixtures("flow_that_goes_on")
def test_groups_go_to_the_other_cluster_and_home_again(ui: AirflowUi) -> None:
    """Failover, failback, and what the failover committed is taken back; by forms and the reports' own words."""
    over = ui.trigger("mirror_failover", {"groups": READERS, **FLOW})
    over.open_question()
    over.answer("Approve")
    assert over.end() == "success"
    report = over.open_report("failover.commit")
    expect(report.get_by_text(READERS).first).to_be_visible()
    found = re.search(r"file://\S+/final", report.locator("body").inner_text())
    assert found

    home = ui.trigger("mirror_failback", {"groups": READERS, "forward_connector": MIRROR, "approval": False})
    assert home.end() == "success"
    expect(home.open_report("failback.commit").get_by_text(READERS).first).to_be_visible()

    restored = ui.trigger("mirror_failover_restore", {"run_uri": found[0]})
    assert restored.end() == "success"

"""What someone reads who clears a task that has changed something, after someone else has changed the same."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from sandbox.scene import MIRROR
from tests.support.airflow.airflow_ui import AirflowUi
from tests.support.airflow.make_up import Playing

pytestmark = pytest.mark.browser
DAG_ID = "connector_offsets_change"


def test_a_cleared_change_is_no_success_once_another_run_has_changed_the_same(playing: Playing, ui: AirflowUi) -> None:
    """It names the other run, says what to do, and leaves the connector as that one has."""
    change: dict[str, str | bool] = {**playing.first_change(), "approval": False}
    first = ui.trigger(DAG_ID, change)
    assert first.end() == "success"
    second = ui.trigger(DAG_ID, change)
    assert second.end() == "success"
    before = playing.connect.status(MIRROR)["connector"]["state"]

    first.clear("change.apply")

    assert first.end() == "failed"
    assert first.tasks()["apply"] == "failed"
    first.open("tasks", "change.apply")
    message = ui.page.get_by_text(f"run '{DAG_ID}/{second.run_id}' has begun the change of offsets since")
    expect(message.first).to_contain_text("To do it again, trigger a new run")
    ui.picture("cleared")
    assert playing.connect.status(MIRROR)["connector"]["state"] == before

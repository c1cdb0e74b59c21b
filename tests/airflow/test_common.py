"""What all operators have in common."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from airflow_provider_connect_offsets.operators.shared.common import report_of
from airflow_provider_connect_offsets.operators.shared.events import has_failed_before
from airflow_provider_connect_offsets.workspace.layout import RunDirectory


def test_a_report_that_can_not_be_written_is_a_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A run without a request has no report; whatever else the task did counts."""
    run = RunDirectory(tmp_path.as_uri())

    assert report_of(run) == run.report

    assert f"The report {run.report} could not be written" in caplog.text
    assert not (tmp_path / "report.html").exists()


@pytest.mark.parametrize(("map_index", "asked"), [(None, None), (-1, None), (0, 0), (2, 2)])
def test_a_task_of_a_mapped_group_asks_for_the_tasks_of_its_own_index(map_index: int | None, asked: int | None) -> None:
    """The first one, too; another index that fails has failed for itself."""
    given: dict[str, Any] = {}

    def states(**more: Any) -> dict[str, dict[str, str]]:
        given.update(more)
        return {"run": {"fleet.apply": "success"}}

    instance = SimpleNamespace(dag_id="d", run_id="run", map_index=map_index, get_task_states=states)

    assert not has_failed_before({"ti": instance}, {"fleet.apply"})  # type: ignore[typeddict-item]
    assert given["map_index"] == asked

"""The task that plans the reset of a flow, once its job has found an error."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_provider_connect_offsets.exceptions import PlanRefused
from airflow_provider_connect_offsets.operators.mirror_reset import PlanMirrorResetOperator
from airflow_provider_connect_offsets.workspace import files
from tests.support.airflow.orphan_runs import local
from tests.support.rows.written_reports import planned_reset


def test_the_report_of_a_refused_reset_shows_the_flow(tmp_path: Path) -> None:
    """Readers have to see all that would have been reset, not only the change of its MirrorSource."""
    run = planned_reset(tmp_path)
    summary = files.read_json(run.summary)
    errors = {"errors": ["The flow is broken."], "verdicts": {**summary["verdicts"], "error": 1}}
    files.write_json(run.summary, {**summary, **errors})

    with pytest.raises(PlanRefused, match=r"^Nothing was stopped or changed\. The flow is broken\.$"):
        PlanMirrorResetOperator(task_id="plan", run_uri=run.uri).judge()

    html = local(run.report).read_text()
    assert "Reset of the flow of flow" in html
    assert "Topic by topic" in html

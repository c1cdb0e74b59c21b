"""What all operators have in common."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_provider_connect_offsets.operators.shared.common import report_of
from airflow_provider_connect_offsets.workspace.layout import RunDirectory


def test_a_report_that_can_not_be_written_is_a_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A run without a request has no report; whatever else the task did counts."""
    run = RunDirectory(tmp_path.as_uri())

    assert report_of(run) == run.report

    assert f"The report {run.report} could not be written" in caplog.text
    assert not (tmp_path / "report.html").exists()

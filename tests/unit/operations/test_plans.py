"""Which plans may be applied."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from airflow_provider_connect_offsets.exceptions import PlanRefused
from airflow_provider_connect_offsets.operations.connector.plans import read_plan, refuse_stale
from airflow_provider_connect_offsets.workspace import files
from airflow_provider_connect_offsets.workspace.layout import RunDirectory
from tests.support.rows.written import rewound


def planned(run: RunDirectory, *, ago: timedelta) -> RunDirectory:
    """Pretend that the plan was made that long ago."""
    summary = files.read_json(run.summary)
    files.write_json(run.summary, {**summary, "planned_at": (datetime.now(tz=UTC) - ago).isoformat()})
    return run


def test_another_plan_than_the_approved_one_is_refused(tmp_path: Path) -> None:
    """The digest tells them apart."""
    run = rewound(tmp_path).run
    digest = read_plan(run).digest

    assert read_plan(run, digest=digest).digest == digest
    with pytest.raises(PlanRefused, match=r"is not the approved plan.*Plan again"):
        read_plan(run, digest="0" * 64)


def test_a_plan_ages(tmp_path: Path) -> None:
    """It may be as old as configured, and no older; the error names the next step."""
    run = rewound(tmp_path).run
    hour = timedelta(hours=1)

    refuse_stale(planned(run, ago=timedelta(minutes=59)), ttl=hour)
    with pytest.raises(
        PlanRefused, match=r"Nothing was stopped.*61 minutes ago, but may be at most 60 minutes old. Trigger"
    ):
        refuse_stale(planned(run, ago=timedelta(minutes=61)), ttl=hour)

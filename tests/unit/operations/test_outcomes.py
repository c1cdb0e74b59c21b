"""What the outcome of a failed task calls itself."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from airflow_provider_connect_offsets.exceptions import Drift, NotRunning, Overlap
from airflow_provider_connect_offsets.offsets.plan import OffsetPlan
from airflow_provider_connect_offsets.offsets.requests.request import Request
from airflow_provider_connect_offsets.operations.connector import outcomes
from airflow_provider_connect_offsets.operations.stages.captured import RESUME
from airflow_provider_connect_offsets.saga import Owner, Progress, SagaRecord, SagaState, StageRecord
from airflow_provider_connect_offsets.workspace.outcome import Result

OWNER = Owner("dag/run", "apply", "host", 1)
RESUMED = StageRecord(RESUME, "x", "c", {}, Progress.DONE, {"state": "RUNNING", "tasks": 1})
APPLIED = SagaRecord("x", OWNER, SagaState.DONE, stages=(RESUMED,))


@pytest.mark.parametrize(
    ("error", "record", "result"),
    [
        (Drift("Nothing was changed: something else is stored."), APPLIED, Result.REFUSED),
        (Overlap("x was taken over."), APPLIED, Result.UNKNOWN),
        (Overlap("Nothing was done: x is being changed."), None, Result.REFUSED),
        (NotRunning("x failed right after the resume."), APPLIED, Result.APPLIED),
    ],
)
def test_nothing_is_called_applied_that_is_not_there_any_more(
    error: Exception, record: SagaRecord | None, result: Result
) -> None:
    """A cleared task finds the record of the attempt that applied its plan; what has come since decides."""
    request = Request.parse(connector="x", to="earliest", value="", now=datetime.now(tz=UTC))

    assert outcomes.of_failed(OffsetPlan.of(request, []), OWNER, error, record).result is result

"""What is said of a change that was undone: only what was observed or read back."""

from __future__ import annotations

from typing import Any

import pytest

from airflow_provider_connect_offsets.connect.protocols import State
from airflow_provider_connect_offsets.exceptions import NotApplied, NotStopped, OutcomeUnknown, Rejected, StoreError
from airflow_provider_connect_offsets.offsets.document import Offsets
from airflow_provider_connect_offsets.operations.stages.captured import ALTER, STOP, Alteration, PriorState
from airflow_provider_connect_offsets.operations.stages.explained import ConnectorExplained
from airflow_provider_connect_offsets.saga import Owner, Progress, SagaRecord, Settled, StageRecord

NOBODY: Any = object()


def undone_record() -> SagaRecord:
    captured = Alteration(State.RUNNING, Offsets(), Offsets()).as_json()
    stages = (
        StageRecord(STOP, "c", "here", {}, progress=Progress.UNDONE, captured=PriorState(State.RUNNING, 1).as_json()),
        StageRecord(ALTER, "c", "here", {}, progress=Progress.UNDONE, captured=captured),
    )
    return SagaRecord("c", Owner("dag/run", "apply", "host", 1), operation="the change", stages=stages)


@pytest.mark.parametrize(
    ("cause", "offsets"),
    [
        (NotStopped("It runs."), "Its prior offsets were read back"),
        (Rejected("No."), "Its prior offsets were restored and read back"),
        (OutcomeUnknown("Lost."), "Its prior offsets were restored and read back"),
        (None, "Its prior offsets were restored and read back"),
    ],
    ids=["refused, since it runs", "refused", "unknown", "read back otherwise"],
)
def test_what_was_written_is_said_as_it_is_known(cause: StoreError | None, offsets: str) -> None:
    """Connect refuses a connector that runs before it writes anything, so mostly nothing had to be restored."""
    error = NotApplied("First.")
    error.__cause__ = cause

    said = ConnectorExplained("c", NOBODY).explain_undone(error, Settled(undone_record()))

    assert str(said) == f"The change of 'c' was not applied: First. {offsets}, and it is RUNNING again."

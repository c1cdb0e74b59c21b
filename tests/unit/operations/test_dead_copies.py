"""What a copy or rename of a connector has left, when someone else settles it: the message, and the next plan."""

from __future__ import annotations

import re

import pytest

from airflow_provider_connect_offsets.connect.protocols import State
from airflow_provider_connect_offsets.exceptions import InvalidRequest, LeftStopped, NotApplied, Unreachable
from airflow_provider_connect_offsets.offsets.document import Entry, Offsets
from airflow_provider_connect_offsets.operations.stages.captured import (
    ALTER,
    CREATE,
    DELETE,
    STOP,
    Alteration,
    PriorState,
    alteration_of,
)
from airflow_provider_connect_offsets.operations.stages.explained import CopyExplained, describe
from airflow_provider_connect_offsets.saga import Progress, SagaRecord, SagaState, Settled, StageRecord
from airflow_provider_connect_offsets.saga.lease import Owner

TAKEN = Offsets.of([Entry('{"kafka_partition":0,"kafka_topic":"orders"}', '{"kafka_offset":7}')])
HOW = CopyExplained("old", "new")


def left(state: SagaState, *, stopped: bool = True, rename: bool = False) -> SagaRecord:
    """The record of a copy of ``old`` as ``new``."""
    altered = Alteration(State.STOPPED, Offsets(), TAKEN).as_json()
    running = PriorState(State.RUNNING, 1).as_json()
    stages = [
        StageRecord(CREATE, "new", "here", {}, Progress.DONE),
        StageRecord(
            STOP, "old", "here", {}, Progress.DONE if stopped else Progress.PENDING, running if stopped else {}
        ),
        StageRecord(ALTER, "new", "here", {}, Progress.DONE, altered)
        if stopped
        else StageRecord(ALTER, "new", "here", {}),
        *([StageRecord(DELETE, "old", "here", {})] if rename else []),
    ]
    return SagaRecord("old", Owner("dag/dead", "copy", "host", 1), state, "the copying", "key", tuple(stages))


@pytest.mark.parametrize(
    ("record", "said"),
    [
        (left(SagaState.UNDONE), "was undone: nothing is left of 'new', and the connector is RUNNING again."),
        (
            left(SagaState.UNDONE, stopped=False),
            "was undone: nothing is left of 'new', and the connector was not touched.",
        ),
        (left(SagaState.DONE), "was finished: 'new' has its offsets, and the connector has its prior state."),
        (left(SagaState.DONE, rename=True), "was finished: 'new' has its offsets, and the connector is deleted."),
        (left(SagaState.ABANDONED), "was given up. Someone else has changed it."),
    ],
)
def test_it_is_reported_as_it_is(record: SagaRecord, said: str) -> None:
    """The sentence says what became of the copy and of the original."""
    sentence = describe(Settled(record, warnings=("Someone else has changed it.",)))

    assert sentence == f"'old': the copying by run 'dag/dead', which ended unfinished, {said}"


def test_the_next_plan_does_not_rest_on_what_the_copy_had() -> None:
    """The partitions of both have the same names, and what was undone was the copy's."""
    assert alteration_of(left(SagaState.UNDONE), "old") is None
    assert alteration_of(left(SagaState.UNDONE), "new") is not None


@pytest.mark.parametrize(
    ("error", "stopped", "said"),
    [
        (Unreachable("No answer."), True, "'old': No answer. Nothing is left of the copy, and 'old' is RUNNING again."),
        (Unreachable("No answer."), False, "Nothing is left of the copy, and 'old' was not touched."),
        (InvalidRequest("Nothing was changed."), True, "Nothing was changed."),
    ],
)
def test_a_copy_that_was_undone(error: Exception, said: str, *, stopped: bool) -> None:
    """The error says what is there now."""
    explained = HOW.explain_undone(error, Settled(left(SagaState.UNDONE, stopped=stopped)))

    assert said in str(explained)
    assert isinstance(explained, NotApplied | InvalidRequest)


def test_a_copy_that_is_in_between() -> None:
    """The error names both connectors, and the next step; its class is that of the failure."""
    error, record = Unreachable("No answer."), left(SagaState.FORWARD, rename=True)

    assert re.search(
        "could not be undone: No answer. Run the task again", str(HOW.explain_not_undone(error, error, record))
    )
    assert isinstance(HOW.explain_stuck(error, record), LeftStopped)
    unresumed = HOW.explain_unresumed(error, record)
    assert isinstance(unresumed, Unreachable)
    assert "'new' has its offsets, but may be STOPPED. 'old' is deleted. Run the task again" in str(unresumed)

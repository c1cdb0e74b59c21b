"""Every call that a creation or a deletion of a connector makes is broken in turn; nothing is left in between."""

from __future__ import annotations

from enum import StrEnum
from itertools import product

import pytest

from airflow_provider_connect_offsets.cli import recovering
from airflow_provider_connect_offsets.connect.protocols import State
from airflow_provider_connect_offsets.exceptions import ConnectOffsetsError
from airflow_provider_connect_offsets.saga import Toward
from airflow_provider_connect_offsets.saga.lease import Owner
from sandbox import Sandbox
from tests.support.faults.fault_table import Ending, Note
from tests.support.faults.faulty_clients import Fault, Faults, Killed
from tests.support.faults.moments import each_call
from tests.support.faults.recovered_by import RecoveredBy
from tests.support.flows.existence import NewSink, owner
from tests.support.flows.flows import Changer

pytestmark = [pytest.mark.faults, pytest.mark.timeout(3600)]
FAULTS = [fault for fault in Fault if fault is not Fault.THEIRS]
# Of the calls one in so many, another one in each run.
SHARE = 6


class Action(StrEnum):
    """What is broken."""

    CREATE = "creation of a connector"
    DELETE = "deletion of a connector"


CELLS: list[tuple[Action, Fault]] = list(product(Action, FAULTS))


@pytest.mark.parametrize(("action", "fault"), CELLS)
@pytest.mark.parametrize("whole", [False, pytest.param(True, marks=pytest.mark.long)])
def test_broken_at_each_call(
    sandbox: Sandbox,
    creator: Changer,
    note_generated: Note,
    monkeypatch: pytest.MonkeyPatch,
    *,
    action: Action,
    fault: Fault,
    whole: bool,
) -> None:
    """The connector exists at its offset, or nothing is left of it; the next attempt ends what was begun."""
    counted, nth = Faults(), CELLS.index((action, fault))
    _act(_ready(sandbox, creator, action), action, counted, owner())
    endings: set[Ending] = set()
    for faults, successor in each_call(fault, counted, index=nth, share=1 if whole else SHARE):
        with faults.naming(action, successor), faults.files(monkeypatch):
            endings |= _cell(_ready(sandbox, creator, action), action, faults, successor)
    for ending in sorted(endings):
        note_generated(fault, action, "sink", ending)


def _ready(sandbox: Sandbox, creator: Changer, action: Action) -> NewSink:
    """A sink that is to be created, or was."""
    sink = NewSink.ready(sandbox, creator, state=State.STOPPED)
    if action is Action.DELETE:
        sink.create()
    return sink


def _act(sink: NewSink, action: Action, faults: Faults, by: Owner) -> None:
    with sink.changer.clients() as clients:
        broken = faults.clients(clients)
        if action is Action.CREATE:
            sink.create(by, broken)
        else:
            sink.delete(f"{sink.changer.workspace}/{sink.new.name}.json", by, broken)


def _cell(sink: NewSink, action: Action, faults: Faults, successor: RecoveredBy) -> set[Ending]:
    by, error = owner(), None
    try:
        _act(sink, action, faults, by)
    except (Killed, SystemExit, ConnectOffsetsError) as raised:
        error = raised
    faults.mend()
    if not faults.happened:
        return set()
    if not isinstance(error, Killed):
        assert _found(sink) in {(True, 15), (False, None)}
    if successor is RecoveredBy.PERSON:
        where = {"workspace": sink.changer.workspace, "url": sink.changer.worker}
        recovering.recover(connector=sink.new.name, toward=Toward.BACK, run=by.run, **where)
        assert _found(sink) in {(True, 15), (False, None)}
    ended = _found(sink) == _goal(action)
    _act(sink, action, Faults(), by)
    assert _found(sink) == _goal(action)
    return {Ending.APPLIED if error is None else Ending.NEXT if ended else Ending.RESTORED}


def _found(sink: NewSink) -> tuple[bool, int | None]:
    return sink.exists, sink.committed


def _goal(action: Action) -> tuple[bool, int | None]:
    return (True, 15) if action is Action.CREATE else (False, None)

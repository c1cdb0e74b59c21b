"""Every call that a copy or a rename of a connector makes is broken in turn; nothing is left in between."""

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
from tests.support.flows.copying import CopiedSink
from tests.support.flows.existence import NewSink, owner
from tests.support.flows.flows import Changer

pytestmark = [pytest.mark.faults, pytest.mark.timeout(3600)]
FAULTS = [fault for fault in Fault if fault is not Fault.THEIRS]
# Of the calls one in so many, another one in each run.
SHARE = 12
Observed = tuple[bool, int | None]
GONE: Observed = (False, None)
THERE: Observed = (True, 15)


class Action(StrEnum):
    """What is broken."""

    COPY = "copy of a connector that is stopped meanwhile"
    RENAME = "rename of a connector"


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
    """Original and copy are as before, or as requested; the next attempt ends what was begun."""
    counted, nth = Faults(), CELLS.index((action, fault))
    _act(_ready(sandbox, creator, action), counted, owner())
    endings: set[Ending] = set()
    for faults, successor in each_call(fault, counted, index=nth, share=1 if whole else SHARE):
        with faults.naming(action, successor), faults.files(monkeypatch):
            endings |= _cell(_ready(sandbox, creator, action), action, faults, successor)
    for ending in sorted(endings):
        note_generated(fault, action, "sink", ending)


def _ready(sandbox: Sandbox, creator: Changer, action: Action) -> CopiedSink:
    """A PAUSED sink at position 15, so that its state is checked as well, and its copy."""
    sink = NewSink.ready(sandbox, creator, state=State.PAUSED)
    sink.create()
    return CopiedSink.of(sink, rename=action is Action.RENAME, stop_original=True)


def _act(copied: CopiedSink, faults: Faults, by: Owner) -> None:
    with copied.original.changer.clients() as clients:
        copied.copy(by, faults.clients(clients))


def _cell(copied: CopiedSink, action: Action, faults: Faults, successor: RecoveredBy) -> set[Ending]:
    by, error = owner(), None
    try:
        _act(copied, faults, by)
    except (Killed, SystemExit, ConnectOffsetsError) as raised:
        error = raised
    faults.mend()
    if not faults.happened:
        return set()
    if successor is RecoveredBy.PERSON:
        changer = copied.original.changer
        name = copied.how.connector
        recovering.recover(changer.workspace, name, toward=Toward.BACK, run=by.run, url=changer.worker)
        assert _found(copied) in {(THERE, GONE), _goal(action)}
        assert _states(copied) == {State.PAUSED}
    ended = _found(copied) == _goal(action)
    _act(copied, Faults(), by)
    assert _found(copied) == _goal(action)
    assert _states(copied) == {State.PAUSED}
    return {Ending.APPLIED if error is None else Ending.NEXT if ended else Ending.RESTORED}


def _found(copied: CopiedSink) -> tuple[Observed, Observed]:
    """Whether original and copy exist, and where they resume."""
    original = copied.original
    return (original.exists, original.committed), (copied.exists, copied.committed)


def _goal(action: Action) -> tuple[Observed, Observed]:
    return (GONE if action is Action.RENAME else THERE), THERE


def _states(copied: CopiedSink) -> set[str]:
    """The states of those of the two that exist."""
    connect = copied.original.sandbox.connect
    names = {copied.how.connector, copied.how.new_name} & set(connect.connectors())
    return {str(connect.call("GET", f"/connectors/{name}/status")["connector"]["state"]) for name in names}

"""Every call of the search for a poison record, and of its skip, is broken in turn; the sink is left in order."""

from __future__ import annotations

from contextlib import ExitStack
from enum import StrEnum
from itertools import product

import pytest

from airflow_provider_connect_offsets.cli import recovering
from airflow_provider_connect_offsets.exceptions import ConnectOffsetsError
from airflow_provider_connect_offsets.saga import Toward
from sandbox import Sandbox
from tests.support.faults.fault_table import Ending, Note
from tests.support.faults.faulty_clients import Fault, Faults, Killed
from tests.support.faults.moments import each_call
from tests.support.faults.recovered_by import RecoveredBy
from tests.support.flows.flows import Changer
from tests.support.flows.poisoned import BROKEN, CAST, GOOD, JSON, KEYS_ARE_TEXT, Poisoned, lines, rows

pytestmark = [pytest.mark.faults, pytest.mark.timeout(3600)]
FAULTS = [fault for fault in Fault if fault is not Fault.THEIRS]
# Of the calls one in so many, another one in each run.
SHARE = 12


class Action(StrEnum):
    """What is broken."""

    FIND = "search for a poison record"
    SKIP = "skip of a poison record"


CELLS: list[tuple[Action, Fault]] = list(product(Action, FAULTS))
NUMBERS = [str(number) for number in range(GOOD)]


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
    """It has its own configuration and runs, or has failed on that record; the next attempt ends what was begun."""
    counted, nth = Faults(), CELLS.index((action, fault))
    _act(_ready(sandbox, creator, action), action, counted)
    endings: set[Ending] = set()
    for faults, successor in each_call(fault, counted, index=nth, share=1 if whole else SHARE):
        with faults.naming(action, successor), faults.files(monkeypatch):
            endings |= _cell(_ready(sandbox, creator, action), action, faults, successor)
    for ending in sorted(endings):
        note_generated(fault, action, "sink", ending)


def _ready(sandbox: Sandbox, changer: Changer, action: Action) -> Poisoned:
    """A sink that has failed: on a record that only a run finds, or on one that is the next to be read."""
    if action is Action.FIND:
        return Poisoned.start(sandbox, changer, [*NUMBERS, "no number", "7"], CAST)
    return Poisoned.start(sandbox, changer, [BROKEN, *rows(0, 5)], {**JSON, **KEYS_ARE_TEXT}, position=0)


def _act(sink: Poisoned, action: Action, faults: Faults) -> None:
    with ExitStack() as stack, sink.changer.clients() as clients:
        work = sink.work(stack, clients=faults.clients(clients))
        if action is Action.FIND:
            work.find()
        else:
            work.skip()


def _cell(sink: Poisoned, action: Action, faults: Faults, successor: RecoveredBy) -> set[Ending]:
    error = None
    try:
        _act(sink, action, faults)
    except (Killed, SystemExit, ConnectOffsetsError) as raised:
        error = raised
    faults.mend()
    if not faults.happened:
        return set()
    if not isinstance(error, Killed) and not _is_left_stopped(sink, error):
        _assert_in_order(sink, action)
    if successor is RecoveredBy.PERSON:
        changer = sink.changer
        recovering.recover(changer.workspace, sink.name, toward=Toward.BACK, run=sink.run, url=changer.worker)
        _assert_in_order(sink, action)
    ended = _is_done(sink, action)
    _act(sink, action, Faults())
    assert _is_done(sink, action)
    _assert_in_order(sink, action)
    if action is Action.SKIP:
        sink.wait_until_delivered(lines(0, 5))
    sink.remove()
    return {Ending.APPLIED if error is None else Ending.NEXT if ended else Ending.RESTORED}


def _is_left_stopped(sink: Poisoned, error: BaseException | None) -> bool:
    """Whether the run ended while it resumed the sink after the skip: an error says so, an interrupted run can't."""
    if sink.sandbox.connect.status(sink.name)["connector"]["state"] != "STOPPED":
        return False
    assert _is_skipped(sink, Action.SKIP)
    assert isinstance(error, SystemExit) or "may still be STOPPED. Run the task again" in str(error)
    return True


def _assert_in_order(sink: Poisoned, action: Action) -> None:
    """Its own configuration, its state, and no record lost or delivered twice."""
    assert sink.settings == sink.config
    sink.sandbox.connect.wait_state(sink.name, "RUNNING" if _is_skipped(sink, action) else "FAILED", tasks=1)
    good = lines(0, 5) if action is Action.SKIP else NUMBERS
    assert sink.delivered == good[: len(sink.delivered)]


def _is_done(sink: Poisoned, action: Action) -> bool:
    """Whether what was to be done is: the record is kept, and the sink is at it, or past it."""
    if action is Action.FIND:
        return sink.position == GOOD and [row["offset"] for row in sink.kept] == [GOOD]
    return _is_skipped(sink, action) and [row["offset"] for row in sink.kept] == [0]


def _is_skipped(sink: Poisoned, action: Action) -> bool:
    return action is Action.SKIP and (sink.position or 0) > 0

"""The generated matrix: each call of an operation is broken in each way, and a run that has ended is run again.

The cells are made from a clean run, so that a call that is added later is in them. All this is the same for all
operations; what differs is in their rows.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import ClassVar

import pytest

from airflow_provider_connect_offsets.exceptions import ConnectOffsetsError, Drift
from tests.support.faults.fault_table import Ending, Note
from tests.support.faults.faulty_clients import CHANGES, Fault, Faults, Killed, Outage
from tests.support.faults.recovered_by import RecoveredBy
from tests.support.faults.rows import PlannedRow, Row, owner


class Broken:
    """The tests of the rows that a subclass names: broken at each call."""

    rows: ClassVar[Sequence[type[Row]]]

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """A test for each row, and for each fault that it can meet."""
        if "fault" in metafunc.fixturenames:
            cells = [
                pytest.param(
                    row, fault, whole, id=f"{row.name}-{fault}{'-whole' * whole}", marks=_marks(row, whole=whole)
                )
                for row in self.rows
                for fault in row.faults
                for whole in (False, *([] if row.is_slow else [True]))
            ]
            metafunc.parametrize(("row", "fault", "whole"), cells)
        else:
            rows = [row for row in self.rows if row.is_one_task]
            metafunc.parametrize("row", rows, ids=[row.name for row in rows])

    def test_broken_at_each_call(
        self,
        request: pytest.FixtureRequest,
        note_generated: Note,
        monkeypatch: pytest.MonkeyPatch,
        *,
        row: type[Row],
        fault: Fault | Outage,
        whole: bool,
    ) -> None:
        """All of it or nothing, whoever comes; another attempt makes what is left. ``whole``: at each call."""
        nth = row.faults.index(fault) + len(row.faults) * list(self.rows).index(row)
        with row.opened(request) as one:
            calls = calls_of(one)
            moments = [(at, after) for at, after in row.moments(calls) if differs(fault, calls[at], after=after)]
            for number, (at, after) in drawn(moments, share=1 if whole else row.share, index=nth):
                successors = row.coming_after(fault)
                successor = successors[(number + nth) % len(successors)]
                faults = Faults(fault, at, after, world=lambda: one.world(fault))
                with faults.naming(row.name, successor), faults.files(monkeypatch):
                    ending = cell(one, faults, successor, turn=number + nth)
                one.leave()
                if ending is not None:
                    note_generated(fault, row.name, row.kind, ending)


class Generated(Broken):
    """Broken at each call; and run again after it has ended."""

    def test_run_again(self, request: pytest.FixtureRequest, row: type[Row]) -> None:
        """Someone clears the task after its success, as in Airflow's UI: it reports the same result."""
        with row.opened(request) as one:
            one.ready(0)
            by, again = owner(), Faults()
            one.act(Faults(), by)
            assert one.is_done()

            one.act(again, by)

            assert one.is_done()
            if one.is_made_once:
                assert not CHANGES.intersection(again.calls)

    def test_run_again_after_someone_elses_change(self, request: pytest.FixtureRequest, row: type[Row]) -> None:
        """A success that no longer holds is not reported again: it is an error, or the change is made again."""
        with row.opened(request) as one:
            one.ready(0)
            by, again, error = owner(), Faults(), None
            one.act(Faults(), by)
            one.change_theirs()
            theirs = one.observed()

            try:
                one.act(again, by)
            except ConnectOffsetsError as raised:
                error = raised

            if one.is_made_once:
                assert isinstance(error, Drift)
                assert not CHANGES.intersection(again.calls)
            assert one.observed() == theirs or (error is None and one.is_done())


class GeneratedByPlan(Generated):
    """The same of operations with a plan."""

    rows: ClassVar[Sequence[type[PlannedRow]]]

    def test_planned_for_other_settings(self, request: pytest.FixtureRequest, row: type[PlannedRow]) -> None:
        """The connector was reconfigured since: nothing is stopped, and no position of its former topics written."""
        with row.opened(request) as one:
            assert isinstance(one, PlannedRow)
            one.ready(0)
            by, faults = owner(), Faults()
            one.reconfigure(by)
            before = one.observed()

            with pytest.raises(Drift, match="reconfigured since the plan was made"):
                one.act(faults, by)

            assert not CHANGES.intersection(faults.calls)
            assert one.observed() == before


def cell(row: Row, faults: Faults, successor: RecoveredBy, *, turn: int) -> Ending | None:
    """Make an operation that is broken, and let the successor come.

    Returns None if the fault did not happen, as there is no such call this time.
    """
    row.ready(turn)
    by, error = owner(), None
    try:
        row.act(faults, by)
    except (Killed, SystemExit, ConnectOffsetsError) as raised:
        error = raised
    faults.mend()
    row.over()
    if not faults.happened:
        return None
    if not isinstance(error, Killed):
        row.check(error)
    settle = {
        RecoveredBy.PERSON: row.recover,
        RecoveredBy.TEARDOWN: row.tear_down,
        RecoveredBy.OTHER_RUN: row.come_next,
    }
    if successor in settle:
        settle[successor](by)
    is_next = successor not in settle or row.is_done()
    row.finish(by, error, successor)
    if error is None:
        return Ending.APPLIED
    if faults.fault is Fault.THEIRS:
        return Ending.THEIRS
    return Ending.NEXT if is_next else Ending.RESTORED


def _marks(row: type[Row], *, whole: bool) -> list[pytest.MarkDecorator]:
    """What leaves a cell out: `make test-steps` the whole ones, `make test-faults` those that a whole one repeats."""
    if whole:
        return [pytest.mark.long]
    return [] if row.is_slow else [pytest.mark.drawn]


def calls_of(row: Row) -> list[str]:
    """The calls of a clean run."""
    counted = Faults()
    row.ready(0)
    row.act(counted, owner())
    assert counted.calls
    return counted.calls


def differs(fault: Fault | Outage, call: str, *, after: bool) -> bool:
    """Whether a fault before or after a call makes a moment of its own; a read leaves everything as it was before it.

    Only what others do, as a takeover, makes its answer wrong. An answer to a read that comes late is a lost one.
    """
    if fault is Fault.LATE:
        return call in CHANGES and not after
    return call in CHANGES or not after or fault in {Fault.ZOMBIE, Fault.THEIRS}


def drawn(moments: Sequence[tuple[int, bool]], *, share: int, index: int) -> Iterator[tuple[int, tuple[int, bool]]]:
    """Yield of each ``share`` moments one, numbered; another one in each run, and for each ``index``."""
    share = min(share, len(moments))
    yield from list(enumerate(moments))[(index + int(os.environ["FAULT_SEED"])) % share :: share]

"""The generated matrix: each call of an operation is broken in each way, and a run that has ended is run again.

A :class:`Row` says how an operation is made ready, made and settled, and what may be found afterwards. The rest is the
same for all rows: the cells are made from a clean run, so that a call that is added later is in them.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from itertools import product
from typing import Any, ClassVar
from uuid import uuid4

import pytest

from airflow_provider_connect_offsets.exceptions import ConnectOffsetsError, Drift
from airflow_provider_connect_offsets.saga.lease import Owner
from tests.support.faults.fault_table import Ending, Note
from tests.support.faults.faulty_clients import CHANGES, Fault, Faults, Killed, Outage
from tests.support.faults.outages import Outages
from tests.support.faults.recovered_by import RecoveredBy

#: All faults but one: someone else's resume is a matter of connectors that are changed.
FAULTS = tuple(fault for fault in Fault if fault is not Fault.THEIRS)


class Row(ABC):
    """An operation, on something real that a test makes.

    Attributes:
        name: What the table calls it.
        kind: On what.
        share: Of its calls one in so many is broken, another one in each run.
        faults: Those that it can meet.
        successors: Who comes after a fault, in turns.
        is_made_once: False if each attempt of a run makes it anew.
        is_slow: True if there is never the time to break all of its calls.
        is_one_task: False if a run makes it in several tasks, which are never all run again.
    """

    name: ClassVar[str]
    kind: ClassVar[str] = "sink"
    share: ClassVar[int] = 6
    faults: ClassVar[tuple[Fault | Outage, ...]] = FAULTS
    successors: ClassVar[tuple[RecoveredBy, ...]] = (RecoveredBy.RETRY, RecoveredBy.PERSON)
    is_made_once: ClassVar[bool] = True
    is_slow: ClassVar[bool] = False
    is_one_task: ClassVar[bool] = True

    @classmethod
    @abstractmethod
    def opened(cls, request: pytest.FixtureRequest) -> AbstractContextManager[Row]:
        """Open what it changes, with the fixtures of the test; nothing is left at the end."""

    @abstractmethod
    def ready(self, turn: int) -> None:
        """Let it be made as never before; ``turn``: where it may be made in several ways, they take turns."""

    @abstractmethod
    def act(self, faults: Faults, by: Owner) -> None:
        """Make it as a task of the run, through clients with the faults; raises what it raises."""

    @abstractmethod
    def is_done(self) -> bool:
        """Whether it is made; fails if that is so in part, or of anything else."""

    def recover(self, by: Owner) -> None:
        """Settle what the run ``by`` has left, as a person does in the shell."""
        raise NotImplementedError(f"nobody settles {by}")

    def tear_down(self, by: Owner) -> None:
        """The same as the teardown of the run does."""
        raise NotImplementedError(f"no teardown settles {by}")

    def come_next(self, by: Owner) -> None:
        """The same as another run does."""
        raise NotImplementedError(f"no other run settles {by}")

    def check(self, error: BaseException | None) -> None:
        """Check what stands right after the run, which ended with ``error``; not after a kill."""
        del error
        self.is_done()

    def finish(self, by: Owner, error: BaseException | None, successor: RecoveredBy) -> None:
        """Make it by another attempt of the run, which had ended with ``error``: that ends what is left of it."""
        del error, successor
        self.act(Faults(), by)
        assert self.is_done()

    def world(self, fault: Fault | Outage) -> None:
        """Let a fault happen that is none of the operation's own process."""
        raise NotImplementedError(f"nothing outside interferes with {self.name}: {fault}")

    def over(self) -> None:  # noqa: B027 - most faults end at once
        """Wait until the fault is over."""

    @classmethod
    def coming_after(cls, fault: Fault | Outage) -> Sequence[RecoveredBy]:
        """Return who may come after a fault: no other attempt, if the connector is someone else's from then on."""
        return [one for one in cls.successors if fault is not Fault.THEIRS or one is not RecoveredBy.RETRY]

    @classmethod
    def moments(cls, calls: Sequence[str]) -> list[tuple[int, bool]]:
        """Return where it is broken: before and after each call."""
        return list(product(range(len(calls)), (False, True)))

    @abstractmethod
    def change_theirs(self) -> None:
        """Let another run, or a person, change the same once it is made."""

    @abstractmethod
    def observed(self) -> Any:
        """Observe what it changes, to be compared."""


class InOutage(Row):
    """A mixin: a worker or a broker goes away around each call that changes something (fixture ``outages``).

    The fixture is opened after what the row changes, so that this is on the first worker.
    """

    faults = tuple(Outage)
    outages: Outages

    @classmethod
    @contextmanager
    def opened(cls, request: pytest.FixtureRequest) -> Iterator[Any]:
        with super().opened(request) as one:
            assert isinstance(one, InOutage)
            one.outages = request.getfixturevalue("outages")
            yield one

    @classmethod
    def moments(cls, calls: Sequence[str]) -> list[tuple[int, bool]]:
        return [(number, after) for number, name in enumerate(calls) if name in CHANGES for after in (False, True)]

    def world(self, fault: Fault | Outage) -> None:
        self.outages.begin(Outage(fault))

    def over(self) -> None:
        self.outages.wait()


class PlannedRow(Row):
    """An operation with a plan, whose positions depend on the connector's settings."""

    @abstractmethod
    def reconfigure(self, by: Owner) -> None:
        """Change a setting on which the plan of the run rests, once that is made."""


class Broken:
    """The tests of the rows that a subclass names: broken at each call."""

    rows: ClassVar[Sequence[type[Row]]]

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """A test for each row, and for each fault that it can meet."""
        if "fault" in metafunc.fixturenames:
            cells = [
                pytest.param(
                    row, fault, whole, id=f"{row.name}-{fault}{'-whole' * whole}", marks=[pytest.mark.long] * whole
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
            for number, (at, after) in drawn(row.moments(calls_of(one)), share=1 if whole else row.share, index=nth):
                successors = row.coming_after(fault)
                successor = successors[(number + nth) % len(successors)]
                faults = Faults(fault, at, after, world=lambda: one.world(fault))
                with faults.naming(row.name, successor), faults.files(monkeypatch):
                    ending = cell(one, faults, successor, turn=number + nth)
                if ending is not None:
                    note_generated(fault, row.name, row.kind, ending)


class Generated(Broken):
    """Broken at each call; and run again after it has ended."""

    def test_run_again(self, request: pytest.FixtureRequest, row: type[Row]) -> None:
        """By hand, after its success, as an operator of Airflow's UI clears a task: it says again what is so."""
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
        """It is no success that is none any more: an error, and theirs stays; or it is made anew."""
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


def calls_of(row: Row) -> list[str]:
    """The calls of a clean run."""
    counted = Faults()
    row.ready(0)
    row.act(counted, owner())
    assert counted.calls
    return counted.calls


def drawn(moments: Sequence[tuple[int, bool]], *, share: int, index: int) -> Iterator[tuple[int, tuple[int, bool]]]:
    """Yield of each ``share`` moments one, numbered; another one in each run, and for each ``index``."""
    share = min(share, len(moments))
    yield from list(enumerate(moments))[(index + int(os.environ["FAULT_SEED"])) % share :: share]


def owner() -> Owner:
    """A run of its own."""
    return Owner.here(run=f"test/{uuid4().hex}", task="apply")

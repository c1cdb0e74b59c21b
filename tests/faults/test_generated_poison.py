"""Every call of the search for a poison record, and of its skip, is broken in turn; the sink is left in order."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Any

import pytest

from airflow_provider_connect_offsets.cli import recovering
from airflow_provider_connect_offsets.saga import Toward
from airflow_provider_connect_offsets.saga.lease import Owner
from sandbox import Sandbox
from tests.support.faults.faulty_clients import Faults
from tests.support.faults.matrix import Generated
from tests.support.faults.rows import Row, remove_made
from tests.support.flows.flows import Changer
from tests.support.flows.poisoned import BROKEN, CAST, GOOD, JSON, KEYS_ARE_TEXT, Poisoned, lines, rows

pytestmark = [pytest.mark.faults, pytest.mark.timeout(3600)]
NUMBERS = [str(number) for number in range(GOOD)]


@dataclass
class PoisonRecord(Row):
    """A sink that has failed on a record."""

    sandbox: Sandbox
    creator: Changer
    poisoned: Poisoned | None = None

    share = 12
    is_made_once = False

    @classmethod
    @contextmanager
    def opened(cls, request: pytest.FixtureRequest) -> Iterator[PoisonRecord]:
        yield cls(request.getfixturevalue("sandbox"), request.getfixturevalue("creator"))

    @property
    def sink(self) -> Poisoned:
        assert self.poisoned is not None
        return self.poisoned

    def leave(self) -> None:
        remove_made(self.sandbox)

    def recover(self, by: Owner) -> None:
        where = {"workspace": self.creator.workspace, "connector": self.sink.name, "url": self.creator.worker}
        recovering.recover(**where, toward=Toward.BACK, run=by.run)

    def observed(self) -> Any:
        return self.sink.name in self.sandbox.connect.connectors()

    def change_theirs(self) -> None:
        self.sink.remove()

    def is_skipped(self) -> bool:
        """Whether the sink was moved past the record."""
        return False

    def check(self, error: BaseException | None) -> None:
        """It may be left STOPPED right before its resume: an error says so, which an interrupted run can't."""
        if self.sandbox.connect.status(self.sink.name)["connector"]["state"] != "STOPPED":
            self.is_done()
            return
        assert (self.sink.position or 0) > 0
        assert isinstance(error, SystemExit) or "may still be STOPPED. Run the task again" in str(error)

    def in_order(self, good: list[str]) -> None:
        """Assert its own configuration, its state, and that no record is lost or delivered twice."""
        assert self.sink.settings == self.sink.config
        self.sandbox.connect.wait_state(self.sink.name, "RUNNING" if self.is_skipped() else "FAILED", tasks=1)
        assert self.sink.delivered == good[: len(self.sink.delivered)]


class Find(PoisonRecord):
    """The record on which it has failed is found by a run with one record a poll."""

    name = "search for a poison record"

    def ready(self, turn: int) -> None:
        del turn
        self.poisoned = Poisoned.start(self.sandbox, self.creator, [*NUMBERS, "no number", "7"], CAST)

    def act(self, faults: Faults, by: Owner) -> None:
        self.poisoned = replace(self.sink, run=by.run)
        with ExitStack() as stack, self.creator.clients() as clients:
            self.sink.work(stack, clients=faults.clients(clients)).find()

    def is_done(self) -> bool:
        self.in_order(NUMBERS)
        return self.sink.position == GOOD and [row["offset"] for row in self.sink.kept] == [GOOD]


class Skip(PoisonRecord):
    """The record is the next to be read, and is skipped."""

    name = "skip of a poison record"

    def ready(self, turn: int) -> None:
        del turn
        values, settings = [BROKEN, *rows(0, 5)], {**JSON, **KEYS_ARE_TEXT}
        self.poisoned = Poisoned.start(self.sandbox, self.creator, values, settings, position=0)

    def act(self, faults: Faults, by: Owner) -> None:
        self.poisoned = replace(self.sink, run=by.run)
        with ExitStack() as stack, self.creator.clients() as clients:
            self.sink.work(stack, clients=faults.clients(clients)).skip()

    def is_skipped(self) -> bool:
        return (self.sink.position or 0) > 0

    def is_done(self) -> bool:
        self.in_order(lines(0, 5))
        done = self.is_skipped() and [row["offset"] for row in self.sink.kept] == [0]
        if done:
            self.sink.wait_until_delivered(lines(0, 5))
        return done


class TestPoisonRecords(Generated):
    """It has its own configuration and runs, or has failed on that record; the next attempt ends what was begun."""

    rows = (Find, Skip)

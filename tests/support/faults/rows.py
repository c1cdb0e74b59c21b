"""The rows of the generated matrix: how an operation is made ready, made, settled, and what may be found afterwards."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from itertools import product
from typing import Any, ClassVar
from uuid import uuid4

import pytest

from airflow_provider_connect_offsets.saga.lease import Owner
from sandbox import Sandbox
from tests.support.faults.faulty_clients import CHANGES, Fault, Faults, Outage
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
        is_made_once: False if each attempt of a run makes it again.
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

    def leave(self) -> None:  # noqa: B027 - most change the same thing again and again
        """Remove what was made for one cell: a worker with a hundred connectors is slow."""

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


def owner() -> Owner:
    """A run of its own."""
    return Owner.here(run=f"test/{uuid4().hex}", task="apply")


def remove_made(sandbox: Sandbox) -> None:
    """Remove the connectors that cells have made."""
    for name in sandbox.connect.connectors():
        if name.startswith(("created-", "poisoned-")):
            sandbox.connect.delete(name)

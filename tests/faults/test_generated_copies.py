"""Every call that a copy or a rename of a connector makes is broken in turn; nothing is left in between."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar

import pytest

from airflow_provider_connect_offsets.cli import recovering
from airflow_provider_connect_offsets.connect.protocols import State
from airflow_provider_connect_offsets.saga import Toward
from airflow_provider_connect_offsets.saga.lease import Owner
from sandbox import Sandbox
from tests.support.faults.faulty_clients import Faults
from tests.support.faults.matrix import Generated
from tests.support.faults.rows import Row, remove_made
from tests.support.flows.copying import CopiedSink
from tests.support.flows.existence import NewSink
from tests.support.flows.flows import Changer

pytestmark = [pytest.mark.faults, pytest.mark.timeout(3600)]
Observed = tuple[bool, int | None]
GONE: Observed = (False, None)
THERE: Observed = (True, 15)


@dataclass
class Copied(Row):
    """A PAUSED sink at position 15, so that its state is checked as well, and its copy."""

    sandbox: Sandbox
    creator: Changer
    copied: CopiedSink | None = None

    share = 12
    renames: ClassVar[bool]

    @classmethod
    @contextmanager
    def opened(cls, request: pytest.FixtureRequest) -> Iterator[Copied]:
        yield cls(request.getfixturevalue("sandbox"), request.getfixturevalue("creator"))

    def ready(self, turn: int) -> None:
        del turn
        sink = NewSink.ready(self.sandbox, self.creator, state=State.PAUSED)
        sink.create()
        self.copied = CopiedSink.of(sink, rename=self.renames, stop_original=True)

    def act(self, faults: Faults, by: Owner) -> None:
        assert self.copied is not None
        with self.creator.clients() as clients:
            self.copied.copy(by, faults.clients(clients))

    def check(self, error: BaseException | None) -> None:
        """A copy may still have to be resumed by the next attempt, as the error says."""

    def is_done(self) -> bool:
        goal = (GONE if self.renames else THERE), THERE
        found, states = self.observed()
        assert found in {(THERE, GONE), goal}
        assert states == {State.PAUSED}
        return bool(found == goal)

    def leave(self) -> None:
        remove_made(self.sandbox)

    def recover(self, by: Owner) -> None:
        assert self.copied is not None
        where = {
            "workspace": self.creator.workspace,
            "connector": self.copied.how.connector,
            "url": self.creator.worker,
        }
        recovering.recover(**where, toward=Toward.BACK, run=by.run)

    def change_theirs(self) -> None:
        assert self.copied is not None
        self.sandbox.connect.delete(self.copied.how.new_name)

    def observed(self) -> Any:
        """Whether original and copy exist, where they resume, and the states of those that exist."""
        assert self.copied is not None
        copied, original = self.copied, self.copied.original
        names = {copied.how.connector, copied.how.new_name} & set(self.sandbox.connect.connectors())
        states = {str(self.sandbox.connect.status(name)["connector"]["state"]) for name in names}
        return ((original.exists, original.committed), (copied.exists, copied.committed)), states


class Copy(Copied):
    """Both exist in the end, or the original alone."""

    name = "copy of a connector that is stopped meanwhile"
    renames = False


class Rename(Copied):
    """The copy exists in the end, or the original."""

    name = "rename of a connector"
    renames = True


class TestCopies(Generated):
    """Original and copy are as before, or as requested; the next attempt ends what was begun."""

    rows = (Copy, Rename)

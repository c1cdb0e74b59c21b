"""Every call that a creation or a deletion of a connector makes is broken in turn; nothing is left in between."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import pytest

from airflow_provider_connect_offsets.cli import recovering
from airflow_provider_connect_offsets.connect.protocols import State
from airflow_provider_connect_offsets.operations.existence.configuring import configure
from airflow_provider_connect_offsets.saga import Toward
from airflow_provider_connect_offsets.saga.lease import Owner
from sandbox import wait_for
from tests.support.faults.faulty_clients import Faults
from tests.support.faults.matrix import Generated
from tests.support.faults.rows import Row, remove_made
from tests.support.flows.existence import NewSink
from tests.support.flows.flows import Changer

pytestmark = [pytest.mark.faults, pytest.mark.timeout(3600)]


@dataclass
class Existence(Row):
    """A sink at position 15, which exists or does not."""

    creator: Changer
    sink: NewSink

    there: ClassVar[bool]

    @classmethod
    @contextmanager
    def opened(cls, request: pytest.FixtureRequest) -> Iterator[Existence]:
        creator = request.getfixturevalue("creator")
        yield cls(creator, NewSink.ready(request.getfixturevalue("sandbox"), creator, state=State.STOPPED))

    def ready(self, turn: int) -> None:
        del turn
        self.sink = NewSink.ready(self.sink.sandbox, self.creator, state=State.STOPPED)
        if not self.there:
            self.sink.create()

    def act(self, faults: Faults, by: Owner) -> None:
        with self.creator.clients() as clients:
            if self.there:
                self.sink.create(by, faults.clients(clients))
            else:
                self.sink.delete(f"{self.creator.workspace}/{self.sink.new.name}.json", by, faults.clients(clients))

    def is_done(self) -> bool:
        assert self.observed() in {(True, 15), (False, None)}
        return self.sink.exists is self.there

    def leave(self) -> None:
        remove_made(self.sink.sandbox)

    def recover(self, by: Owner) -> None:
        where = {"workspace": self.creator.workspace, "connector": self.sink.new.name, "url": self.creator.worker}
        recovering.recover(**where, toward=Toward.BACK, run=by.run)

    def observed(self) -> Any:
        return self.sink.exists, self.sink.committed


class Creation(Existence):
    """It is there, at its offset, or nothing is left of it."""

    name = "creation of a connector"
    there = True

    def change_theirs(self) -> None:
        where = {"kafka_topic": self.sink.topic, "kafka_partition": 0}
        self.sink.sandbox.connect.alter(self.sink.new.name, [{"partition": where, "offset": {"kafka_offset": 3}}])


class Deletion(Existence):
    """It is gone with its offset, or is as it was."""

    name = "deletion of a connector"
    there = False

    def change_theirs(self) -> None:
        self.sink.sandbox.connect.create(self.sink.new.name, self.sink.new.config, initial_state="STOPPED")


@dataclass
class Settings(Existence):
    """It runs with two tasks and goes on where it was, or still has one."""

    name = "change of settings"
    there = True

    def ready(self, turn: int) -> None:
        del turn
        self.sink = NewSink.ready(self.sink.sandbox, self.creator)
        self.sink.create()

    def act(self, faults: Faults, by: Owner) -> None:
        with self.creator.clients() as clients:
            here = replace(faults.clients(clients), workspace=self.creator.workspace)
            configure(self.sink.new.name, {"tasks.max": "2", "errors.log.enable": "true"}, here, by)

    def is_done(self) -> bool:
        self.sink.sandbox.connect.wait_state(self.sink.new.name, "RUNNING")
        wait_for(self.sink.lines, [str(number) for number in range(15, 20)], 60, "it lacks records, or repeats some")
        assert self.observed() in {("1", None), ("2", "true")}
        return bool(self.observed() == ("2", "true"))

    def observed(self) -> Any:
        config = self.sink.sandbox.connect.config(self.sink.new.name)
        return config["tasks.max"], config.get("errors.log.enable")

    def change_theirs(self) -> None:
        config = self.sink.sandbox.connect.config(self.sink.new.name)
        self.sink.sandbox.connect.update_config(self.sink.new.name, {**config, "tasks.max": "3"})
        self.sink.sandbox.connect.wait_state(self.sink.new.name, "RUNNING", tasks=3)


class TestExistence(Generated):
    """The connector exists at its offset, or nothing is left of it; the next attempt ends what was begun."""

    rows = (Creation, Deletion, Settings)

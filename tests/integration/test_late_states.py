"""Connectors that were restored while their status is still STOPPED: a dead or busy worker reports it late."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from airflow_provider_connect_offsets.connect.protocols import ConnectorStatus, WriteReply
from airflow_provider_connect_offsets.observe.clients import Clients
from airflow_provider_connect_offsets.offsets.document import Offsets
from airflow_provider_connect_offsets.operations.connector import stepwise
from airflow_provider_connect_offsets.operations.connector.plans import read_plan
from airflow_provider_connect_offsets.operations.registry import make_registry
from airflow_provider_connect_offsets.saga import Toward, settle
from airflow_provider_connect_offsets.saga.journal import Journal
from airflow_provider_connect_offsets.saga.lease import Owner
from tests.support.flows.flows import RECORDS, Changer, SinkFlow

RUN = Owner.here(run="dag/run", task="take_back")
SET_TO, LATE = 7, 5


class LateStatus:
    """The real control of a connector, which answers some requests with the status from before."""

    def __init__(self, control: Any, before: ConnectorStatus) -> None:
        self._control, self._before, self.looks = control, before, 0

    def status(self, connector: str) -> ConnectorStatus:
        """That of before, so many times."""
        self.looks += 1
        status: ConnectorStatus = self._before if self.looks <= LATE else self._control.status(connector)
        return status

    def __getattr__(self, name: str) -> Any:
        return getattr(self._control, name)


class ResumedBetween:
    """The real offsets of a connector; someone writes others right after the first write, and resumes it."""

    def __init__(self, offsets: Any, sink: SinkFlow) -> None:
        self._offsets, self._sink, self._happened = offsets, sink, False

    def write_offsets(self, connector: str, changes: Offsets) -> WriteReply:
        """Write, and let it happen."""
        reply: WriteReply = self._offsets.write_offsets(connector, changes)
        if not self._happened:
            self._happened = True
            connect, where = self._sink.sandbox.connect, {"kafka_topic": self._sink.topic, "kafka_partition": 0}
            connect.alter(connector, [{"partition": where, "offset": {"kafka_offset": SET_TO + 1}}])
            connect.resume(connector)
            connect.wait_state(connector, "RUNNING", tasks=1)
        return reply

    def __getattr__(self, name: str) -> Any:
        return getattr(self._offsets, name)


def made(sink: SinkFlow, changer: Changer, clients: Clients) -> Journal:
    """Single steps up to the one that gives the connector back."""
    directory, _summary = changer.plan(sink.name, "offset", str(SET_TO))
    plan, journal = read_plan(directory), changer.journal(sink.name)
    stepwise.begin(plan, clients, RUN, seconds=3600)
    sink.sandbox.connect.stop(sink.name)
    stepwise.alter(plan, clients, RUN, seconds=3600)
    stepwise.read_back(journal.resource, clients, RUN, seconds=3600)
    return journal


def given_back(sink: SinkFlow, changer: Changer, clients: Clients, *, paused: bool) -> tuple[Journal, Clients]:
    """Single steps up to the resume; clients that observe the connector's state late from then on."""
    connect = sink.sandbox.connect
    if paused:
        connect.pause(sink.name)
        connect.wait_state(sink.name, "PAUSED")
    journal = made(sink, changer, clients)
    late: Any = LateStatus(clients.control, clients.control.status(sink.name))
    (connect.pause if paused else connect.resume)(sink.name)
    return journal, replace(clients, control=late)


@pytest.mark.parametrize("toward", Toward)
@pytest.mark.parametrize("paused", [False, True])
def test_it_counts_as_done(sink: SinkFlow, target_changer: Changer, toward: Toward, *, paused: bool) -> None:
    """Nothing can be undone any more, as Connect refuses to write; what was read back stays, and no time is lost."""
    written = len(sink.lines())
    with target_changer.clients() as clients:
        journal, late = given_back(sink, target_changer, clients, paused=paused)
        began = clients.clock.now()

        left = settle(journal, RUN, make_registry(late), toward=toward)

        assert clients.clock.now() - began < clients.timeout / 2
    state = "PAUSED" if paused else "RUNNING"
    assert left is not None
    assert left.sentence.endswith(f"was applied and read back; the connector is {state} again.")
    sink.sandbox.connect.wait_state(sink.name, state)
    assert journal.read_left() is None
    if paused:
        assert sink.position() == SET_TO
    else:
        sink.wait_until_caught_up()
        assert sink.lines()[written:] == [str(number) for number in range(SET_TO, RECORDS)]


def test_it_does_not_count_as_done_where_something_was_undone(sink: SinkFlow, target_changer: Changer) -> None:
    """Prior offsets were written, and then someone resumed it on others: what is stored is not the plan."""
    with target_changer.clients() as clients:
        journal = made(sink, target_changer, clients)
        between: Any = ResumedBetween(clients.offsets, sink)

        left = settle(journal, RUN, make_registry(replace(clients, offsets=between)))

    assert left is not None
    assert "applied and read back" not in left.sentence
    assert "someone else resumed the connector" in left.sentence
    assert journal.read_left() is None

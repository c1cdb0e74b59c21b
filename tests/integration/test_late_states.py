"""A connector was given back, and its status still says STOPPED: a worker that has died, or is busy, tells it late."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from flows import RECORDS, Changer, SinkFlow

from airflow_provider_connect_offsets.change import recovery, stepwise
from airflow_provider_connect_offsets.change.doors import Doors
from airflow_provider_connect_offsets.change.plans import read_plan
from airflow_provider_connect_offsets.saga.executor import Toward
from airflow_provider_connect_offsets.saga.journal import Journal
from airflow_provider_connect_offsets.saga.lease import Owner
from airflow_provider_connect_offsets.stores.protocols import ConnectorStatus

RUN = Owner.here(run="dag/run", task="take_back")
SET_TO, LATE = 7, 5


class LateStatus:
    """The real control of a connector, which for some looks tells the status that it had before."""

    def __init__(self, control: Any, before: ConnectorStatus) -> None:
        self._control, self._before, self.looks = control, before, 0

    def status(self, connector: str) -> ConnectorStatus:
        """That of before, so many times."""
        self.looks += 1
        told: ConnectorStatus = self._before if self.looks <= LATE else self._control.status(connector)
        return told

    def __getattr__(self, name: str) -> Any:
        return getattr(self._control, name)


def given_back(sink: SinkFlow, changer: Changer, doors: Doors, *, paused: bool) -> tuple[Journal, Doors]:
    """Single steps up to the request that gives the connector back; doors that see its state late from then on."""
    connect = sink.sandbox.connect
    if paused:
        connect.pause(sink.name)
        connect.wait_state(sink.name, "PAUSED")
    directory, _summary = changer.plan(sink.name, "offset", str(SET_TO))
    plan, journal = read_plan(directory), changer.journal(sink.name)
    stepwise.begin(plan, doors, journal, RUN, seconds=3600)
    connect.stop(sink.name)
    stepwise.alter(plan, doors, journal, RUN, seconds=3600)
    stepwise.read_back(doors, journal, RUN, seconds=3600)
    late: Any = LateStatus(doors.control, doors.control.status(sink.name))
    (connect.pause if paused else connect.resume)(sink.name)
    return journal, replace(doors, control=late)


@pytest.mark.parametrize("toward", Toward)
@pytest.mark.parametrize("paused", [False, True])
def test_it_counts_as_done(sink: SinkFlow, target_changer: Changer, toward: Toward, *, paused: bool) -> None:
    """Nothing can be undone any more, as Connect refuses to write; what was proved stands, and no time is lost."""
    written = len(sink.lines())
    with target_changer.doors() as doors:
        journal, late = given_back(sink, target_changer, doors, paused=paused)
        began = doors.clock.now()

        with journal.claim(RUN) as entry:
            told = recovery.recover(entry, toward, late)

        assert doors.clock.now() - began < doors.patience / 2
    state = "PAUSED" if paused else "RUNNING"
    assert told is not None
    assert told.endswith(f"was applied and proved; the connector is {state} again.")
    sink.sandbox.connect.wait_state(sink.name, state)
    assert journal.left() is None
    if paused:
        assert sink.position() == SET_TO
    else:
        sink.wait_until_caught_up()
        assert sink.lines()[written:] == [str(number) for number in range(SET_TO, RECORDS)]

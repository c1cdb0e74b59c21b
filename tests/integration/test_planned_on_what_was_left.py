"""Plans on offsets of a dead run, which are undone before the plan is applied."""

from __future__ import annotations

import pytest

from airflow_provider_connect_offsets.exceptions import Drift
from airflow_provider_connect_offsets.operations.connector import stepwise
from airflow_provider_connect_offsets.operations.connector.plans import read_plan
from airflow_provider_connect_offsets.saga.lease import Owner
from airflow_provider_connect_offsets.saga.record import SagaState
from tests.support.flows.flows import RECORDS, Changer, SinkFlow

DEAD = Owner.here(run="dag/dead", task="begin")
LEFT = 7


def leave(sink: SinkFlow, changer: Changer) -> None:
    """What a run leaves whose teardown has died before it wrote anything: STOPPED, on offsets that are to be undone."""
    directory, _summary = changer.plan(sink.name, "offset", str(LEFT))
    plan, journal = read_plan(directory), changer.journal(sink.name)
    with changer.clients() as clients:
        stepwise.begin(plan, clients, DEAD, seconds=3600)
        sink.sandbox.connect.stop(sink.name)
        stepwise.alter(plan, clients, DEAD, seconds=3600)
    with journal.claim(DEAD) as entry:
        entry.note(SagaState.BACK)
    assert sink.position() == LEFT


def test_a_plan_on_what_a_dead_run_left_is_refused_once_that_is_undone(sink: SinkFlow, target_changer: Changer) -> None:
    """The sink is not where it was to be, so its run must not say so; the next run does what was requested."""
    leave(sink, target_changer)
    run, summary = target_changer.plan(sink.name, "offset", str(LEFT))
    assert summary["errors"] == []
    written = len(sink.lines())

    with pytest.raises(Drift, match=r"Its plan was made from offsets that a dead run had left.* was undone: .*new run"):
        target_changer.apply(run)

    sink.sandbox.connect.wait_state(sink.name, "RUNNING", tasks=1)
    sink.wait_until_caught_up()
    assert len(sink.lines()) == written

    target_changer.change(sink.name, "offset", str(LEFT))

    sink.wait_until_caught_up()
    assert sink.lines()[written:] == [str(number) for number in range(LEFT, RECORDS)]


def test_a_plan_that_moves_it_elsewhere_is_applied(sink: SinkFlow, target_changer: Changer) -> None:
    """What a dead run has left is undone, and the plan is applied, as it does not rest on what was left."""
    leave(sink, target_changer)
    written = len(sink.lines())

    target_changer.change(sink.name, "offset", str(LEFT + 1))

    sink.wait_until_caught_up()
    assert sink.lines()[written:] == [str(number) for number in range(LEFT + 1, RECORDS)]

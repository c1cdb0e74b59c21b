"""Offsets changed without a plan: exclusive, prior offsets stored first, and restored on failure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from airflow_provider_connect_offsets.exceptions import InvalidRequest, Overlap
from airflow_provider_connect_offsets.offsets.document import Entry, Offsets
from airflow_provider_connect_offsets.operations.connector import direct
from airflow_provider_connect_offsets.operations.stages import steps
from airflow_provider_connect_offsets.operations.stages.captured import alteration_in
from airflow_provider_connect_offsets.saga.lease import Owner
from airflow_provider_connect_offsets.saga.record import SagaRecord, SagaState
from tests.support.flows.flows import RECORDS, Changer, SinkFlow

ME, OTHER = Owner.here(run="dag/me", task="alter"), Owner.here(run="dag/other", task="alter")


def to_seven(sink: SinkFlow) -> Offsets:
    return Offsets.of([Entry(f'{{"kafka_partition":0,"kafka_topic":"{sink.topic}"}}', '{"kafka_offset":7}')])


def positions(sink: SinkFlow) -> list[Any]:
    return sink.sandbox.connect.stored_offsets(sink.name)


def attempts(sink: SinkFlow, changer: Changer, owner: Owner) -> list[Callable[[Any], object]]:
    """Either way of changing them."""
    journal = changer.journal(sink.name)
    return [
        lambda clients: direct.alter(journal.resource, clients, owner, to_seven(sink)),
        lambda clients: direct.reset(journal.resource, clients, owner),
    ]


def test_two_runs_never_overlap(sink: SinkFlow, target_changer: Changer) -> None:
    """The second fails at once and names the first; nor may a run write anything but the plan that it has begun."""
    sink.sandbox.connect.stop(sink.name)
    journal = target_changer.journal(sink.name)
    with target_changer.clients() as clients:
        with journal.claim(OTHER):
            for attempt in attempts(sink, target_changer, ME):
                with pytest.raises(Overlap, match="being changed by run 'dag/other'"):
                    attempt(clients)
        with journal.claim(ME, keep=60):
            pass
        for attempt in attempts(sink, target_changer, ME):
            with pytest.raises(InvalidRequest, match=rf"this run has already begun a plan for '{sink.name}'"):
                attempt(clients)
    assert positions(sink) == [{"kafka_offset": RECORDS}]


@pytest.mark.parametrize("number", [0, 1])
def test_prior_offsets_are_journaled_before_the_write(
    sink: SinkFlow, target_changer: Changer, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """An interrupted run restores the prior offsets itself; after a killed run, the next run restores them."""
    sink.sandbox.connect.stop(sink.name)
    journal, prove, kept = target_changer.journal(sink.name), steps.prove, []

    def interrupted(*_arguments: Any) -> None:
        kept.append(journal.record(journal.newest_generation()))
        monkeypatch.setattr(steps, "prove", prove)
        raise KeyboardInterrupt

    monkeypatch.setattr(steps, "prove", interrupted)
    with target_changer.clients() as clients, pytest.raises(KeyboardInterrupt):
        attempts(sink, target_changer, ME)[number](clients)
    assert positions(sink) == [{"kafka_offset": RECORDS}]

    [record] = kept
    assert isinstance(record, SagaRecord)
    assert record.state is SagaState.FORWARD
    found = alteration_in(record)
    assert found is not None
    assert [entry.offset for entry in found.prior_offsets] == [f'{{"kafka_offset":{RECORDS}}}']

    with target_changer.clients() as clients:
        sink.sandbox.connect.alter(sink.name, [entry_of(sink, 3)])  # as the killed one has left it
        dead = journal._claim(Owner("dag/dead", "alter", "here", 0), 0)
        dead.write(replace(record, owner=dead.record.owner))
        journal._end_lease(dead.number, dead.record.owner, seconds=0)
        assert target_changer.alter(clients, sink.name, to_seven(sink)) == 1
    assert positions(sink) == [{"kafka_offset": 7}]
    settled = journal.record(dead.number)
    assert settled is not None
    assert settled.state is SagaState.UNDONE


def entry_of(sink: SinkFlow, position: int) -> dict[str, Any]:
    partition = {"kafka_topic": sink.topic, "kafka_partition": 0}
    return {"partition": partition, "offset": {"kafka_offset": position}}

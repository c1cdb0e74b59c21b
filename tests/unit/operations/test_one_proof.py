"""Each reading of offsets takes Strimzi's operator a pass while the connector is down: no more of them than needed."""

from __future__ import annotations

from typing import Any

import pytest

from airflow_provider_connect_offsets.clock import Clock
from airflow_provider_connect_offsets.connect.protocols import ConnectorStatus, State, WriteReply
from airflow_provider_connect_offsets.observe.clients import Clients, Origin
from airflow_provider_connect_offsets.offsets.document import Entry, Offsets
from airflow_provider_connect_offsets.operations.stages.captured import Alteration
from airflow_provider_connect_offsets.operations.stages.offset_stages import AlterOffsets
from airflow_provider_connect_offsets.saga import Found

PARTITION = '{"partition":0}'
BEFORE, AFTER, FOREIGN = (Offsets.of([Entry(PARTITION, f'{{"offset":{at}}}')]) for at in (5, 7, 9))
CAPTURED = Alteration(State.RUNNING, BEFORE, AFTER).as_json()


class Store:
    """The offsets of a STOPPED connector, and its control."""

    def __init__(self) -> None:
        self.offsets, self.reads, self.time = BEFORE, 0, 0.0

    def read_offsets(self, _connector: str) -> Offsets:
        self.reads += 1
        return self.offsets

    def write_offsets(self, _connector: str, changes: Offsets) -> WriteReply:
        self.offsets = self.offsets.with_changes(changes)
        return WriteReply("")

    def await_status(self, _connector: str, _until: object, **_how: object) -> ConnectorStatus:
        return ConnectorStatus(State.STOPPED, "worker")


def made(store: Any, origin: Origin) -> AlterOffsets:
    def sleep(seconds: float) -> None:
        store.time += seconds

    clock = Clock(now=lambda: store.time, sleep=sleep)
    stage = AlterOffsets("c", Clients(store, store, origin=origin, clock=clock))
    stage.do(CAPTURED)
    return stage


@pytest.mark.parametrize(("origin", "reads"), [(Origin.STRIMZI, 1), (Origin.REST, 2)])
def test_a_proof_by_the_operator_counts_for_the_check_that_follows(origin: Origin, reads: int) -> None:
    store = Store()
    assert made(store, origin).find(CAPTURED).found is Found.DONE
    assert store.reads == reads


def test_it_does_not_count_for_long() -> None:
    """Other connectors may have been changed meanwhile, for minutes."""
    store = Store()
    stage = made(store, Origin.STRIMZI)
    store.time, store.offsets = 6.0, FOREIGN
    assert stage.find(CAPTURED).found is Found.PARTIAL


def test_it_does_not_count_for_another_process() -> None:
    store = Store()
    made(store, Origin.STRIMZI)
    store.offsets = FOREIGN
    again: Any = store
    assert AlterOffsets("c", Clients(again, again, origin=Origin.STRIMZI)).find(CAPTURED).found is Found.PARTIAL


@pytest.mark.parametrize(
    ("origin", "stored", "reads"),
    [
        (Origin.STRIMZI, BEFORE, 1),
        (Origin.STRIMZI, Offsets(), 2),
        (Origin.REST, Offsets(), 1),
    ],
    ids=["it has one", "it has none", "over REST"],
)
def test_a_changed_partition_without_an_offset_is_looked_for_once_more(
    origin: Origin, stored: Offsets, reads: int
) -> None:
    """Over REST each reading asks twice."""

    class Plan:
        def changed_rows(self) -> list[Entry]:
            return [Entry(PARTITION, None)]

    store: Any = Store()
    store.offsets = stored
    plan: Any = Plan()
    assert AlterOffsets("c", Clients(store, store, origin=origin))._read_at_stop(plan) == stored
    assert store.reads == reads

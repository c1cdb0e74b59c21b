"""Each call of an import to Kafka is broken, with topics of two connectors.

One keeps its offsets in the workers' topic; the other has a topic of its own, and a second copy in the workers'.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import Any, cast
from uuid import uuid4

import pytest
from confluent_kafka import Producer

from airflow_provider_connect_offsets.connect.storage.topic_storage import TopicStorage, WorkerTopics
from airflow_provider_connect_offsets.exceptions import ConnectOffsetsError, LeftStopped
from airflow_provider_connect_offsets.kafka.brokers import Brokers
from airflow_provider_connect_offsets.kafka.topic_reader import TopicReader
from airflow_provider_connect_offsets.kafka.topic_writer import TopicWriter
from airflow_provider_connect_offsets.observe.clients import Clients
from airflow_provider_connect_offsets.offsets.document import Entry, Offsets
from airflow_provider_connect_offsets.operations.imports import Imports
from airflow_provider_connect_offsets.operations.registry import reached
from airflow_provider_connect_offsets.operations.stages.import_stages import StoredChange, read
from airflow_provider_connect_offsets.saga.lease import Owner
from sandbox import Sandbox
from tests.support.faults.fault_table import Ending, Note
from tests.support.faults.faulty_clients import CHANGES, Fault, Faults, Killed
from tests.support.faults.recovered_by import RecoveredBy

FAULTS: list[Fault] = [fault for fault in Fault if fault is not Fault.THEIRS]
pytestmark = pytest.mark.faults
SHARED, OWN, ELSE = "shared", "own", "else"
# Set, removed, new.
BEFORE = {"a": 4, "b": 8}
AFTER = {"a": 100, "c": 7}
SUCCESSORS = (RecoveredBy.RETRY, RecoveredBy.OTHER_RUN, RecoveredBy.PERSON)


def offsets(positions: dict[str, int], *, removed: tuple[str, ...] = ()) -> Offsets:
    """Offsets of files, by their names."""
    there = [Entry.of({"filename": name}, {"position": position}) for name, position in positions.items()]
    return Offsets.of([*there, *(Entry.of({"filename": name}, None) for name in removed)])


REQUESTED = offsets(AFTER, removed=("b",))


@dataclass(frozen=True)
class Case:
    """The topics of workers that are down, which are made ready anew for each cell."""

    storage: TopicStorage
    folder: str

    def prepare(self) -> None:
        """Write what is stored before, unless an earlier cell has left it so, as a producer takes a second."""
        if not len(self.storage.read_offsets(OWN)) or self.is_written():
            self.storage.write_all({name: offsets(BEFORE, removed=("c",)) for name in (SHARED, OWN)})

    @property
    def clients(self) -> Clients:
        """Of the storage; nothing starts or stops its workers."""
        return Clients(self.storage, cast("Any", None), cluster=self.storage.cluster())

    def imports(self, run: str, workspace: str) -> Imports:
        # Each is a process that is gone by the time when the next one comes.
        owner = replace(Owner.here(run=run, task="import"), started="gone")
        return Imports(replace(self.clients, workspace=workspace), owner, forced=True)

    def write(self, run: str, workspace: str, requested: dict[str, Offsets]) -> None:
        """As the shell does it."""
        self.imports(run, workspace).settle_left()
        stored_now = read(self.storage, list(requested))
        changes = [StoredChange(name, stored_now[name], changed) for name, changed in requested.items()]
        self.imports(run, workspace).write(changes, connectors=list(requested), keep=lambda: None)

    def write_ours(self, run: str, workspace: str) -> None:
        self.write(run, workspace, {SHARED: REQUESTED, OWN: REQUESTED})

    def is_written(self) -> bool:
        """Whether the document is stored, in the second copy too; fails unless that or what was before is."""
        stored_now = read(self.storage, [SHARED, OWN])
        copies = [stored_now[SHARED], stored_now[OWN], self.storage.second_copy(OWN)]
        found = {json.dumps(copy.stored(), sort_keys=True) for copy in copies}
        before, after = (json.dumps(offsets(one).stored(), sort_keys=True) for one in (BEFORE, AFTER))
        assert found in ({before}, {after})
        return found == {after}


@pytest.fixture(scope="module")
def case(sandbox: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Case:
    """One set of topics for all cells of this module."""
    name, client = f"imports-{uuid4().hex[:8]}", {"bootstrap.servers": sandbox.target.bootstrap}
    for topic in ("offsets", "configs", OWN):
        sandbox.target.create_topic(f"{name}-{topic}", partitions=1, config={"cleanup.policy": "compact"})
    producer, config = Producer(client), {"connector.class": "FileStreamSource"}
    for connector, more in ((SHARED, {}), (OWN, {"offsets.storage.topic": f"{name}-{OWN}"})):
        settings = json.dumps({"properties": {**config, **more}})
        producer.produce(f"{name}-configs", key=f"connector-{connector}", value=settings)
    assert producer.flush(30) == 0
    where = WorkerTopics(client, f"{name}-offsets", f"{name}-configs", group_id=name)
    return Case(TopicStorage(where), tmp_path_factory.mktemp("generated").as_uri())


@contextmanager
def broken(case: Case, faults: Faults, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let each call to Kafka pass through ``faults``, and each record of a journal."""
    calls: list[tuple[Any, str, str, Callable[..., Any]]] = [
        (Brokers, "cluster_id", "cluster_id", Brokers.cluster_id),
        (TopicReader, "records", "records", _whole(TopicReader.records)),
        (TopicWriter, "write", "write_offsets", TopicWriter.write),
    ]
    faults.registry = replace(reached(case.clients), forced=True)
    with faults.files(monkeypatch), monkeypatch.context() as patched:
        for owner, method, step, call in calls:
            patched.setattr(owner, method, _through(faults, step, call))
        yield


def _whole(records: Callable[..., Iterator[Any]]) -> Callable[..., Any]:
    return lambda *arguments: iter(list(records(*arguments)))


def _through(faults: Faults, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *arguments, **named: faults.call(name, partial(call, *arguments, **named))


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("every", [10, pytest.param(1, marks=pytest.mark.long)])
def test_broken_at_each_call(
    case: Case, note_generated: Note, monkeypatch: pytest.MonkeyPatch, fault: Fault, every: int
) -> None:
    """All of the document or nothing of it, in each topic; whoever imports it again has all of it.

    ``every``: which share of the cells.
    """
    counted = Faults()
    case.prepare()
    with broken(case, counted, monkeypatch):
        case.write_ours("clean", _elsewhere(case))
    numbers = [number for number, name in enumerate(counted.calls) if fault is not Fault.LATE or name in CHANGES]
    moments = list(product(numbers, (False,) if fault is Fault.LATE else (False, True)))
    first = FAULTS.index(fault) % min(every, len(moments))
    endings = set()
    for number, (at, after) in list(enumerate(moments))[first::every]:
        successor, faults = SUCCESSORS[number % len(SUCCESSORS)], Faults(fault, at, after)
        with faults.naming("import", successor):
            endings.add(_cell(case, faults, successor, monkeypatch))
    for ending in sorted(endings):
        note_generated(fault, "import", "topics", ending)


def _cell(case: Case, faults: Faults, successor: RecoveredBy, monkeypatch: pytest.MonkeyPatch) -> Ending:
    case.prepare()
    workspace, error = _elsewhere(case), None
    with broken(case, faults, monkeypatch):
        try:
            case.write_ours("first", workspace)
        except (Killed, SystemExit, ConnectOffsetsError) as raised:
            error = raised
        assert faults.happened
        faults.mend()
    assert not isinstance(error, LeftStopped)
    if not isinstance(error, Killed):
        assert case.is_written() is (error is None)
    if successor is RecoveredBy.RETRY:
        case.write_ours("again", workspace)
        assert case.is_written()
        return Ending.APPLIED if error is None else Ending.NEXT
    if successor is RecoveredBy.PERSON:
        case.imports("recover", workspace).settle_left()
    else:
        case.write("another", workspace, {ELSE: offsets({uuid4().hex: 2})})
    assert case.is_written() is (error is None)
    assert case.imports("next", workspace).settle_left() is None
    return Ending.APPLIED if error is None else Ending.RESTORED


def _elsewhere(case: Case) -> str:
    """A workspace, and so journals, of its own."""
    return f"{case.folder}/{uuid4().hex}"

"""Each call of an import to Kafka is broken, with topics of two connectors.

One keeps its offsets in the workers' topic; the other has a topic of its own, and a second copy in the workers'.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, cast
from uuid import uuid4

import pytest
from confluent_kafka import Producer

from airflow_provider_connect_offsets.connect.storage.storage_control import StorageControl
from airflow_provider_connect_offsets.connect.storage.topic_storage import TopicStorage, WorkerTopics
from airflow_provider_connect_offsets.exceptions import LeftStopped
from airflow_provider_connect_offsets.kafka.brokers import Brokers
from airflow_provider_connect_offsets.kafka.topic_reader import TopicReader
from airflow_provider_connect_offsets.kafka.topic_writer import TopicWriter
from airflow_provider_connect_offsets.observe.clients import Clients
from airflow_provider_connect_offsets.offsets.document import Entry, Offsets
from airflow_provider_connect_offsets.operations.imports import Imports
from airflow_provider_connect_offsets.operations.registry import make_registry
from airflow_provider_connect_offsets.operations.stages.import_stages import StoredChange, read
from airflow_provider_connect_offsets.saga.lease import Owner
from tests.support.faults.faulty_clients import Faults
from tests.support.faults.matrix import Generated
from tests.support.faults.recovered_by import RecoveredBy
from tests.support.faults.rows import Row

pytestmark = pytest.mark.faults
SHARED, OWN, ELSE = "shared", "own", "else"
# Set, removed, new.
BEFORE = {"a": 4, "b": 8}
AFTER = {"a": 100, "c": 7}


def offsets(positions: dict[str, int], *, removed: tuple[str, ...] = ()) -> Offsets:
    """Offsets of files, by their names."""
    there = [Entry.of({"filename": name}, {"position": position}) for name, position in positions.items()]
    return Offsets.of([*there, *(Entry.of({"filename": name}, None) for name in removed)])


REQUESTED = offsets(AFTER, removed=("b",))


@dataclass
class Import(Row):
    """Topics of workers that are down."""

    storage: TopicStorage
    folder: str
    monkeypatch: pytest.MonkeyPatch
    workspace: str = ""

    name = "import"
    kind = "topics"
    share = 10
    successors = (RecoveredBy.RETRY, RecoveredBy.OTHER_RUN, RecoveredBy.PERSON)
    is_made_once = False

    @classmethod
    @contextmanager
    def opened(cls, request: pytest.FixtureRequest) -> Iterator[Import]:
        sandbox, folder = request.getfixturevalue("sandbox"), request.getfixturevalue("tmp_path")
        name, client = f"imports-{uuid4().hex[:8]}", {"bootstrap.servers": sandbox.target.bootstrap}
        for topic in ("offsets", "configs", OWN):
            sandbox.target.create_topic(f"{name}-{topic}", partitions=1, config={"cleanup.policy": "compact"})
        producer, config = Producer(client), {"connector.class": "FileStreamSource"}
        for connector, more in ((SHARED, {}), (OWN, {"offsets.storage.topic": f"{name}-{OWN}"})):
            settings = json.dumps({"properties": {**config, **more}})
            producer.produce(f"{name}-configs", key=f"connector-{connector}", value=settings)
        assert producer.flush(30) == 0
        where = WorkerTopics(client, f"{name}-offsets", f"{name}-configs", group_id=name)
        yield cls(TopicStorage(where), folder.as_uri(), request.getfixturevalue("monkeypatch"))

    def ready(self, turn: int) -> None:
        """Write what is stored before, unless that is so, as a producer takes a second; with journals of its own."""
        del turn
        self.workspace = f"{self.folder}/{uuid4().hex}"
        if not len(self.storage.read_offsets(OWN)) or self.is_done():
            self.storage.write_all({name: offsets(BEFORE, removed=("c",)) for name in (SHARED, OWN)})

    @property
    def clients(self) -> Clients:
        """Of the storage; nothing starts or stops its workers."""
        control = StorageControl(self.storage, cast("Any", None), forced=True)
        return Clients(self.storage, control, cluster=self.storage.cluster(), workspace=self.workspace)

    def imports(self, run: str) -> Imports:
        # Each is a process that is gone by the time when the next one comes.
        return Imports(self.clients, replace(Owner.here(run=run, task="import"), started="gone"))

    def write(self, run: str, requested: dict[str, Offsets]) -> None:
        """As the shell does it."""
        self.imports(run).settle_left()
        stored_now = read(self.storage, list(requested))
        changes = [StoredChange(name, stored_now[name], changed) for name, changed in requested.items()]
        self.imports(run).write(changes, connectors=list(requested), keep=lambda: None)

    def act(self, faults: Faults, by: Owner) -> None:
        with broken(self, faults):
            self.write(by.run, {SHARED: REQUESTED, OWN: REQUESTED})

    def check(self, error: BaseException | None) -> None:
        assert not isinstance(error, LeftStopped)
        assert self.is_done() is (error is None)

    def is_done(self) -> bool:
        """Also in the second copy."""
        found = self.observed()
        before, after = (json.dumps(offsets(one).by_partition(), sort_keys=True) for one in (BEFORE, AFTER))
        assert found in ({before}, {after})
        return found == {after}

    def recover(self, by: Owner) -> None:
        self.imports(f"after {by.run}").settle_left()

    def come_next(self, by: Owner) -> None:
        self.write(f"after {by.run}", {ELSE: offsets({uuid4().hex: 2})})

    def change_theirs(self) -> None:
        """A worker goes on from there."""
        self.storage.write_all({SHARED: offsets({"a": 101})})

    def observed(self) -> set[str]:
        stored_now = read(self.storage, [SHARED, OWN])
        copies = [stored_now[SHARED], stored_now[OWN], self.storage.second_copy(OWN)]
        return {json.dumps(copy.by_partition(), sort_keys=True) for copy in copies}


@contextmanager
def broken(row: Import, faults: Faults) -> Iterator[None]:
    """Let each call to Kafka pass through ``faults``."""
    calls: list[tuple[Any, str, str, Callable[..., Any]]] = [
        (Brokers, "cluster_id", "cluster_id", Brokers.cluster_id),
        (TopicReader, "records", "records", _whole(TopicReader.records)),
        (TopicWriter, "write", "write_offsets", TopicWriter.write),
    ]
    faults.registry = make_registry(row.clients)
    with row.monkeypatch.context() as patched:
        for owner, method, step, call in calls:
            patched.setattr(owner, method, _through(faults, step, call))
        yield


def _whole(records: Callable[..., Iterator[Any]]) -> Callable[..., Any]:
    return lambda *arguments: iter(list(records(*arguments)))


def _through(faults: Faults, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *arguments, **named: faults.call(name, partial(call, *arguments, **named))


class TestImports(Generated):
    """All of the document or nothing of it, in each topic; whoever imports it again has all of it."""

    rows = (Import,)

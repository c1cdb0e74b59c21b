"""A snapshot of many connectors when some of them can't be read; these answers a real worker can't be made to give."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import pytest

from airflow_provider_connect_offsets.connect.protocols import (
    ConnectorControl,
    ConnectorInfo,
    ConnectorOverview,
    ConnectorStatus,
    State,
    WriteReply,
)
from airflow_provider_connect_offsets.connect.storage.standalone import StandaloneFile
from airflow_provider_connect_offsets.exceptions import (
    AccessDenied,
    NotReady,
    StoreDamaged,
    StoreError,
    UnknownConnector,
    Unreachable,
)
from airflow_provider_connect_offsets.observe.clients import Logs, Origin
from airflow_provider_connect_offsets.observe.cluster_snapshot import SnapshotClients, take_cluster_snapshot
from airflow_provider_connect_offsets.observe.many_offsets import AT_ONCE
from airflow_provider_connect_offsets.offsets.document import Entry, Offsets
from airflow_provider_connect_offsets.offsets.families import ConnectorType
from airflow_provider_connect_offsets.workspace import files
from airflow_provider_connect_offsets.workspace.datasets import read_dataset
from airflow_provider_connect_offsets.workspace.schemas import CONNECTOR_OFFSETS, LOG_BOUNDS
from airflow_provider_connect_offsets.workspace.series import read_record
from airflow_provider_connect_offsets.workspace.snapshots import SnapshotDirectory, SnapshotRecord
from tests.support.rows.made_up_cluster import AllSeen

NAMES = [f"sink-{number}" for number in range(20)]


class Worker:
    """Lists all connectors but ``new`` ones, and fails for some of them."""

    def __init__(self, failing: Mapping[str, Exception], new: str = "") -> None:
        self.failing, self.new = failing, new
        self.lock = threading.Lock()

    def overview(self) -> dict[str, ConnectorOverview]:
        return {name: ConnectorOverview(self.info(name), self.status(name)) for name in NAMES if name != self.new}

    def info(self, connector: str) -> ConnectorInfo:
        if connector not in NAMES:
            raise UnknownConnector(f"There is no connector {connector!r}.")
        return ConnectorInfo(connector, ConnectorType.SINK, {"connector.class": "Sink"})

    def status(self, connector: str) -> ConnectorStatus:
        del connector
        return ConnectorStatus(State.RUNNING, "worker")


class Store:
    """Reads offsets, and notices if two threads use it at once, or if a client of it stays open."""

    def __init__(self, worker: Worker) -> None:
        self.worker = worker
        self.lock = threading.Lock()
        self.others = self.open = 0

    @contextmanager
    def another(self) -> Iterator[Store]:
        self.others, self.open = self.others + 1, self.open + 1
        try:
            yield Store(self.worker)
        finally:
            self.open -= 1

    def write_offsets(self, connector: str, changes: Offsets) -> WriteReply:
        raise NotImplementedError(connector, changes)

    def reset_offsets(self, connector: str) -> WriteReply:
        raise NotImplementedError(connector)

    def read_offsets(self, connector: str) -> Offsets:
        assert self.lock.acquire(blocking=False)
        try:
            if connector in self.worker.failing:
                raise self.worker.failing[connector]
            return Offsets.of([Entry('{"kafka_partition":0,"kafka_topic":"orders"}', '{"kafka_offset":5}')])
        finally:
            self.lock.release()


class LostLogs(AllSeen):
    """Logs without a leader."""

    servers = "k:9092"

    def cluster_id(self) -> str:
        return "scripted"

    def topics(self) -> Mapping[str, int]:
        return {"orders": 1}

    def bounds(self, partitions: Any) -> Any:
        raise StoreError(f"Can't look up {partitions}: no leader.")


class Observation:
    """Takes a snapshot of a worker that is made up."""

    def __init__(self, path: Path) -> None:
        self.directory = SnapshotDirectory(path.as_uri())

    def take(self, worker: Worker, names: list[str], **logs: Any) -> SnapshotRecord:
        store = Store(worker)
        clients = SnapshotClients(
            control=cast("ConnectorControl", worker),
            offsets=store,
            logs=cast("Mapping[str, Logs]", logs),
            cluster="c",
            origin=Origin.REST,
        )
        try:
            return take_cluster_snapshot(names, clients, self.directory, run="dag/run")
        finally:
            assert (store.others, store.open) == (AT_ONCE - 1, 0)

    def connectors(self) -> list[str]:
        """The connectors that have offsets in it."""
        return sorted(row["connector"] for row in read_dataset(self.directory.connector_offsets, CONNECTOR_OFFSETS))


@pytest.fixture
def observation(tmp_path: Path) -> Observation:
    return Observation(tmp_path)


def test_what_can_not_be_read_is_named_and_the_rest_is_kept(observation: Observation) -> None:
    """Deleted while it was read, still starting, refused; one that Connect did not list yet is read by itself."""
    failing = {
        NAMES[3]: UnknownConnector("There is no connector 'sink-3'."),
        NAMES[4]: NotReady("It may still be starting."),
        NAMES[5]: AccessDenied("No."),
    }

    record = observation.take(Worker(failing, new=NAMES[0]), [*NAMES, "deleted"])

    assert record == read_record(observation.directory)
    assert record.vanished == (NAMES[3], "deleted")
    assert record.unread == {NAMES[4]: "It may still be starting.", NAMES[5]: "No."}
    assert (record.connectors, record.offsets) == (17, 17)
    assert observation.connectors() == sorted(set(NAMES) - failing.keys())


@pytest.mark.parametrize(
    ("failing", "raised"),
    [
        ({NAMES[7]: Unreachable("No worker answers.")}, Unreachable),
        (dict.fromkeys(NAMES, AccessDenied("No.")), AccessDenied),
    ],
    ids=["no worker answers", "all are refused"],
)
def test_without_a_worker_there_is_no_snapshot(
    observation: Observation, failing: Mapping[str, Exception], raised: type[Exception]
) -> None:
    """It is never taken for one in which everything has vanished."""
    with pytest.raises(raised):
        observation.take(Worker(failing), NAMES)

    assert not files.exists(observation.directory.record)


def test_logs_that_can_not_be_read_do_not_cost_the_positions(observation: Observation) -> None:
    """The record says why there are no ends."""
    record = observation.take(Worker({}), NAMES, sink=LostLogs())

    assert "no leader" in record.unread_logs["k:9092"]
    assert len(observation.connectors()) == len(NAMES)
    assert read_dataset(observation.directory.log_bounds, LOG_BOUNDS) == []


def test_a_storage_that_can_not_be_read_is_an_error_of_that_storage(observation: Observation, tmp_path: Path) -> None:
    """It is not raised as an error of the threads that read."""
    damaged = tmp_path / "connect.offsets"
    damaged.write_bytes(b"no offsets")
    clients = SnapshotClients(
        control=cast("ConnectorControl", Worker({})),
        offsets=StandaloneFile(damaged),
        logs={},
        cluster="c",
        origin=Origin.FILE,
    )

    with pytest.raises(StoreDamaged, match=r"connect\.offsets"):
        take_cluster_snapshot(NAMES, clients, observation.directory, run="dag/run")

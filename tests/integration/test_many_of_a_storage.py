"""Many connectors of an offsets topic are observed without reading the topic for each of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from uuid import uuid4

import pytest

from airflow_provider_connect_offsets.connect.rest.client import ConnectRest
from airflow_provider_connect_offsets.connect.rest.endpoint import ConnectEndpoint
from airflow_provider_connect_offsets.connect.storage.storage_control import StorageControl
from airflow_provider_connect_offsets.connect.storage.topic_storage import TopicStorage, WorkerTopics
from airflow_provider_connect_offsets.kafka.topic_reader import Progress, TopicReader, TopicRecord
from airflow_provider_connect_offsets.observe.clients import Clients, Origin
from airflow_provider_connect_offsets.observe.cluster_snapshot import SnapshotClients, take_cluster_snapshot
from airflow_provider_connect_offsets.observe.snapshot import take_snapshots
from airflow_provider_connect_offsets.offsets.document import Entry, Offsets
from airflow_provider_connect_offsets.workspace.layout import RunDirectory
from airflow_provider_connect_offsets.workspace.snapshots import SnapshotDirectory
from sandbox import Sandbox
from tests.support.rows.written import request_for

FEW, MANY = 5, 15


class Storage:
    """An offsets topic with connectors that no worker runs, and a count of how often it is read."""

    def __init__(self, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
        topic = f"offsets-{uuid4().hex[:8]}"
        sandbox.target.create_topic(topic, partitions=1, config={"cleanup.policy": "compact"})
        client = {"bootstrap.servers": sandbox.target.bootstrap}
        self.store = TopicStorage(WorkerTopics(client, topic, group_id=topic))
        self.control = StorageControl(
            self.store, lambda urls, timeout: ConnectRest(ConnectEndpoint(urls), timeout=timeout)
        )
        self.names = [f"lines-{number:02}" for number in range(MANY)]
        self.store.write_all({name: _offsets(number) for number, name in enumerate(self.names)})
        self.reads = 0
        records = TopicReader.records

        def counted(reader: TopicReader, progress: Progress | None = None) -> Iterator[TopicRecord]:
            self.reads += 1
            yield from records(reader, progress)

        monkeypatch.setattr(TopicReader, "records", counted)

    def keep(self, names: Sequence[str], directory: SnapshotDirectory) -> None:
        """Take a snapshot of connectors."""
        clients = SnapshotClients(control=self.control, offsets=self.store, logs={}, cluster="c", origin=Origin.TOPIC)
        record = take_cluster_snapshot(names, clients, directory, run="dag/run")
        assert (record.offsets, record.unread) == (len(names), {})

    def observe(self, names: Sequence[str], directory: SnapshotDirectory) -> None:
        """Observe connectors for the plans of their changes."""
        clients = Clients(offsets=self.store, control=self.control, origin=Origin.TOPIC, cluster="c")
        requests = [(RunDirectory(f"{directory.uri}/{name}"), request_for(name, to="clear")) for name in names]
        assert take_snapshots(requests, clients) == [1] * len(names)


def _offsets(number: int) -> Offsets:
    return Offsets.of([Entry('{"filename":"lines.txt"}', f'{{"position":{number}}}')])


@pytest.fixture
def storage(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> Storage:
    return Storage(sandbox, monkeypatch)


@pytest.mark.parametrize("read", [Storage.keep, Storage.observe])
def test_the_topic_is_read_as_often_for_many_as_for_few(
    storage: Storage, tmp_path: Path, read: Callable[[Storage, Sequence[str], SnapshotDirectory], None]
) -> None:
    """The offsets of all connectors are those of one moment."""
    reads = []
    for names in (storage.names[:FEW], storage.names):
        storage.reads = 0
        read(storage, names, SnapshotDirectory((tmp_path / str(len(names))).as_uri()))
        reads.append(storage.reads)

    assert reads[0] == reads[1] > 0

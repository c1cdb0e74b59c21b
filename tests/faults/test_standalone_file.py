"""A real standalone worker and its file: read like the worker, changed while it is down, and resumed from."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from uuid import uuid4

import pytest

from airflow_provider_connect_offsets.connect.storage.offsets_file import read_mappings
from airflow_provider_connect_offsets.connect.storage.standalone import StandaloneFile
from airflow_provider_connect_offsets.offsets.document import Entry, parse_map, parse_rest
from airflow_provider_connect_offsets.offsets.storage import key_bytes, value_bytes
from sandbox import ConnectWorker, Mode, Progress, Sandbox, wait_for, wait_until
from sandbox.connectors import file_source_config

pytestmark = pytest.mark.faults
LINES = ["one", "two", "three"]


@pytest.fixture
def worker(sandbox: Sandbox, tmp_path: Path) -> Iterator[ConnectWorker]:
    """A standalone worker whose file outlives its process."""
    settings = {"offset.storage.file.filename": str(tmp_path / "connect.offsets")}
    started = sandbox.another_cluster(f"alone-{uuid4().hex[:8]}", settings, mode=Mode.STANDALONE)
    yield started
    started.process.close()


def test_it_goes_on_from_what_was_written(sandbox: Sandbox, worker: ConnectWorker, tmp_path: Path) -> None:
    """The offset is the one that its API returned; moved back by two lines, just these are delivered again."""
    name, file = f"lines-{uuid4().hex[:8]}", sandbox.data / "alone.txt"
    file.write_text("".join(f"{line}\n" for line in LINES))
    sandbox.target.create_topic(name)
    config = file_source_config(name, file)

    def values() -> list[bytes | None]:
        return [record.value for record in sandbox.target.consume(name)]

    work: Progress = {"delivered": lambda: len(values()), **worker.work}
    worker.create(name, config)
    wait_for(partial(worker.stored_offsets, name), [{"position": 14}], 60, "nothing flushed", progress=work)
    returned = parse_rest({"offsets": worker.offsets(name)})
    worker.process.stop()
    store = StandaloneFile(tmp_path / "connect.offsets")
    assert store.connectors() == [name]
    assert store.read_offsets(name).by_partition() == returned.by_partition()
    [entry] = returned
    assert read_mappings(store.path) == {
        key_bytes(name, parse_map(entry.partition)): value_bytes(parse_map(entry.offset or "")),
    }

    store.write_offsets(name, parse_rest({"offsets": [Entry(entry.partition, '{"position":4}').as_json()]}))
    worker.process.start()
    worker.create(name, config)  # a standalone worker forgets what it got over REST

    wait_until(lambda: len(values()) >= 5, 60, "nothing was delivered again", progress=work)
    wait_for(partial(worker.stored_offsets, name), [{"position": 14}], 60, "nothing flushed", progress=work)
    assert values() == [line.encode() for line in [*LINES, *LINES[1:]]]

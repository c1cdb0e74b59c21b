"""Connectors resume where ``connect-offsets --import`` puts them, whatever kind of worker they run on."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from uuid import uuid4

import pytest
from confluent_kafka import KafkaException, Producer
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from airflow_provider_connect_offsets.connect.storage.offsets_topic import OffsetsTopic
from airflow_provider_connect_offsets.offsets.document import (
    Entry,
    JsonMap,
    Offsets,
    canonical_json,
)
from sandbox import Mode, Sandbox, wait_for, wait_until
from sandbox.connectors import file_source_config
from tests.support.flows.flows import RECORDS, MirrorFlow
from tests.support.programs.shell import Shell, shell
from tests.support.rows.json_maps import SMALL_MAPS


@pytest.fixture(name="run")
def _run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Shell:
    monkeypatch.chdir(tmp_path)  # where an import keeps the offsets of before
    return shell(monkeypatch, capsys)


@pytest.fixture(scope="module")
def topic_of_anything(sandbox: Sandbox) -> Iterator[OffsetsTopic]:
    """A topic that no worker reads."""
    name = f"anything-{uuid4().hex[:8]}"
    sandbox.target.create_topic(name, partitions=3, config={"cleanup.policy": "compact"})
    with OffsetsTopic({"bootstrap.servers": sandbox.target.bootstrap}, name) as topic:
        yield topic


def test_a_mirror_resumes_exactly_where_it_was(sandbox: Sandbox, mirror: MirrorFlow, run: Shell) -> None:
    """After an export, a reset and an import nothing is replicated again. A RUNNING mirror refuses imports."""
    config = sandbox.connect.settings
    exported = run("--export", "--config", config, "--connectors", mirror.name)
    moved = exported.out.replace(f'"offset":{RECORDS - 1}', '"offset":0')
    assert moved != exported.out
    refused = run("--import", "--config", config, stdin=moved)
    assert refused.code == 1
    assert f"Nothing was written: connector '{mirror.name}' is RUNNING" in refused.err
    sandbox.connect.stop(mirror.name)
    sandbox.connect.reset(mirror.name)
    before = mirror.target_ends()

    done = run("--import", "--config", config, stdin=exported.out)

    assert done.code == 0, done.err
    sandbox.source.produce(mirror.topic, ["0:new"], partition=0)
    sandbox.connect.resume(mirror.name)
    mirror.wait_until_caught_up()
    assert mirror.target_ends() == {**before, 0: before[0] + 1}


@pytest.mark.processes
def test_a_topic_of_a_connectors_own(sandbox: Sandbox, run: Shell, tmp_path: Path) -> None:
    """Exactly-once: its offsets are copied to it, and a removal, which Connect leaves half done, is whole.

    Both fence zombies. Without the copy the connector would begin anew.
    """
    group = f"once-{uuid4().hex[:8]}"
    worker = sandbox.another_cluster(group, {"exactly.once.source.support": "enabled"})
    name, own, file = f"lines-{uuid4().hex[:8]}", f"{group}-own", tmp_path / "lines.txt"
    file.write_text("one\ntwo\n")
    sandbox.target.create_topic(name)
    sandbox.target.create_topic(own, config={"cleanup.policy": "compact"})
    config = {**file_source_config(name, file), "exactly.once.support": "requested"}
    worker.create(name, config)
    wait_for(partial(worker.stored_offsets, name), [{"position": 8}], 60, "nothing flushed", progress=worker.work)
    worker.stop(name)
    zombie = Producer(
        {"bootstrap.servers": sandbox.target.bootstrap, "transactional.id": f"connect-cluster-{group}-{name}-0"}
    )
    zombie.init_transactions(30)
    zombie.begin_transaction()
    worker.update_config(name, {**config, "offsets.storage.topic": own})
    command = ("--config", worker.settings, "--connectors", name)

    copied = run("copy", *command)

    assert copied.code == 0, copied.err
    zombie.produce(own, "x", "y")
    with pytest.raises(KafkaException, match=r"fenced|epoch"):
        zombie.commit_transaction(30)
    zombie.purge()
    zombie.flush(30)
    wait_for(partial(worker.stored_offsets, name), [{"position": 8}], 60, "the worker does not see the copy")
    exported = json.loads(run("export", *command).out)
    assert [entry["offset"] for entry in exported[name]] == [{"position": 8}]

    removed = {name: [{**exported[name][0], "offset": None}]}
    done = run("import", *command, stdin=json.dumps(removed))

    assert done.code == 0, done.err
    wait_until(lambda: not any(worker.stored_offsets(name)), 60, "the worker still tells an offset")
    worker.resume(name)
    wait_for(lambda: len(sandbox.target.consume(name)), 4, 60, "it did not begin anew", progress=worker.work)
    worker.process.close()


@pytest.mark.processes
def test_a_standalone_file_is_gone_on_from(sandbox: Sandbox, run: Shell, tmp_path: Path) -> None:
    """Refused while its worker runs; exported and imported it means the same; set back, it delivers just that again."""
    name, file = f"alone-{uuid4().hex[:8]}", tmp_path / "lines.txt"
    stored = tmp_path / "connect.offsets"
    worker = sandbox.another_cluster(name, {"offset.storage.file.filename": str(stored)}, mode=Mode.STANDALONE)
    config = tmp_path / "worker.properties"
    config.write_text("".join(line for line in worker.settings.open() if not line.startswith("group.id")))
    file.write_text("one\ntwo\n")
    sandbox.target.create_topic(name)
    worker.create(name, file_source_config(name, file))
    wait_for(partial(worker.stored_offsets, name), [{"position": 8}], 60, "nothing flushed", progress=worker.work)
    exported = run("--export", "--config", config)
    set_back = exported.out.replace('"position":8', '"position":4')
    assert set_back != exported.out
    running = run("--import", "--config", config, stdin=set_back)
    assert (running.code, "a standalone worker" in running.err) == (1, True)
    worker.process.stop()
    as_it_was = stored.read_bytes()

    assert run("--import", "--config", config, "--dry-run", stdin=set_back).code == 0
    assert stored.read_bytes() == as_it_was
    assert run("--import", "--config", config, stdin=set_back).code == 0
    assert run("--import", "--config", config, stdin=exported.out).code == 0
    assert stored.read_bytes() == as_it_was  # one entry has one place in a map
    assert run("--import", "--config", config, stdin=set_back).code == 0

    worker.process.start()
    worker.create(name, file_source_config(name, file))
    wait_for(lambda: len(sandbox.target.consume(name)), 3, 60, "nothing was delivered again", progress=worker.work)
    assert [record.value for record in sandbox.target.consume(name)] == [b"one", b"two", b"two"]
    worker.process.close()


@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    offsets=st.lists(
        st.tuples(SMALL_MAPS, SMALL_MAPS), min_size=1, max_size=60, unique_by=lambda mapping: canonical_json(mapping[0])
    )
)
def test_whatever_is_written_to_a_topic_is_read(
    topic_of_anything: OffsetsTopic, offsets: list[tuple[JsonMap, JsonMap]]
) -> None:
    """Any map of primitives can be written to a real topic, read and removed."""
    requested = Offsets.of(Entry.of(partition, offset) for partition, offset in offsets)

    topic_of_anything.write_offsets("größe", requested)

    assert topic_of_anything.read_offsets("größe").by_partition() == requested.by_partition()
    topic_of_anything.reset_offsets("größe")
    assert topic_of_anything.read_offsets("größe") == Offsets()

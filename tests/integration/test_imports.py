"""Imports into a topic: one at a time, never during Airflow's changes; the rest of a killed one is undone."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from confluent_kafka import Producer

from airflow_provider_connect_offsets.connect.storage.offsets_topic import OffsetsTopic
from airflow_provider_connect_offsets.exceptions import Overlap
from airflow_provider_connect_offsets.hooks.clients import open_clients
from airflow_provider_connect_offsets.offsets.document import parse_kip199
from airflow_provider_connect_offsets.operations.orphans import orphans_journal
from airflow_provider_connect_offsets.operations.registry import journal_of
from airflow_provider_connect_offsets.parameters.connections import ConnectParams
from airflow_provider_connect_offsets.saga.journal import Journal
from airflow_provider_connect_offsets.saga.lease import Owner
from sandbox import Sandbox
from tests.support.programs.import_process import killed, started
from tests.support.programs.shell import Shell, shell

Document = dict[str, list[dict[str, Any]]]


def at(filename: str, position: int | None) -> dict[str, Any]:
    """An entry of a document."""
    return {"partition": {"filename": filename}, "offset": None if position is None else {"position": position}}


BEFORE: Document = {"lines": [at("a", 4), at("b", 8)], "other": [at("a", 1)]}
# Set, removed, new; the second connector was not there before.
REQUESTED: Document = {"lines": [at("a", 100), at("b", None), at("c", 7)], "new": [at("a", 5)]}
AFTER: Document = {"lines": [at("a", 100), at("c", 7)], "new": [at("a", 5)], "other": [at("a", 1)]}


@pytest.fixture(name="run")
def _run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Shell:
    monkeypatch.chdir(tmp_path)  # where an import keeps the offsets of before
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return shell(monkeypatch, capsys)


@pytest.fixture
def topic() -> str:
    return f"gone-{uuid4().hex[:8]}"


@pytest.fixture
def config(sandbox: Sandbox, topic: str, tmp_path: Path) -> Path:
    """The properties of workers that are down, whose topic has ``BEFORE``."""
    settings = {
        "bootstrap.servers": sandbox.target.bootstrap,
        "group.id": topic,
        "offset.storage.topic": topic,
        "config.storage.topic": f"{topic}-configs",
    }
    sandbox.target.create_topic(topic, partitions=3, config={"cleanup.policy": "compact"})
    sandbox.target.create_topic(f"{topic}-configs", partitions=1, config={"cleanup.policy": "compact"})
    path = tmp_path / "worker.properties"
    path.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
    with OffsetsTopic({"bootstrap.servers": sandbox.target.bootstrap}, topic) as stored:
        stored.write_all(parse_kip199(BEFORE))
    return path


@pytest.fixture
def document(tmp_path: Path) -> Path:
    path = tmp_path / "requested.json"
    path.write_text(json.dumps(REQUESTED))
    return path


def exported(run: Shell, config: Path) -> Document:
    """The offsets in the topic."""
    found: Document = json.loads(run("export", "--config", config).out)
    return found


@contextmanager
def under_way(config: Path, document: Path, *more: object) -> Iterator[subprocess.Popen[str]]:
    """An import that has written, and waits before it reads back; then it goes on to its end."""
    with started("waits", "after", "import", "--config", config, "--file", document, *more) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "waiting\n"
        try:
            yield process
        finally:
            _out, error = process.communicate()
        assert process.returncode == 0, error


@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("shared", [False, True], ids=["own place", "workspace"])
def test_the_next_import_takes_back_what_a_killed_one_has_written(
    run: Shell, config: Path, document: Path, tmp_path: Path, moment: str, *, shared: bool
) -> None:
    """Of whatever connectors the next one is; it says so, and does its own work."""
    place = ("--workspace", (tmp_path / "workspace").as_uri()) if shared else ()
    killed(moment, "import", "--config", config, "--file", document, *place)
    assert exported(run, config) == (AFTER if moment == "after" else BEFORE)

    dry = run("import", "--config", config, "--dry-run", *place, stdin=json.dumps({"other": [at("a", 2)]}))
    done = run("import", "--config", config, *place, stdin=json.dumps({"other": [at("a", 2)]}))

    assert (dry.code, "was undone" in dry.err) == (0, False)
    assert done.code == 0, done.err
    assert f"The import into topic '{config.read_text().split('group.id=')[1].split()[0]}' by run" in done.err
    assert "ended unfinished: what it had written was undone, and read back." in done.err
    assert exported(run, config) == {**BEFORE, "other": [at("a", 2)]}
    again = run("import", "--config", config, "--file", document, *place)
    assert (again.code, "ended unfinished" in again.err) == (0, False)
    assert exported(run, config) == {**AFTER, "other": [at("a", 2)]}


def test_the_same_import_again_completes(run: Shell, config: Path, document: Path) -> None:
    """As a person does who has lost their terminal."""
    killed("after", "import", "--config", config, "--file", document)

    again = run("import", "--config", config, "--file", document)

    assert (again.code, "was undone, and read back" in again.err) == (0, True)
    assert "To be changed: 4 offsets of 2 connectors." in again.err
    assert exported(run, config) == AFTER


def test_a_person_takes_it_back(run: Shell, config: Path, document: Path, topic: str) -> None:
    """No other import is needed: ``recover --list`` names it, and ``recover`` undoes it once."""
    killed("after", "import", "--config", config, "--file", document)

    listed = run("recover", "--list")
    done = run("recover", "--config", config)
    again = run("recover", "--config", config)

    assert listed.out.startswith(f"offsets topic {topic} (imports): the import into topic '{topic}' by run ")
    assert (done.code, "what it had written was undone, and read back." in done.err) == (0, True)
    assert exported(run, config) == BEFORE
    assert (again.code, again.err) == (0, f"No import into topic '{topic}' is unfinished.\n")
    assert "Nothing is unfinished" in run("recover", "--list").err


def test_two_imports_never_overlap(run: Shell, config: Path, document: Path) -> None:
    """Even an import of other connectors fails at once, names the first, and leaves nothing behind."""
    with under_way(config, document) as first:
        there = sorted(Path().iterdir())
        refused = run("import", "--config", config, stdin=json.dumps({"other": [at("a", 2)]}))
        recovered = run("recover", "--config", config)
        left = sorted(Path().iterdir())

    assert (refused.code, recovered.code) == (1, 1)
    for ended in (refused, recovered):
        assert f"is being changed by run 'connect-offsets import, process {first.pid} on " in ended.err
    assert left == there
    assert exported(run, config) == AFTER


@pytest.fixture
def workspace(sandbox: Sandbox, topic: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """That of an Airflow, whose connection ``stored`` leads to the topic."""
    uri = (tmp_path / "workspace").as_uri()
    monkeypatch.setenv("AIRFLOW__CONNECT_OFFSETS__WORKSPACE", uri)
    kafka = {"conn_type": "kafka", "extra": {"bootstrap.servers": sandbox.target.bootstrap}}
    extra = {"offsets_topic": topic, "storage_kafka_conn_id": "stored_kafka", "group_id": topic}
    monkeypatch.setenv("AIRFLOW_CONN_STORED_KAFKA", json.dumps(kafka))
    monkeypatch.setenv("AIRFLOW_CONN_STORED", json.dumps({"conn_type": "kafka_connect", "extra": extra}))
    return uri


def test_airflow_and_the_shell_keep_apart(
    sandbox: Sandbox, run: Shell, config: Path, document: Path, topic: str, workspace: str
) -> None:
    """On one workspace, whoever is second fails at once; after an import has died, a change says what to run."""
    call = ("import", "--config", config, "--file", document, "--workspace", workspace)
    task = Owner.here(run="dag/run", task="apply")
    with open_clients(ConnectParams(control="storage", connect_conn_id="stored"), None) as opened:
        journal = journal_of(opened, "lines")
    client = {"bootstrap.servers": sandbox.target.bootstrap}
    with OffsetsTopic(client, topic) as stored:
        removals = orphans_journal(replace(opened, topic=stored))

    for held in (journal, removals):
        with held.claim(task):
            refused = run(*call)
        assert (refused.code, "is being changed by run 'dag/run' (task apply)" in refused.err) == (1, True)
        assert list(Path().glob("connect-offsets-before-*")) == []
    assert exported(run, config) == BEFORE
    with under_way(config, document, "--workspace", workspace) as first:
        for held in (journal, removals):
            refuse(held, task, match=f"is being changed by run 'connect-offsets import, process {first.pid} on ")
    document.write_text(json.dumps({"lines": [at("a", 5)]}))
    killed("after", *call)
    for held in (journal, removals):
        refuse(held, task, match="the import into topic .* ended unfinished, .* Run it again with the same parameters")
    assert run("recover", "--config", config, "--workspace", workspace).code == 0
    assert exported(run, config) == AFTER
    with journal.claim(task) as entry:
        assert not entry.record.state.is_unfinished


def refuse(journal: Journal, task: Owner, *, match: str) -> None:
    """It can't be claimed."""
    with pytest.raises(Overlap, match=match), journal.claim(task):
        pass


def test_what_someone_else_has_written_since_is_left_alone(
    sandbox: Sandbox, run: Shell, config: Path, document: Path, topic: str
) -> None:
    """It is named; everything else that the dead import has written is undone."""
    killed("after", "import", "--config", config, "--file", document)
    producer = Producer({"bootstrap.servers": sandbox.target.bootstrap})
    [record] = _records(sandbox, topic, b'["new",{"filename":"a"}]')
    producer.produce(topic, key=record.key, value=b'{"position":6}', partition=record.partition)
    assert producer.flush(30) == 0

    done = run("recover", "--config", config)

    assert done.code == 0, done.err
    assert 'so they were left as they are: \'new\' {"filename":"a"}.' in done.err
    assert exported(run, config) == {**BEFORE, "new": [at("a", 6)]}


def _records(sandbox: Sandbox, topic: str, key: bytes) -> list[Any]:
    with OffsetsTopic({"bootstrap.servers": sandbox.target.bootstrap}, topic) as stored:
        return [record for record in stored.records() if record.key == key]


@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_removal_of_orphans_that_was_killed_is_finished_by_the_next(config: Path, run: Shell, moment: str) -> None:
    """The next removal finds no connector left; the backup made before the first tombstone is complete."""
    killed(moment, "orphans", "--config", config, "--remove", "--backup", "first.json")

    left = run("recover", "--list")
    ended = run("orphans", "--config", config, "--remove", "--backup", "second.json")

    assert "the removal of the orphaned offsets in" in left.out
    assert ended.code == 0, ended.err
    assert json.loads(Path("first.json").read_text()) == BEFORE
    assert json.loads(run("--export", "--config", config).out) == {}
    assert "Nothing is unfinished" in run("recover", "--list").err


def test_removals_of_orphans_take_turns(config: Path, run: Shell) -> None:
    """The second fails at once, names the first, and removes nothing."""
    with started("waits", "before", "orphans", "--config", config, "--remove") as first:
        assert first.stdout is not None
        while first.stdout.readline() != "waiting\n":
            assert first.poll() is None
        second = run("orphans", "--config", config, "--remove")
        assert (second.code, "is being changed by run 'connect-offsets orphans --remove" in second.err) == (1, True)
        _out, error = first.communicate()

    assert first.returncode == 0, error
    assert json.loads(run("--export", "--config", config).out) == {}

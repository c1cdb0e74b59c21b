"""``connect-offsets`` on real workers: exports equal the workers' answers, and imports can be undone."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO, Any
from uuid import uuid4

import pytest
from confluent_kafka import Producer

from airflow_provider_connect_offsets.cli import orphaned
from airflow_provider_connect_offsets.offsets.document import (
    parse_kip199,
    parse_rest,
)
from sandbox import ConnectWorker, Sandbox, wait_for
from sandbox.connectors import file_sink_config, file_source_config
from tests.support.programs.shell import Shell, shell

CONNECTORS, PARTITIONS, ROUNDS = 50, 100, 3


@pytest.fixture(name="run")
def _run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Shell:
    monkeypatch.chdir(tmp_path)  # where an import keeps the offsets of before
    return shell(monkeypatch, capsys)


@pytest.fixture(name="left")
def _left(sandbox: Sandbox, tmp_path: Path) -> Path:
    """The properties of workers that are gone, which have left offsets of connectors that don't exist."""
    name = f"left-{uuid4().hex[:8]}"
    settings = {
        "bootstrap.servers": sandbox.target.bootstrap,
        "group.id": name,
        "offset.storage.topic": f"{name}-offsets",
        "config.storage.topic": f"{name}-configs",
    }
    for topic in ("offsets", "configs"):
        sandbox.target.create_topic(f"{name}-{topic}", partitions=1, config={"cleanup.policy": "compact"})
    path = tmp_path / "left.properties"
    path.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
    for connector in ("again", "gone", "written"):
        produce(sandbox, f"{name}-offsets", f'["{connector}",{{"filename":"a"}}]', '{"position":1}')
    return path


def produce(sandbox: Sandbox, topic: str, key: str, value: str) -> None:
    """Write one record as it is."""
    producer = Producer({"bootstrap.servers": sandbox.target.bootstrap})
    producer.produce(topic, key=key.encode(), value=value.encode())
    assert producer.flush(30) == 0


@pytest.fixture(scope="module")
def crowd(sandbox: Sandbox) -> Iterator[ConnectWorker]:
    """A worker with 50 stopped connectors, 5,000 partitions, and each of them overwritten."""
    name = f"crowd-{uuid4().hex[:8]}"
    worker = sandbox.another_cluster(name)
    for number in range(CONNECTORS):
        connector = f"größe {number:02d}" if number % 10 == 0 else f"lines-{number:02d}"
        file = sandbox.data / f"{name}-{number}"
        worker.create(connector, file_source_config(name, file), initial_state="STOPPED")
        for written in range(ROUNDS):
            worker.alter(connector, [_at(number, partition, written) for partition in range(PARTITIONS)])
    yield worker
    worker.process.close()


def _at(connector: int, partition: int, written: int) -> dict[str, Any]:
    return {
        "partition": {"filename": f'file "{partition}" of {connector}'},
        "offset": {"position": 1000 * written + partition},
    }


def test_orphans_are_read_again_before_they_are_removed(
    sandbox: Sandbox, run: Shell, left: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What comes back, or is written, between the list and the tombstones is left alone, as by the DAG."""
    topic, print_found = left.read_text().split("offset.storage.topic=")[1].split("\n")[0], orphaned._print

    def and_meanwhile(found: orphaned.Orphans) -> None:
        print_found(found)
        produce(sandbox, topic, '["written",{"filename":"a"}]', '{"position":2}')
        configs = topic.replace("offsets", "configs")
        produce(sandbox, configs, "connector-again", '{"properties": {"connector.class": "FileStreamSource"}}')

    monkeypatch.setattr(orphaned, "_print", and_meanwhile)

    removed = run("orphans", "--config", left, "--remove", "--backup", "before.json")

    assert removed.code == 1
    assert "orphaned offsets of 1 of 3 connectors were removed" in removed.err
    assert "'again': it exists again." in removed.err
    assert "'written': one of its offsets was written after the search." in removed.err
    assert "Removed: 'gone'. To undo the removal, import before.json." in removed.err
    assert json.loads(Path("before.json").read_text()) == {
        "gone": [{"partition": {"filename": "a"}, "offset": {"position": 1}}]
    }
    assert json.loads(run("--export", "--config", left).out) == {
        "again": [{"partition": {"filename": "a"}, "offset": {"position": 1}}],
        "written": [{"partition": {"filename": "a"}, "offset": {"position": 2}}],
    }


def test_an_export_is_what_the_worker_has(crowd: ConnectWorker, sandbox: Sandbox, run: Shell, tmp_path: Path) -> None:
    """It has the offsets of each connector, in the same order each time, on standard output and in a file."""
    sandbox.target.produce(f"{_cluster(crowd)}-offset", ["1"], keys=["no key of a connector"])

    exported = run("--export", "--config", crowd.settings)

    assert exported.code == 0
    assert "Skipped 1 key in topic" in exported.err
    assert "Exported 5,000 offsets of 50 connectors" in exported.err
    document = parse_kip199(json.loads(exported.out))
    assert sorted(document) == crowd.connectors()
    for name, offsets in document.items():
        assert offsets.by_partition() == parse_rest({"offsets": crowd.offsets(name)}).by_partition()
    again = run("export", "--config", crowd.settings, "--file", tmp_path / "export.json")
    assert (again.code, again.out) == (0, "")
    assert (tmp_path / "export.json").read_text() == exported.out

    some = run("--export", "--config", crowd.settings, "--connectors", "lines-01, nobody")
    assert list(json.loads(some.out)) == ["lines-01"]
    assert "'nobody' has no offsets" in some.err


def test_from_the_beginning_every_change_is_printed(crowd: ConnectWorker, run: Shell) -> None:
    """In the order in which they were written, also those overwritten since."""
    shown = run("--export", "--config", crowd.settings, "--connectors", "lines-07", "--from-beginning")

    by_partition: dict[str, list[int]] = {}
    for entry in json.loads(shown.out)["lines-07"]:
        by_partition.setdefault(entry["partition"]["filename"], []).append(entry["offset"]["position"])
    assert by_partition == {
        f'file "{partition}" of 7': [1000 * written + partition for written in range(ROUNDS)]
        for partition in range(PARTITIONS)
    }


def test_an_import_can_be_undone(crowd: ConnectWorker, sandbox: Sandbox, run: Shell) -> None:
    """It sets, removes and leaves offsets alone; a dry run writes nothing; importing the kept document undoes it."""
    name, topic = "lines-03", f"{_cluster(crowd)}-offset"
    before, ends = crowd.offsets(name), sandbox.target.log_bounds(topic)
    changes = [
        {**_at(3, 0, 0), "offset": {"position": 7}},
        {**_at(3, 1, 0), "offset": None},
        {"partition": {"filename": "new"}, "offset": {"position": 1}},
        crowd.offsets(name)[-1],
    ]
    document = json.dumps({name: changes, "lines-04": [_at(4, 0, 9)]})
    call = ("--import", "--config", crowd.settings, "--connectors", name)

    dry = run(*call, "--dry-run", stdin=document)

    assert dry.code == 0
    assert f'{name}: {{"filename":"new"}}: None → {{"position":1}}' in dry.err
    assert "Nothing was written." in dry.err
    assert (sandbox.target.log_bounds(topic), list(Path().iterdir())) == (ends, [])

    done = run(*call, stdin=document)

    assert done.code == 0, done.err
    assert "To be changed: 3 offsets of 1 connector." in done.err
    expected = parse_rest({"offsets": before}).with_changes(parse_rest({"offsets": changes})).by_partition()
    wait_for(
        lambda: parse_rest({"offsets": crowd.offsets(name)}).by_partition(), expected, 60, "the worker does not see it"
    )
    [kept] = Path().iterdir()
    assert run("--import", "--config", crowd.settings, "--file", kept).code == 0
    wait_for(lambda: crowd.offsets(name), before, 60, "it was not undone")
    assert "Nothing was written" in run(*call, stdin=json.dumps({name: before})).err


def test_what_a_connector_would_not_take_is_refused(crowd: ConnectWorker, sandbox: Sandbox, run: Shell) -> None:
    """Before anything is written, also for the connectors before it; one that no longer exists takes anything."""
    ends = sandbox.target.log_bounds(f"{_cluster(crowd)}-offset")
    wrong = {"partition": {"filename": "a", "line": 1}, "offset": {"position": 1}}

    refused = run(
        "--import", "--config", crowd.settings, stdin=json.dumps({"lines-01": [_at(1, 0, 7)], "lines-02": [wrong]})
    )

    assert refused.code == 2
    assert "Nothing was written. Connector 'lines-02'" in refused.err
    assert "filename" in refused.err
    assert sandbox.target.log_bounds(f"{_cluster(crowd)}-offset") == ends
    crowd.create("drain", file_sink_config("anything", sandbox.data / "drain"), initial_state="STOPPED")
    sink = run("--import", "--config", crowd.settings, stdin=json.dumps({"drain": [_at(1, 0, 7)]}))
    crowd.delete("drain")
    assert (sink.code, "'drain' is a sink" in sink.err) == (2, True)
    assert run("--import", "--config", crowd.settings, stdin=json.dumps({"gone": [wrong]})).code == 0
    orphans = run("orphans", "--config", crowd.settings, "--remove")
    assert orphans.code == 0
    assert "gone" in orphans.out
    assert "lines-01" not in orphans.out
    assert "offsets of 0 deleted connectors" in run("orphans", "--config", crowd.settings).err


def test_a_bar_is_shown_on_a_terminal_only(crowd: ConnectWorker) -> None:
    """Standard output is the document alone either way."""
    command = [sys.executable, "-m", "airflow_provider_connect_offsets.cli", "--export"]
    command += ["--config", str(crowd.settings)]
    piped = subprocess.run(command, capture_output=True, text=True, check=True)
    terminal, side = pty.openpty()
    with (
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=side) as shown,
        os.fdopen(terminal, "rb", 0) as shown_there,
    ):
        os.close(side)
        heard: list[bytes] = []
        listening = threading.Thread(target=lambda: heard.append(_all_of(shown_there)))
        listening.start()
        document, _nothing = shown.communicate()
        listening.join()

    assert "Reading topic" not in piped.stderr
    assert b"Reading topic" in heard[0]
    assert document.decode() == piped.stdout


def _all_of(terminal: IO[bytes]) -> bytes:
    """Read until the other side is closed, which Linux reports as an error."""
    said = b""
    with suppress(OSError):
        while piece := terminal.read(4096):
            said += piece
    return said


def _cluster(worker: ConnectWorker) -> str:
    return worker.settings.parent.name

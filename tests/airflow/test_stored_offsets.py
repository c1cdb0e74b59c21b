"""Changes without a REST API: a dedicated MirrorMaker 2 and a standalone worker, by shell and by DAG."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from airflow_provider_connect_offsets.connect.storage.standalone import StandaloneFile
from airflow_provider_connect_offsets.workspace.outcome import Result
from sandbox import MirrorMaker, Mode, Sandbox, wait_for, wait_until
from sandbox.connectors import file_source_config
from tests.support.airflow.dag_runs import Ran

RunDag = Callable[..., Ran]
CONNECTOR = "MirrorSourceConnector"
RECORDS = 20


@dataclass(frozen=True)
class Dedicated:
    """A dedicated MirrorMaker 2 that replicates a topic of its own."""

    sandbox: Sandbox
    maker: MirrorMaker
    topic: str

    def replicated(self) -> list[bytes | None]:
        name = f"source.{self.topic}"
        if name not in self.sandbox.target.topics():
            return []
        return [record.value for record in self.sandbox.target.consume(name)]

    def wait_until_replicated(self, count: int) -> None:
        late, work = f"{count} records are not there", self.maker.process.work
        wait_for(lambda: len(self.replicated()), count, 60, late, progress=work)

    def exported(self) -> list[dict[str, Any]]:
        """Its offsets, as ``connect-offsets`` exports them."""
        ended = self.call("--export", "--connectors", CONNECTOR)
        stored = json.loads(ended.stdout).get(CONNECTOR, []) if ended.returncode == 0 else []
        # Others of the same aliases, that have run before, kept theirs in the same topic.
        return [entry for entry in stored if entry["partition"]["topic"] == self.topic]

    def wait_until_stored(self, offset: int) -> None:
        wait_for(lambda: [entry["offset"] for entry in self.exported()], [{"offset": offset}], 60, "nothing was stored")

    def call(self, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        """Call the command, as a shell does."""
        command = [sys.executable, "-m", "airflow_provider_connect_offsets.cli", *arguments]
        command += ["--config", str(self.maker.settings)]
        return subprocess.run(
            command, input=stdin, capture_output=True, text=True, check=False, cwd=self.maker.settings.parent
        )


@pytest.fixture(scope="module")
def dedicated(sandbox: Sandbox) -> Iterator[Dedicated]:
    """One that has replicated all, and stored where it is."""
    topic = f"dedicated-{uuid4().hex[:8]}"
    sandbox.source.create_topic(topic)
    sandbox.source.produce(topic, [f"{number}" for number in range(RECORDS)], partition=0)
    running = Dedicated(sandbox, sandbox.mirror_maker(topic), topic)
    running.wait_until_replicated(RECORDS)
    running.wait_until_stored(RECORDS - 1)
    yield running
    running.maker.process.close()


@pytest.mark.processes
def test_a_dedicated_mirror_maker_is_rewound(
    dedicated: Dedicated, run_dag: RunDag, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Refused while the process runs; stopped, changed and started, it replicates from the requested position."""
    storage = {
        "conn_type": "kafka_connect",
        "extra": {"offsets_topic": "mm2-offsets.source.internal", "storage_kafka_conn_id": "kafka_target"},
    }
    monkeypatch.setenv("AIRFLOW_CONN_DEDICATED", json.dumps(storage))
    requested = {"connector": CONNECTOR, "connect_conn_id": "dedicated", "kafka_conn_id": "kafka_source"}
    [entry] = dedicated.exported()
    rewound = json.dumps({CONNECTOR: [{**entry, "offset": {"offset": 14}}]})

    refused = dedicated.call("--import", stdin=rewound)

    assert (refused.returncode, f"'{CONNECTOR}' is RUNNING" in refused.stderr) == (1, True)
    assert dedicated.exported() == [entry]

    dedicated.maker.process.stop()
    wait_until(lambda: dedicated.call("--import", stdin=rewound).returncode == 0, 60, "it is still refused")
    ran = run_dag(to="offset", value="10", topics=dedicated.topic, control="storage", **requested)

    assert (ran.state, ran.outcome and ran.outcome.result) == ("success", Result.APPLIED)
    assert dedicated.exported() == [{**entry, "offset": {"offset": 9}}]
    dedicated.maker.process.start()
    dedicated.wait_until_replicated(RECORDS + 10)
    assert dedicated.replicated()[RECORDS:] == [b"%d" % number for number in range(10, RECORDS)]


@pytest.mark.processes
def test_a_standalone_worker_is_set_back(
    sandbox: Sandbox, run_dag: RunDag, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A list of offsets is written; refused while the worker answers at the connection's address."""
    name, stored = f"alone-{uuid4().hex[:8]}", tmp_path / "connect.offsets"
    worker = sandbox.another_cluster(name, {"offset.storage.file.filename": str(stored)}, mode=Mode.STANDALONE)
    try:
        lines = tmp_path / "lines.txt"
        lines.write_text("one\ntwo\n")
        sandbox.target.create_topic(name)
        worker.create(name, file_source_config(name, lines))
        wait_for(partial(worker.stored_offsets, name), [{"position": 8}], 60, "nothing flushed", progress=worker.work)
        host, _, port = worker.url.removeprefix("http://").partition(":")
        alone = {
            "conn_type": "kafka_connect",
            "host": host,
            "port": int(port),
            "extra": {"offsets_file": str(stored)},
        }
        monkeypatch.setenv("AIRFLOW_CONN_ALONE", json.dumps(alone))
        monkeypatch.setenv("AIRFLOW__CONNECT_OFFSETS__READABLE", tmp_path.as_uri())
        file = tmp_path / "requested.json"
        file.write_text(json.dumps({"offsets": [{"partition": {"filename": str(lines)}, "offset": {"position": 4}}]}))
        requested = {"connector": name, "connect_conn_id": "alone", "kafka_conn_id": "", "control": "storage"}

        refused = run_dag(to="file", value=file.as_uri(), **requested)
        fleet = {"connectors": name, "connect_conn_id": "alone", "kafka_conn_id": "", "control": "storage"}
        refused_fleet = run_dag("connector_offsets_fleet", to="file", value=file.as_uri(), **fleet)
        worker.process.stop()
        ran = run_dag(to="file", value=file.as_uri(), **requested)

        for one in (refused, refused_fleet):
            assert (one.state, "is RUNNING on a standalone worker" in one.output) == ("failed", True)
            assert (one.tasks["begin"], one.tasks["apply"]) == ("failed", "upstream_failed")
        assert (ran.state, ran.outcome and ran.outcome.result) == ("success", Result.APPLIED)
        [entry] = StandaloneFile(stored).read_offsets(name)
        assert entry.offset == '{"position":4}'
    finally:
        worker.process.close()


def test_a_connection_without_a_storage_is_named(run_dag: RunDag) -> None:
    """The run fails at its first task."""
    ran = run_dag(connector=CONNECTOR, to="earliest", control="storage")

    assert (ran.state, ran.tasks["snapshot"]) == ("failed", "failed")
    assert "'kafka_connect_default' must have exactly one storage" in ran.output

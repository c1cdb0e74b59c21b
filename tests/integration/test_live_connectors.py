"""Commands of ``connect-offsets`` that show real connectors and request their states."""

from __future__ import annotations

import csv
import io
import json
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from airflow_provider_connect_offsets.cli.live import commands
from airflow_provider_connect_offsets.offsets.document import parse_rest
from airflow_provider_connect_offsets.offsets.requests.request import Request
from airflow_provider_connect_offsets.operations.connector import stepwise
from airflow_provider_connect_offsets.operations.connector.plans import read_plan
from sandbox import Sandbox
from tests.support.airflow.dag_runs import params_of
from tests.support.flows.existence import owner
from tests.support.flows.flows import RECORDS, Changer, MirrorFlow, SinkFlow, world
from tests.support.programs.shell import Shell, shell


@pytest.fixture
def run(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Shell:
    """The command, for the sandbox's worker."""
    monkeypatch.setenv("CONNECT_OFFSETS_URL", sandbox.connect.url)
    return shell(monkeypatch, capsys)


@pytest.fixture
def failed(sandbox: Sandbox, tmp_path: Path) -> Iterator[str]:
    """A sink whose task fails until its directory exists."""
    name, topic = f"failed-{tmp_path.name}", f"topic-{tmp_path.name}"
    sandbox.target.create_topic(topic)
    config = {"connector.class": "FileStreamSink", "topics": topic, "file": str(tmp_path / "later" / "out.txt")}
    sandbox.connect.create(name, config)
    sandbox.connect.wait_state(name, "FAILED", tasks=1)
    yield name
    sandbox.connect.delete(name)


def test_the_list_has_each_connector(sink: SinkFlow, failed: str, run: Shell) -> None:
    """With its state and those of its tasks, in each format."""
    rows = {row["connector"]: row for row in json.loads(run("list", "--format", "json").out)}

    assert sorted(rows) == sink.sandbox.connect.connectors()
    assert (rows[sink.name]["type"], rows[sink.name]["state"], rows[sink.name]["tasks"]) == (
        "sink",
        "RUNNING",
        "1 RUNNING",
    )
    assert rows[failed]["tasks"] == "1 FAILED"
    table = run("list")
    assert (table.code, table.err) == (0, "")
    assert any(sink.name in line and "1 RUNNING" in line for line in table.out.splitlines())
    assert list(csv.DictReader(io.StringIO(run("list", "--format", "csv").out))) == list(rows.values())


def test_one_is_shown_with_its_offsets(sink: SinkFlow, failed: str, run: Shell) -> None:
    """Those that Connect has stored; and why a task failed."""
    shown = json.loads(run("show", sink.name, "--format", "json").out)

    stored = sink.sandbox.connect.offsets(sink.name)
    assert shown["offsets"] == stored
    [row] = csv.DictReader(io.StringIO(run("show", sink.name, "--format", "csv").out))
    assert {name: json.loads(text) for name, text in row.items()} == stored[0]
    assert [task["state"] for task in shown["tasks"]] == ["RUNNING"]
    table = run("show", failed).out
    assert f"{failed} is RUNNING (sink, FileStreamSink)" in table
    assert "later/out.txt" in table
    assert "It has no stored offsets." in table


def test_the_lag_of_several(sink: SinkFlow, mirror: MirrorFlow, run: Shell) -> None:
    """Records beyond the stored position, and how long the first of them has waited."""
    kafka = sink.sandbox.target.bootstrap
    sink.sandbox.connect.stop(sink.name)
    sink.sandbox.target.produce(sink.topic, [str(number) for number in range(7)])

    asked = run("lag", sink.name, "--kafka", kafka, "--format", "json")

    [row] = json.loads(asked.out)
    oldest = row.pop("oldest_seconds")
    assert row == {
        "connector": sink.name,
        "topic": sink.topic,
        "partition": 0,
        "position": RECORDS,
        "log_start": 0,
        "log_end": RECORDS + 7,
        "lag": 7,
    }
    assert 0 <= oldest < 600
    assert asked.err == "Left to read: 7 offsets in 1 of 1 partitions.\n"
    of_source = run("lag", mirror.name, "--kafka", sink.sandbox.source.bootstrap)
    assert "Left to read: 0 offsets in 0 of 2 partitions." in of_source.err
    assert of_source.out.count(mirror.topic) == 2


def test_what_a_storage_says(mirror: MirrorFlow, run: Shell) -> None:
    """A worker's properties suffice for the same answers about a source, whether or not workers run."""
    sandbox = mirror.sandbox
    config = ("--config", str(sandbox.workers[0].settings))
    rows = {row["connector"]: row for row in json.loads(run("list", *config, "--format", "json").out)}
    shown, asked = (json.loads(run("show", mirror.name, *how, "--format", "json").out) for how in (config, ()))
    lags = run("lag", mirror.name, "--kafka", sandbox.source.bootstrap, *config, "--format", "json")

    assert (rows[mirror.name]["type"], rows[mirror.name]["state"]) == ("source", "RUNNING")
    # Connect lists partitions in any order.
    by_storage, by_rest = (parse_rest({"offsets": one["offsets"]}).by_partition() for one in (shown, asked))
    assert by_storage == by_rest != {}
    assert len(shown["offsets"]) == len(asked["offsets"]) == len(by_rest)
    assert shown["class"] == asked["class"]
    assert [row["lag"] for row in json.loads(lags.out)] == [0] * len(shown["offsets"])


def test_states_are_requested_and_awaited(sink: SinkFlow, run: Shell) -> None:
    """When the command ends, the connector is there; each says what it was."""
    connect = sink.sandbox.connect

    assert run("stop", sink.name).err == f"{sink.name!r} was RUNNING and is STOPPED.\n"
    assert connect.status(sink.name)["connector"]["state"] == "STOPPED"
    assert run("resume", sink.name).err == f"{sink.name!r} was STOPPED and is RUNNING.\n"
    assert run("pause", sink.name).err == f"{sink.name!r} was RUNNING and is PAUSED.\n"
    assert [task["state"] for task in connect.status(sink.name)["tasks"]] == ["PAUSED"]


def test_what_has_failed_is_restarted(failed: str, run: Shell, tmp_path: Path, sandbox: Sandbox) -> None:
    """Nothing else, unless that is requested."""
    (tmp_path / "later").mkdir()

    assert run("restart", failed).err == (
        f"{failed!r} was restarted, and is RUNNING with 1 task. Before, 1 part had failed.\n"
    )
    sandbox.connect.wait_state(failed, "RUNNING", tasks=1)
    assert run("restart", failed).err == f"Nothing of {failed!r} had failed, so nothing was restarted.\n"
    assert "was restarted, and is RUNNING" in run("restart", failed, "--all").err


def test_no_state_is_changed_in_the_midst_of_a_run(sink: SinkFlow, target_changer: Changer, run: Shell) -> None:
    """The run's workspace says so."""
    with target_changer.clients() as clients:
        cluster, _also = clients.control.cluster_names()
    changer = replace(target_changer, cluster=cluster)  # as tasks name it
    directory, _summary = changer.plan(sink.name, "offset", "50")
    plan, mine = read_plan(directory), owner()
    before = world(sink.sandbox)
    with changer.clients() as clients:
        stepwise.begin(plan, clients, mine, seconds=60)

        refused = run("stop", sink.name, "--workspace", changer.workspace)

        before.assert_stands()
        stepwise.undo(plan, clients, mine)
    assert refused.code == 1
    assert f"{sink.name!r} is being changed by run {mine.run!r}" in refused.err


def test_a_protected_connector_is_left_alone(sink: SinkFlow, run: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the same option as for DAGs."""
    monkeypatch.setenv("AIRFLOW__CONNECT_OFFSETS__PROTECTED", f"connector={sink.name}")
    before = world(sink.sandbox)

    refused = run("stop", sink.name)

    before.assert_stands()
    assert refused.code == 2
    assert sink.name in refused.err


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["show", "no-such-connector"], 1, "no-such-connector"),
        (["stop", "no-such-connector"], 1, "no-such-connector"),
        (["lag", "orders"], 2, "Missing option '--kafka'"),
        (["lag", "--kafka", "localhost:1"], 2, "Missing argument 'CONNECTOR...'"),
        (["list", "--format", "yaml"], 2, "'yaml' is not one of 'table', 'json', 'csv'"),
        (["list", "--namespace", "kafka"], 2, "--namespace makes no sense without --strimzi-cluster"),
        (["list", "--flow", "A->B"], 2, "--flow makes no sense without --config"),
        (["list", "--config", __file__, "--url", "http://x:1"], 2, "so leave out --url and --strimzi-cluster"),
        (
            ["show", "orders", "--config", __file__, "--strimzi-cluster", "x"],
            2,
            "so leave out --url and --strimzi-cluster",
        ),
        (["list", "--config", "/no/such/file"], 2, "'/no/such/file' does not exist"),
    ],
    ids=str,
)
def test_bad_input(run: Shell, arguments: list[str], code: int, said: str) -> None:
    """One sentence, and nothing on standard output."""
    ended = run(*arguments)

    assert (ended.code, ended.out) == (code, "")
    assert said in ended.err


def test_a_plan_is_made_elsewhere(run: Shell) -> None:
    """What it says can be pasted into a shell, and is a request that the DAG takes."""
    ended = run("plan", "it's mine")

    assert ended.code == 2
    given = params_of(ended.err.strip().splitlines()[-1], "connector_offsets_change")
    assert given.pop("dry_run") is True
    assert Request.parse(**given, now=datetime.now(tz=UTC)).connector == "it's mine"


def test_no_cluster_is_named(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """It says how to name one."""
    monkeypatch.delenv("CONNECT_OFFSETS_URL", raising=False)

    ended = shell(monkeypatch, capsys)("list")

    assert ended.code == 2
    assert "Name the Connect cluster: --url, or --strimzi-cluster" in ended.err


def test_nobody_answers(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """A question does not wait as long as a change would."""
    monkeypatch.setattr(commands, "_TIMEOUT", 0.5)
    began = time.monotonic()

    ended = shell(monkeypatch, capsys)("list", "--url", "http://127.0.0.1:1")

    assert ended.code == 1
    assert "http://127.0.0.1:1" in ended.err
    assert time.monotonic() - began < 60

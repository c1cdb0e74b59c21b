"""Servers are stopped, killed, suspended and lost, the faults that the package must survive."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import psutil
import pytest
import requests

from sandbox import Sandbox, SandboxError, process, wait_until
from sandbox.broker import Broker
from sandbox.connectors import file_sink_config
from sandbox.worker import ConnectWorker

pytestmark = pytest.mark.processes
OWNER = """
import sys
from pathlib import Path
from sandbox import Sandbox

with Sandbox(root=Path(sys.argv[1])):
    print("ready", flush=True)
    sys.stdin.read()
"""


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    """A sandbox apart from the shared one, as its servers are maltreated."""
    with Sandbox(keep_logs=tmp_path_factory.mktemp("logs")) as sandbox:
        yield sandbox


def servers_in(root: Path) -> list[int]:
    """The Java processes that have something of ``root`` in their command line."""
    return [
        one.pid
        for one in psutil.process_iter(["name", "cmdline"])
        if one.info["name"] == "java" and any(str(root) in part for part in one.info["cmdline"] or ())
    ]


def test_a_killed_owner_leaves_nothing(tmp_path: Path) -> None:
    """A test run that is killed by SIGKILL leaves no Java and no file."""
    root = tmp_path / "root"
    with subprocess.Popen(
        [sys.executable, "-c", OWNER, str(root)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as owner:
        assert owner.stdout
        assert owner.stdout.readline() == b"ready\n"
        assert len(servers_in(root)) == 3

        owner.kill()

    wait_until(lambda: not servers_in(root), 60, "servers are left")
    wait_until(lambda: not root.exists(), 60, "files are left")


@pytest.mark.parametrize("end", ["stop", "kill"])
def test_a_broker_comes_back_with_its_records(own: Sandbox, end: str) -> None:
    """On the same port, whether it was stopped or killed."""
    topic, bootstrap = f"before-{end}", own.source.bootstrap
    own.source.create_topic(topic)
    own.source.produce(topic, ["a", "b"])

    getattr(own.source.process, end)()
    assert not own.source.process.is_alive
    assert not own.source.answers(timeout=0.5)
    own.source.process.start()

    assert own.source.bootstrap == bootstrap
    assert [record.value for record in own.source.consume(topic)] == [b"a", b"b"]


def test_a_suspended_broker_is_alive_but_silent(own: Sandbox) -> None:
    """It accepts connections, which is what makes such a fault nasty, and goes on where it stood."""
    own.source.process.suspend()
    assert own.source.process.is_alive
    assert not own.source.answers(timeout=0.5)

    own.source.process.unsuspend()

    wait_until(own.source.answers, 60, "the broker did not go on")


def test_a_worker_comes_back_with_its_connectors(own: Sandbox) -> None:
    """What it knows is in Kafka."""
    kept = f"kept-{uuid4().hex[:6]}"
    own.connect.create(kept, file_sink_config("none", own.data / "none.txt"), initial_state="STOPPED")
    url = own.connect.url

    own.connect.process.kill()
    with pytest.raises(requests.ConnectionError):
        own.connect.connectors()
    own.connect.process.start()

    assert own.connect.url == url
    assert kept in own.connect.connectors()
    own.connect.delete(kept)


def test_a_second_worker_shares_the_work(own: Sandbox) -> None:
    """It joins the same group, and takes over when the first is lost."""
    shared = f"shared-{uuid4().hex[:6]}"
    own.target.create_topic(shared)
    own.connect.create(shared, file_sink_config(shared, own.data / "shared.txt"))
    own.connect.wait_state(shared, "RUNNING", tasks=1)

    second = own.add_worker()
    assert shared in second.connectors()
    own.connect.process.stop()

    address = second.url.removeprefix("http://")
    wait_until(
        lambda: (
            {part["worker_id"] for part in (second.status(shared)["connector"], *second.status(shared)["tasks"])}
            == {address}
        ),
        60,
        "the second worker did not take over",
        progress=second.work,
    )
    second.wait_state(shared, "RUNNING", tasks=1)
    own.connect.process.start()
    second.process.stop()


def test_a_server_that_does_not_run_takes_no_orders(own: Sandbox) -> None:
    """A test that stops twice, or starts twice, has a mistake in it."""
    with pytest.raises(SandboxError, match="runs already"):
        own.source.process.start()
    never = Broker("never", own.root / "processes" / "never")
    with pytest.raises(SandboxError, match="broker never does not run"):
        never.process.kill()
    with pytest.raises(SandboxError, match="not started yet"):
        _ = never.bootstrap


def test_a_worker_that_ends_early_says_why(own: Sandbox) -> None:
    """The end of its log is in the error."""
    home = own.root / "processes" / "wrong"
    wrong = {"key.converter": "no.such.Converter"}
    worker = ConnectWorker("wrong", home, bootstrap=lambda: own.target.bootstrap, properties=wrong)

    with pytest.raises(SandboxError, match=r"(?s)worker wrong ended with \d before it was ready.*no\.such\.Converter"):
        worker.process.start()
    worker.process.close()


def test_a_lost_port_is_replaced(own: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    """If someone else binds the chosen port first, the server starts with other ports."""
    with socket.create_server(("127.0.0.1", 0)) as rival:
        taken: int = rival.getsockname()[1]
        chosen = process.free_ports(3)
        offers = iter([(taken, chosen[0]), chosen[1:], (taken,), chosen[:1]])
        monkeypatch.setattr(process, "free_ports", lambda _count: next(offers))
        broker = Broker("late", own.root / "processes" / "late")
        worker = ConnectWorker(
            "late", own.root / "processes" / "late-worker", bootstrap=lambda: own.target.bootstrap, properties={}
        )
        try:
            broker.process.start()
            worker.process.start()

            assert broker.process.ports == chosen[1:]
            assert worker.process.ports == chosen[:1]
            assert broker.answers()
        finally:
            broker.process.close()
            worker.process.close()


def test_free_ports_are_different() -> None:
    """Two servers never get the same."""
    assert len(set(process.free_ports(50))) == 50


def test_logs_are_kept_on_request(own: Sandbox) -> None:
    """There is one file for each server."""
    assert {path.name for path in own.keep_logs_now().iterdir()} >= {"source.log", "target.log", "connect.log"}


def test_a_failed_start_keeps_the_logs_and_leaves_nothing_else(tmp_path: Path) -> None:
    """Who reads a failed run finds what the servers said."""
    root, logs = tmp_path / "root", tmp_path / "logs"
    wrong = {"offset.storage.replication.factor": "none"}
    with (
        pytest.raises(SandboxError, match="before it was ready"),
        Sandbox(root=root, keep_logs=logs, worker_properties=wrong),
    ):
        pass

    assert "replication" in (logs / "connect.log").read_text()
    assert not root.exists()
    assert not servers_in(root)


def test_a_directory_with_something_in_it_is_refused(tmp_path: Path) -> None:
    """A sandbox deletes its root directory at the end, so it accepts only an empty one."""
    (tmp_path / "precious").touch()
    with pytest.raises(SandboxError, match="not empty"):
        Sandbox(root=tmp_path)

    assert (tmp_path / "precious").exists()

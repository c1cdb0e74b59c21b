"""Commands of ``connect-offsets`` that show a connector which Strimzi's operator runs, and request its states."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox import Sandbox
from sandbox.kubernetes import Release
from tests.support.flows.flows import SinkFlow
from tests.support.programs.shell import Shell, shell
from tests.support.strimzi.owned import Owned
from tests.support.strimzi.scene import Strimzi

pytestmark = [
    pytest.mark.kubernetes,
    pytest.mark.parametrize("release", [Release.V1], indirect=True, scope="session"),
]


@pytest.fixture(name="run")
def _run(strimzi: Strimzi, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Shell:
    """The command, with the kubeconfig of a user who has the rights of our Role."""
    monkeypatch.setenv("KUBECONFIG", str(strimzi.kubeconfig))
    return shell(monkeypatch, capsys)


@pytest.fixture
def sink(sandbox: Sandbox, owned: Owned) -> Iterator[SinkFlow]:
    flow = SinkFlow.start(sandbox, create=owned.create)
    yield flow
    owned.delete(flow.name)


@pytest.mark.parametrize("also_by_rest", [False, True], ids=["resources", "resources and REST"])
def test_it_is_shown_stopped_and_resumed(
    sink: SinkFlow, strimzi: Strimzi, run: Shell, tmp_path: Path, *, also_by_rest: bool
) -> None:
    """The resource is changed, so that Strimzi's operator does not undo what was requested."""
    assert strimzi.connect is not None
    reached = ["--strimzi-cluster", strimzi.connect_name, *(["--url", strimzi.connect.url] if also_by_rest else [])]
    to_change = [*reached, "--workspace", tmp_path.as_uri()]

    def requested() -> str | None:
        state: str | None = strimzi.read("KafkaConnector", sink.name)["spec"].get("state")
        return state

    listed = {row["connector"]: row for row in json.loads(run("list", *reached, "--format", "json").out)}
    shown = json.loads(run("show", sink.name, *reached, "--format", "json").out)
    assert listed[sink.name]["state"] == shown["state"] == "RUNNING"
    assert [task["state"] for task in shown["tasks"]] == ["RUNNING"]

    stopped = run("stop", sink.name, *to_change)
    assert (stopped.code, "STOPPED" in stopped.err, requested()) == (0, True, "stopped"), stopped.err
    sink.sandbox.connect.wait_state(sink.name, "STOPPED")

    resumed = run("resume", sink.name, *to_change)
    assert (resumed.code, "RUNNING" in resumed.err) == (0, True), resumed.err
    assert requested() in {None, "running"}
    sink.sandbox.connect.wait_state(sink.name, "RUNNING", tasks=1)

    restarted = run("restart", sink.name, "--all", *to_change)
    if also_by_rest:
        assert restarted.code == 0, restarted.err
    else:
        assert restarted.code == 1
        assert "Nothing was restarted" in restarted.err

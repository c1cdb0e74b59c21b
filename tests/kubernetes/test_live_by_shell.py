"""Commands of ``connect-offsets`` that show a connector which Strimzi's operator runs, and request its states."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sandbox.kubernetes import Release
from tests.support.programs.shell import Shell, shell
from tests.support.strimzi.scene import Strimzi
from tests.support.strimzi.strimzi_clients import plain

pytestmark = [
    pytest.mark.kubernetes,
    pytest.mark.parametrize("release", [Release.V1], indirect=True, scope="session"),
]


@pytest.fixture(name="run")
def _run(strimzi: Strimzi, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Shell:
    """The command, with the kubeconfig of a user who has the rights of our Role."""
    monkeypatch.setenv("KUBECONFIG", str(strimzi.kubeconfig))
    return shell(monkeypatch, capsys)


@pytest.mark.parametrize("also_by_rest", [False, True], ids=["resources", "resources and REST"])
def test_it_is_shown_stopped_and_resumed(strimzi: Strimzi, run: Shell, tmp_path: Path, *, also_by_rest: bool) -> None:
    """The resource is changed, so that Strimzi's operator does not undo what was requested."""
    assert strimzi.connect is not None
    reached = ["--strimzi-cluster", strimzi.connect_name, *(["--url", strimzi.connect.url] if also_by_rest else [])]
    to_change = [*reached, "--workspace", tmp_path.as_uri()]
    with plain(strimzi) as made:
        listed = {row["connector"]: row for row in json.loads(run("list", *reached, "--format", "json").out)}
        shown = json.loads(run("show", made.connector, *reached, "--format", "json").out)

        assert listed[made.connector]["state"] == shown["state"] == "RUNNING"
        assert [task["state"] for task in shown["tasks"]] == ["RUNNING"]

        stopped = run("stop", made.connector, *to_change)
        assert (stopped.code, "STOPPED" in stopped.err) == (0, True), stopped.err
        assert made.read()["spec"]["state"] == "stopped"
        assert strimzi.connect.status(made.connector)["connector"]["state"] == "STOPPED"

        resumed = run("resume", made.connector, *to_change)
        assert (resumed.code, "RUNNING" in resumed.err) == (0, True), resumed.err
        assert made.read()["spec"]["state"] == "running"
        restarted = run("restart", made.connector, "--all", *to_change)
        assert restarted.code == 0, restarted.err


def test_over_rest_alone_its_state_is_left_alone(strimzi: Strimzi, run: Shell, tmp_path: Path) -> None:
    """Strimzi's operator would undo it at its next reconciliation; the error names the option that is missing."""
    assert strimzi.connect is not None
    with plain(strimzi) as made:
        before = made.read()["spec"]

        refused = run("stop", made.connector, "--url", strimzi.connect.url, "--workspace", tmp_path.as_uri())

        assert refused.code == 1, refused.err
        assert "--strimzi-cluster" in refused.err
        assert made.read()["spec"] == before
        assert strimzi.connect.status(made.connector)["connector"]["state"] == "RUNNING"

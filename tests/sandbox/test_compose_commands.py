"""The sandbox's commands in docker-compose.yaml, on real servers: the scene, and health checks."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
import requests

from sandbox import Sandbox, wait_for
from sandbox.airflow import AirflowAt, AirflowStandalone
from sandbox.compose import main
from sandbox.scene import CHECKPOINTS, MIRROR, MIRRORED, SINK, TOPIC, Scene
from tests.support.programs.compose_file import health_check


@pytest.fixture
def scene(sandbox: Sandbox) -> Iterator[list[str]]:
    """The command with the sandbox's addresses; what it has made goes afterwards."""
    parts = {"source": sandbox.source.bootstrap, "target": sandbox.target.bootstrap, "connect": sandbox.connect.url}
    yield ["scene", *(f"--{name}={value}" for name, value in parts.items()), f"--data={sandbox.data}"]
    for name in {MIRROR, CHECKPOINTS, SINK} & set(sandbox.connect.connectors()):
        sandbox.connect.stop(name)
        sandbox.connect.reset(name)
        sandbox.connect.delete(name)
    for cluster, topic in ((sandbox.source, TOPIC), (sandbox.target, MIRRORED)):
        if topic in cluster.topics():
            cluster.delete_topic(topic)


def test_the_scene_is_set_once(sandbox: Sandbox, scene: list[str]) -> None:
    """An attempt that was broken off is completed; set again, it changes nothing that someone has done since."""
    sandbox.source.create_topic(TOPIC)
    sandbox.source.produce(TOPIC, ["half of it"])

    assert main(scene) == 0

    whole = Scene(sandbox)
    assert len(sandbox.source.consume(TOPIC)) == len(whole.readings) == len(whole.mirrored_records())
    assert sum(whole.written().values()) == len(whole.readings)
    for name in (MIRROR, CHECKPOINTS):  # what runs moves on by itself
        sandbox.connect.stop(name)
    before = whole.state()

    assert main(scene) == 0

    assert whole.state() == before
    assert len(sandbox.source.consume(TOPIC)) == len(whole.readings)


def test_a_worker_that_does_not_answer_is_named(
    scene: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The one-shot service fails, and with it `up --wait`."""
    monkeypatch.setattr("sandbox.compose._READY", 0.1)

    assert main([*scene, "--connect=http://127.0.0.1:9"]) == 1

    assert "Kafka Connect at http://127.0.0.1:9 does not answer" in capsys.readouterr().err


def test_the_health_check_of_the_worker_reads_its_answer(sandbox: Sandbox) -> None:
    """Healthy where the worker says so; not where nobody listens, or where another page answers with 404."""
    *bash, script = health_check("connect")
    port = sandbox.connect.url.rpartition(":")[2]
    assert "localhost/8083" in script
    here = script.replace("localhost/8083", f"127.0.0.1/{port}")
    for own, healthy in (
        (here, True),
        (here.replace(port, "9"), False),
        (here.replace("/health", "/nowhere"), False),
    ):
        done = subprocess.run([*bash, own], capture_output=True, check=False, timeout=60)
        assert (done.returncode == 0) is healthy, own


@pytest.mark.processes
def test_the_health_check_of_airflow_logs_in(sandbox: Sandbox, tmp_path: Path) -> None:
    """Healthy once the DAG is there, with the password that was generated; without one Airflow lets nobody in."""
    passwords = tmp_path / "passwords.json"
    own = {
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_ALL_ADMINS": "False",
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE": str(passwords),
    }
    with closing(AirflowStandalone(sandbox, workspace=tmp_path / "workspace", settings=own)) as airflow:
        airflow.start()
        # As in the file, but for the address and the folder.
        *python, command, _address, _passwords, dag = health_check("airflow")
        requested = [command, f"--airflow={airflow.url}", f"--passwords={passwords}"]
        assert python == ["python", "-m", "sandbox.compose"]

        wait_for(lambda: main([*requested, dag]), 0, 60, "it does not become healthy", progress=airflow.process.work)

        with pytest.raises(requests.HTTPError, match="403"):
            AirflowAt(airflow.url).has_dag("connector_offsets_change")
        assert main([*requested, "--dag=none_of_ours"]) == 1
        guessed = tmp_path / "guessed.json"
        guessed.write_text('{"admin": "guessed"}')
        assert main([*requested, f"--passwords={guessed}", dag]) == 1

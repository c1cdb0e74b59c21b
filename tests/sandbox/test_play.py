"""``make up`` starts, prints its instructions, and leaves no trace. Its UI is tested in tests/browser."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from sandbox import wait_until
from sandbox.scene import CHECKPOINTS, MIRROR, SINK
from tests.support.airflow.make_up import COMMAND, Playing, make_up
from tests.support.programs.output import read_to_end

pytestmark = pytest.mark.processes
DAG = "/dags/connector_offsets_change"


@pytest.fixture(scope="module")
def playing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Playing]:
    with make_up(tmp_path_factory.mktemp("play")) as started:
        yield started


def test_it_comes_up_and_explains_itself(playing: Playing) -> None:
    """Airflow is healthy and knows the DAG; the connectors work; a second one is refused."""
    wait_until(playing.airflow.is_healthy, 60, "a part of Airflow is not healthy")
    details = playing.airflow.call("GET", f"{DAG}/details")
    assert not details["is_paused"]
    assert playing.first_change().keys() <= details["params"].keys()
    for name in (MIRROR, SINK, CHECKPOINTS):
        assert name in playing.printed
        playing.connect.wait_state(name, "RUNNING", tasks=1)

    second = subprocess.run(COMMAND, cwd=playing.directory, capture_output=True, text=True, check=False)

    assert second.returncode == 1
    assert "already runs here" in second.stderr


def test_what_airflow_runs_by_itself_is_not_red(playing: Playing) -> None:
    """Every DAG with a schedule runs once right away, whether or not anyone has set it up."""
    dags = playing.airflow.call("GET", "/dags?limit=100")["dags"]
    scheduled = {dag["dag_id"] for dag in dags if dag["timetable_summary"]}

    def states() -> dict[str, str]:
        runs = playing.airflow.call("GET", "/dags/~/dagRuns?limit=100")["dag_runs"]
        return {run["dag_id"]: run["state"] for run in runs}

    def ended() -> bool:
        return states().keys() >= scheduled and {"queued", "running"}.isdisjoint(states().values())

    wait_until(ended, 240, "not every scheduled run has ended", progress={"runs": states}, interval=2)
    assert scheduled
    assert states() == dict.fromkeys(scheduled, "success")


def test_told_to_end_it_leaves_nothing(playing: Playing) -> None:
    """No process and no file is left. This test is the last of the module, as nothing is left to play with."""
    started = psutil.Process(playing.process.pid).children(recursive=True)
    root = Path(playing.match(r"topic to (\S+)/data/"))

    playing.process.send_signal(signal.SIGTERM)
    last = read_to_end(playing.process)

    assert playing.process.returncode == 0, last
    assert "Everything is stopped and its files are removed." in last
    assert psutil.wait_procs(started, timeout=60)[1] == []
    assert not root.exists()
    assert not (playing.directory / ".sandbox").exists()

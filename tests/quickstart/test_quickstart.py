"""Every command of docs/quickstart.md, in a fresh environment with the built wheel, on a real Connect worker."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from airflow_provider_connect_offsets.workspace.layout import RunDirectory
from airflow_provider_connect_offsets.workspace.outcome import Outcome
from sandbox import Sandbox, tree, wait_until
from sandbox.airflow import AirflowAt
from sandbox.connectors import file_sink_config

pytestmark = pytest.mark.quickstart

TOP = Path(__file__).parents[2]
PAGE = (TOP / "docs/quickstart.md").read_text()
DAG_ID = "connector_offsets_change"
SINK, RECORDS, BACK = "orders-sink", 25, 10
#: Set: install the newest versions of everything, as a plain ``pip install`` does, in place of the locked ones.
NEWEST = "NEWEST"
# What the page starts in a terminal of its own.
_IN_BACKGROUND = "airflow standalone"
_END = "end"
# The page names a pair of versions that fit; the newest pair is that of the client, whose releases come later.
_SPARK = "pyspark==4.0.0 pyspark-client==4.0.0"
_NEWEST_SPARK = """
client=$(python -c 'from importlib.metadata import version; print(version("pyspark-client"))')
pip install --quiet --force-reinstall --no-deps "pyspark==$client"
"""


@dataclass(frozen=True)
class Followed:
    """The page's commands in one shell, after the one in the background is up."""

    home: Path
    printed: str
    airflow: AirflowAt

    def runs(self) -> list[RunDirectory]:
        """Return the runs of the DAG, the earlier ones first."""
        folder = self.home / "airflow/connect_offsets" / DAG_ID
        runs = sorted((run for run in folder.iterdir() if run.is_dir()), key=lambda run: run.stat().st_ctime)
        return [RunDirectory(run.as_uri()) for run in runs]


@pytest.fixture(scope="module")
def sink(sandbox: Sandbox) -> Iterator[Path]:
    """The reader's connector, which has delivered all that there is; gives the file that it writes."""
    file = sandbox.data / "orders.txt"
    sandbox.target.create_topic("orders")
    sandbox.target.produce("orders", [str(number) for number in range(RECORDS)])
    sandbox.connect.create(SINK, file_sink_config("orders", file))
    work = sandbox.connect.work
    wait_until(lambda: _lines(file) == RECORDS, 60, "the sink has not delivered all records", progress=work)
    yield file
    sandbox.connect.delete(SINK)
    sandbox.target.delete_topic("orders")


def _lines(file: Path) -> int:
    return file.read_text().count("\n") if file.exists() else 0


@pytest.fixture(scope="module")
def followed(sandbox: Sandbox, sink: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Followed]:
    """Someone has followed the page up to its end."""
    del sink
    folder = tmp_path_factory.mktemp("quickstart")
    port = _free_port()
    environment = _environment(folder, port)
    script = folder / "page.sh"
    commands = [_command(block, sandbox) for block in _blocks()]
    script.write_text("\n".join(("set -euo pipefail", *commands, f"touch {folder / _END}", "wait")))
    variables, printed = folder / "environment.json", folder / "printed.txt"
    variables.write_text(json.dumps(environment))
    command: list[str | Path] = [sys.executable, "-P", str(tree.__file__), variables, "bash", script]
    with printed.open("w") as out:
        shell = subprocess.Popen(command, cwd=_clone(folder), env=environment, stdout=out, stderr=subprocess.STDOUT)
    try:
        _wait_for_the_end(shell, folder / _END, printed)
        yield Followed(Path(environment["HOME"]), printed.read_text(), AirflowAt(f"http://localhost:{port}"))
    finally:
        shell.terminate()  # tree ends all that was started
        shell.wait(timeout=60)


def _wait_for_the_end(shell: subprocess.Popen[bytes], end: Path, printed: Path) -> None:
    def reached() -> bool:
        assert shell.poll() is None, printed.read_text()[-5000:]
        return end.exists()

    wait_until(reached, 900, "not all commands of the page have ended", interval=0.5)


def _blocks() -> list[str]:
    return re.findall(r"^```sh\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)


def _command(block: str, sandbox: Sandbox) -> str:
    """Return the block as it is, but for the reader's own addresses, and for what runs until it is ended."""
    if block.startswith("CONNECT_HOST="):
        host, _, port = sandbox.connect.url.removeprefix("http://").partition(":")
        own = {"CONNECT_HOST": host, "CONNECT_PORT": port, "KAFKA": sandbox.target.bootstrap, "CONNECTOR": SINK}
        assert re.findall(r"(\w+)=", block) == list(own)
        return "\n".join(f"{name}={value}" for name, value in own.items())
    if block.strip() == _IN_BACKGROUND:
        return f"{_IN_BACKGROUND} > standalone.log 2>&1 &\n"
    return (
        block.replace(_SPARK, "pyspark-client") + _NEWEST_SPARK if os.environ.get(NEWEST) and _SPARK in block else block
    )


def _environment(folder: Path, port: int) -> dict[str, str]:
    """What a new user has: a home of their own, none of this package's variables, and a cache of pip."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("AIRFLOW", "PYTHON", "VIRTUAL"))}
    own = {
        "HOME": str(folder / "home"),
        "PATH": os.pathsep.join(part for part in os.environ["PATH"].split(os.pathsep) if ".venv" not in part),
        "PIP_CACHE_DIR": os.environ.get("PIP_CACHE_DIR", str(Path.home() / ".cache/pip")),
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "AIRFLOW__API__PORT": str(port),
        "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": f"http://localhost:{port}/execution/",
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_ALL_ADMINS": "True",
        "AIRFLOW__LOGGING__WORKER_LOG_SERVER_PORT": str(_free_port()),
        "AIRFLOW__LOGGING__TRIGGER_LOG_SERVER_PORT": str(_free_port()),
        "NO_COLOR": "1",
    }
    Path(own["HOME"]).mkdir()
    if not os.environ.get(NEWEST):
        own["PIP_CONSTRAINT"] = str(_locked(folder / "constraints.txt"))
    return {**kept, **own}


def _locked(path: Path) -> Path:
    """Write the locked versions without their hashes, which would be asked of the wheel, too."""
    lines = (TOP / "requirements.lock").read_text().splitlines()
    path.write_text("".join(f"{line.removesuffix(chr(92)).rstrip()}\n" for line in lines if re.match(r"\w", line)))
    return path


def _clone(folder: Path) -> Path:
    """Copy what a clone of this repository has."""
    listed = ["git", "ls-files", "-z"]
    names = subprocess.run(listed, cwd=TOP, capture_output=True, text=True, check=True).stdout
    clone = folder / "clone"
    for name in filter(None, names.split("\0")):
        if (TOP / name).is_file():
            (clone / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(TOP / name, clone / name)
    return clone


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("localhost", 0))
        return int(free.getsockname()[1])


def test_it_shows_what_the_page_says(followed: Followed) -> None:
    """The connections work, the DAG file has no errors, and both runs are a success."""
    assert followed.printed.count("Connection success!") == 2
    assert "No data found" in followed.printed
    assert followed.printed.count("state=success, run_type=manual") == 2
    assert re.search(r"^/.*/report\.html$", followed.printed, re.MULTILINE)
    assert _SPARK in PAGE
    assert "Exception" not in followed.printed


def test_the_dry_run_changes_nothing_and_the_change_is_made(followed: Followed, sink: Path) -> None:
    """Ten records are delivered again, once."""
    dry, change = followed.runs()

    outcome = Outcome.read(change.outcome)
    assert Outcome.read(dry.outcome) is None
    assert outcome
    assert outcome.result == "applied"
    wait_until(lambda: _lines(sink) == RECORDS + BACK, 60, f"{BACK} records were not delivered again")


def test_a_run_is_triggered_in_the_airflow_that_was_started(followed: Followed) -> None:
    """The DAG is no longer paused."""
    wait_until(followed.airflow.is_healthy, 120, "a part of Airflow is not healthy")
    conf = {"connector": SINK, "to": "shift", "value": "-1", "dry_run": True}
    run = followed.airflow.call("POST", f"/dags/{DAG_ID}/dagRuns", {"conf": conf, "logical_date": None})

    def state() -> str:
        return str(followed.airflow.call("GET", f"/dags/{DAG_ID}/dagRuns/{run['dag_run_id']}")["state"])

    wait_until(lambda: state() in {"success", "failed"}, 240, "the run has not ended", interval=1)
    assert state() == "success"

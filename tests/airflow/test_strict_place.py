"""A change in a strict place: what docs/security.md configures holds, and the change is made."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from uuid import uuid4

import pytest

from sandbox import Sandbox, wait_for
from sandbox.connectors import file_sink_config
from tests.support.airflow.dag_runs import Ran

RunDag = Callable[..., Ran]
RECORDS = 8
DAGS = Path(__file__).parent / "dags"


@pytest.fixture
def name(sandbox: Sandbox) -> Iterator[str]:
    """A sink that has delivered all records of a topic of its name."""
    name = f"orders-{uuid4().hex[:8]}"
    sandbox.target.create_topic(name, partitions=1)
    sandbox.target.produce(name, [str(number) for number in range(RECORDS)])
    sandbox.connect.create(name, file_sink_config(name, sandbox.data / f"{name}.txt"))
    wait_for(lambda: sandbox.connect.stored_offsets(name), [{"kafka_offset": RECORDS}], 60, "it has committed nothing")
    yield name
    sandbox.connect.delete(name)


@pytest.fixture
def strict(run_dag: RunDag, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunDag:
    """Runs the DAG in a place that is configured as the page says, but that nobody has to answer."""
    options = {
        "JOURNAL": (tmp_path / "journal").as_uri(),
        "AUDIT": (tmp_path / "audit").as_uri(),
        "JOURNAL_KEY": "a random text of 32 characters...",
        "PROTECTED": "payments-.* topic=ledger",
        "ALLOWED": "connector=orders-.*",
    }
    for option, value in options.items():
        monkeypatch.setenv(f"AIRFLOW__CONNECT_OFFSETS__{option}", value)
    return partial(run_dag, "strict_change", dags=DAGS)


def test_the_change_is_made(strict: RunDag, sandbox: Sandbox, name: str, tmp_path: Path) -> None:
    """The journal and the audit log are where they were configured to be, and signed; the shell verifies the latter."""
    ran = strict(connector=name, to="shift", value="-3")

    assert ran.state == "success", ran.output
    journals = list((tmp_path / "journal").rglob("*.record.json"))
    assert journals
    assert all(len(json.loads(file.read_text())["signature"]) == 64 for file in journals)
    assert not list((tmp_path / "workspace").rglob("*.lease.json"))
    assert not list((tmp_path / "workspace").glob("_audit"))
    command = [sys.executable, "-m", "airflow_provider_connect_offsets.cli", "audit"]
    where = ["--workspace", (tmp_path / "workspace").as_uri()]
    subprocess.run([*command, "verify", *where], check=True)
    listed = [*command, "list", *where, "--resource", name, "--format", "json"]
    records = json.loads(subprocess.run(listed, check=True, capture_output=True, text=True).stdout)
    assert [(one["event"], one["result"], one["run"]) for one in records[-2:]] == [
        ("begun", "forward", ran.run),
        ("ended", "done", ran.run),
    ]
    wait_for(
        lambda: sandbox.connect.stored_offsets(name), [{"kafka_offset": RECORDS}], 60, "it does not deliver them again"
    )


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"connector": "payments-sink"}, "connector 'payments-sink' is protected here"),
        ({"connector": "invoices-sink"}, "connector 'invoices-sink' may not be changed here"),
        ({"to": "query", "value": "SELECT 1"}, "to=query is disabled here"),
        ({"to": "file", "value": "file:///etc/passwd"}, "'file:///etc/passwd' may not be read here"),
        ({"to": "file", "value": "http://169.254.169.254/x.json"}, "may not be read here"),
    ],
)
def test_nothing_else_is(strict: RunDag, name: str, given: dict[str, str], message: str) -> None:
    """The first task refuses anything else in one sentence."""
    ran = strict(**{"connector": name, "to": "earliest", **given})

    assert ran.state == "failed"
    assert message in ran.output


def test_what_is_pinned_stays_so(strict: RunDag, name: str) -> None:
    """Airflow refuses the run."""
    with pytest.raises(Exception, match="another_connect"):
        strict(connector=name, to="earliest", connect_conn_id="another_connect")

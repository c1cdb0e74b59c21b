"""The DAG that skips the record on which a sink has failed, on a real sink."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_connect_offsets.operators.poison import ApprovePoisonSkipOperator
from airflow_provider_connect_offsets.report import PoisonedRecords
from airflow_provider_connect_offsets.workspace.layout import PoisonDirectory
from airflow_provider_connect_offsets.workspace.poison import PoisonOutcome, PoisonResult
from sandbox import Sandbox, wait_until
from tests.support.airflow.asset_events import asset_events
from tests.support.airflow.dag_runs import Ran
from tests.support.airflow.planted import without_planted
from tests.support.flows.flows import Changer
from tests.support.flows.poisoned import JSON, KEYS_ARE_TEXT, Poisoned, lines, rows

pytestmark = pytest.mark.jobs
RunDag = Callable[..., Ran]
# The tasks of a run that skips nothing.
HEALTHY = {**dict.fromkeys(("approve", "skip", "outcome"), "skipped"), "find": "success", "release": "success"}
BROKEN = '{"a|b": "<script>alert(1)</script> *bold*'


@pytest.fixture
def sink(sandbox: Sandbox, workspace: str) -> Iterator[Poisoned]:
    """A sink that has failed on a record with text that is dangerous to show."""
    spark: Any = None
    changer = Changer(spark, workspace, sandbox.connect.url, sandbox.target, str(sandbox.target.cluster_id()))
    found = Poisoned.start(sandbox, changer, [*rows(0, 2), BROKEN, *rows(2, 2)], {**JSON, **KEYS_ARE_TEXT}, position=0)
    yield found
    found.remove()


def test_a_run_skips_the_record_and_a_dry_run_names_it(sink: Poisoned, run_dag: RunDag) -> None:
    """Three tasks; the report shows the record's content as text; a third run has nothing to do."""
    given = {"connector": sink.name, "kafka_conn_id": "kafka_target"}
    before = sink.position, sink.settings

    tried = run_dag("connector_offsets_poison", dry_run=True, **given)

    assert (tried.state, _tasks(tried)) == ("success", HEALTHY)
    assert f"fails on topic '{sink.topic}', partition 0, offset 2 (VALUE_CONVERTER" in tried.output
    assert (sink.position, sink.settings, sink.state) == (*before, ["RUNNING", "FAILED"])

    done = run_dag("connector_offsets_poison", **given)

    assert (done.state, _tasks(done)) == ("success", dict.fromkeys(HEALTHY, "success"))
    sink.wait_until_delivered(lines(0, 4))
    assert without_planted(sink.settings) == sink.config
    [event] = asset_events(done.run).values()
    assert (event["kind"], event["name"], event["records"]) == ("records_skipped", sink.name, 1)
    records = PoisonedRecords.read(PoisonDirectory(done.directory.uri))
    [line] = records.lines
    assert (line.offset, line.standing, line.value) == (2, "skipped", BROKEN)
    report = Path(done.directory.report.removeprefix("file://")).read_text()
    assert "&lt;script&gt;" in report
    assert "<script>" not in report
    assert f"| {sink.topic} | 0 | 2 | VALUE\\_CONVERTER" in records.question()
    assert "script" not in records.question()

    again = run_dag("connector_offsets_poison", **given)

    assert (again.state, _tasks(again)) == ("success", HEALTHY)
    assert PoisonOutcome.read(again.directory.outcome).result is PoisonResult.HEALTHY


def test_a_rejection_is_recorded(sink: Poisoned, run_dag: RunDag) -> None:
    """The report says so, and the sink still fails on the record."""
    found = run_dag("connector_offsets_poison", dry_run=True, connector=sink.name, kafka_conn_id="kafka_target")
    summary = {"run_uri": found.directory.uri, "records": [], "connector": sink.name}

    ApprovePoisonSkipOperator(task_id="approve", summary=summary).record_rejection()

    assert PoisonOutcome.read(found.directory.outcome).result is PoisonResult.REJECTED
    assert "Rejected: nothing was skipped" in Path(found.directory.report.removeprefix("file://")).read_text()


def test_another_failure_fails_the_run(sandbox: Sandbox, sink: Poisoned, run_dag: RunDag) -> None:
    """No task looks like success, and the report says why."""
    sandbox.connect.update_config(sink.name, {**sink.config, "file": "/no/such/folder/file.txt"})
    late, work = "it has not failed on its file", sandbox.connect.work
    wait_until(lambda: "find or create file" in str(sandbox.connect.status(sink.name)), 30, late, progress=work)

    ran = run_dag("connector_offsets_poison", connector=sink.name, kafka_conn_id="kafka_target")

    assert (ran.state, _tasks(ran)["find"], _tasks(ran)["skip"]) == ("failed", "failed", "upstream_failed")
    assert PoisonOutcome.read(ran.directory.outcome).result is PoisonResult.FAILED
    assert "has not failed on converting or transforming a record" in ran.output


def _tasks(ran: Ran) -> dict[str, str]:
    return {name.removeprefix("poison."): state for name, state in ran.tasks.items()}

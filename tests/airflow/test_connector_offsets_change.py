"""``connector_offsets_change`` on real parts: applied and refused changes, and answers that were altered."""

from __future__ import annotations

import html
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_connect_offsets.workspace.outcome import Result
from sandbox import Sandbox
from tests.support.airflow.dag_runs import Ran, connections_in, params_of
from tests.support.flows.flows import MirrorFlow, SinkFlow, world
from tests.support.workers.altered_answers import altering_proxy, read_back_others

RunDag = Callable[..., Ran]


@pytest.fixture(scope="module")
def untouched(sandbox: Sandbox) -> Iterator[SinkFlow]:
    """A sink that all requests of this module leave alone, which request something impossible."""
    flow = SinkFlow.start(sandbox)
    yield flow
    sandbox.connect.delete(flow.name)


def test_a_dry_run_ends_after_the_plan(mirror: MirrorFlow, run_dag: RunDag) -> None:
    """Nothing is stopped; the report shows the plan."""
    before = world(mirror.sandbox)

    ran = run_dag(connector=mirror.name, to="earliest", kafka_conn_id="kafka_source", dry_run=True)

    assert ran.state == "success"
    assert ran.tasks["approve"] == ran.tasks["begin"] == ran.tasks["apply"] == "skipped"
    before.assert_stands()
    assert ran.outcome is None


def test_a_read_back_that_disagrees_fails_task_and_run(
    sandbox: Sandbox, sink: SinkFlow, run_dag: RunDag, workspace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Prior offsets and state are back; nothing of the run looks like success. The journal names the connections."""
    before = world(sandbox)
    with altering_proxy(sandbox.connect.url, read_back_others(times=1)) as url:
        host, _, port = url.removeprefix("http://").partition(":")
        lied_to = {"conn_type": "kafka_connect", "schema": "http", "host": host, "port": int(port)}
        monkeypatch.setenv("AIRFLOW_CONN_LYING", json.dumps(lied_to))

        ran = run_dag(connector=sink.name, to="shift", value="-5", connect_conn_id="lying")

    assert ran.state == "failed"
    assert (ran.tasks["apply"], ran.tasks["restore"], ran.tasks["outcome"]) == ("failed", "success", "upstream_failed")
    before.assert_stands()
    assert ran.outcome is not None
    assert ran.outcome.result is Result.RESTORED
    assert "was not applied" in ran.output
    assert connections_in(workspace, sink.name) == {"connect_conn_id=lying", "kafka_conn_id=kafka_default"}


@pytest.mark.parametrize(
    ("params", "sentence"),
    [
        ({"to": "offset", "value": ""}, "to=offset needs a value: a position, 0 or greater"),
        ({"to": "earliest", "value": "3"}, "to=earliest takes no value, but '3' was given"),
        ({"to": "datetime", "value": "yesterday"}, "the value 'yesterday' is not an ISO 8601 date and time"),
        ({"to": "datetime", "value": "2026-01-31T03:00:00"}, "with its offset from UTC"),
        ({"to": "earliest", "topics": "a("}, "topics: 'a(' is not a regular expression"),
        ({"to": "earliest", "partitions": "3-"}, "partitions: '3-' in '3-' is neither a number nor a range"),
        ({"connector": "no-such-connector", "to": "earliest"}, "no-such-connector"),
        ({"to": "earliest", "connect_conn_id": "nowhere"}, "There is no Airflow connection 'nowhere'"),
        ({"to": "earliest", "kafka_conn_id": "nowhere"}, "There is no Airflow connection 'nowhere'"),
        ({"to": "earliest", "kafka_conn_id": ""}, "kafka_conn_id must name the cluster"),
    ],
)
def test_bad_input_is_one_sentence_and_touches_nothing(
    untouched: SinkFlow, run_dag: RunDag, params: dict[str, Any], sentence: str
) -> None:
    """The run fails at its first task."""
    before = world(untouched.sandbox)

    ran = run_dag(**{"connector": untouched.name, **params})

    assert (ran.state, ran.tasks["snapshot"], ran.tasks["plan"]) == ("failed", "failed", "upstream_failed")
    assert sentence in ran.output
    before.assert_stands()


def test_a_missing_spark_connection_is_named_and_nothing_goes_to_yarn(untouched: SinkFlow, run_dag: RunDag) -> None:
    """The Spark hook itself would fall back to YARN."""
    ran = run_dag(connector=untouched.name, to="earliest", spark_conn_id="nowhere")

    assert (ran.state, ran.tasks["plan"]) == ("failed", "failed")
    assert "There is no Airflow connection 'nowhere'. Add it" in ran.output
    assert "--master" not in ran.output


def test_an_applied_change_is_undone_by_its_command(sink: SinkFlow, run_dag: RunDag, sandbox: Sandbox) -> None:
    """The report shows it; the undo has one as well, also of an offset that was not there."""
    sandbox.connect.stop(sink.name)
    sandbox.connect.wait_state(sink.name, "STOPPED")
    before = sandbox.connect.stored_offsets(sink.name)

    cleared = run_dag(connector=sink.name, to="clear")
    assert (cleared.state, sandbox.connect.stored_offsets(sink.name)) == ("success", [])
    undone = run_dag(**undo_of(cleared))
    assert (undone.state, sandbox.connect.stored_offsets(sink.name)) == ("success", before)
    again = run_dag(**undo_of(undone))

    assert (again.state, sandbox.connect.stored_offsets(sink.name)) == ("success", [])


def undo_of(ran: Ran) -> dict[str, Any]:
    """The Params of the command that the report of a run shows."""
    assert ran.outcome is not None
    report = Path(ran.directory.report.removeprefix("file://")).read_text()
    assert ran.outcome.undo in html.unescape(report)
    return params_of(ran.outcome.undo, "connector_offsets_change")

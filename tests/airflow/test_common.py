"""What all operators have in common."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from airflow_provider_connect_offsets.connect.protocols import State
from airflow_provider_connect_offsets.exceptions import InvalidRequest, Unreachable
from airflow_provider_connect_offsets.offsets.document import Entry, Offsets
from airflow_provider_connect_offsets.operations.stages.captured import Alteration
from airflow_provider_connect_offsets.operators.connector import AlterConnectorOffsetsOperator, parse_offsets
from airflow_provider_connect_offsets.operators.shared.common import record_outcome, report_of
from airflow_provider_connect_offsets.operators.shared.events import ChangeKind, has_failed_before
from airflow_provider_connect_offsets.workspace.layout import RunDirectory
from airflow_provider_connect_offsets.workspace.outcome import MovedOffset, Outcome, Result
from tests.support.rows.written import rewound


def test_a_report_that_can_not_be_written_is_a_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A run without a request has no report; whatever else the task did counts."""
    run = RunDirectory(tmp_path.as_uri())

    assert report_of(run) == run.report

    assert f"The report {run.report} could not be written" in caplog.text
    assert not (tmp_path / "report.html").exists()


@pytest.mark.parametrize(("map_index", "asked"), [(None, None), (-1, None), (0, 0), (2, 2)])
def test_a_task_of_a_mapped_group_asks_for_the_tasks_of_its_own_index(map_index: int | None, asked: int | None) -> None:
    """The first one, too; another index that fails has failed for itself."""
    given: dict[str, Any] = {}

    def states(**more: Any) -> dict[str, dict[str, str]]:
        given.update(more)
        return {"run": {"fleet.apply": "success"}}

    instance = SimpleNamespace(dag_id="d", run_id="run", map_index=map_index, get_task_states=states)

    assert not has_failed_before({"ti": instance}, {"fleet.apply"})  # type: ignore[typeddict-item]
    assert given["map_index"] == asked


def test_an_event_that_can_not_be_made_does_not_fail_the_step(caplog: pytest.LogCaptureFixture) -> None:
    """The offsets are written then, and a retry would find nothing left to write."""
    written = Alteration(State.STOPPED, Offsets(), Offsets.of([Entry("{}", "{}")]))
    alter: Any = AlterConnectorOffsetsOperator(task_id="alter", connector="orders")

    def info(_name: str) -> None:
        raise Unreachable("No worker answers.")

    connect = SimpleNamespace(control=SimpleNamespace(info=info))
    alter.tell_step({}, connect, "orders", written, kind=ChangeKind.ALTERED)

    assert "its asset event could not be made" in caplog.text
    assert "No worker answers." in caplog.text


def test_offsets_may_be_the_text_that_a_template_makes_of_them() -> None:
    """Airflow's variables are strings, and ``tojson`` makes a string of a list."""
    entries = [
        {"partition": {"filename": "a"}, "offset": {"position": 1}},
        {"partition": {"filename": "b"}, "offset": None},
    ]
    text = json.dumps(entries)

    assert parse_offsets("orders", text, nothing="") == parse_offsets("orders", entries, nothing="")
    assert len(parse_offsets("orders", entries, nothing="")) == 2
    for wrong in ("[", "{}", 5, [1]):
        with pytest.raises(InvalidRequest, match=r"^Nothing was written: 'orders': "):
            parse_offsets("orders", wrong, nothing="Nothing was written:")


def test_a_plan_of_another_connector_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever names a connector and a run means both."""
    monkeypatch.setenv("AIRFLOW__CONNECT_OFFSETS__WORKSPACE", tmp_path.as_uri())
    run = rewound(tmp_path).run
    alter = AlterConnectorOffsetsOperator(task_id="alter", connector="orders", run_uri=run.uri)
    nowhere: Any = SimpleNamespace()

    with pytest.raises(
        InvalidRequest, match=r"^Nothing was written: the plan in .* is for 'flow', not for 'orders'\.$"
    ):
        alter.step(nowhere, {})


def ended(result: Result, *, downtime: float | None = 2.5) -> Outcome:
    """The outcome of a change that moved one partition back by 40 offsets, and one on by 5."""
    moved = [MovedOffset("{}", "t", n, None, before, None, after, None, after) for n, before, after in MOVED]
    at = datetime(2026, 1, 31, tzinfo=UTC)
    return Outcome("orders", "dag/run", result, "Done.", "d", "RUNNING", "RUNNING", downtime, at, at, (), tuple(moved))


MOVED = ((0, 100, 60), (1, 10, 15))


@pytest.mark.parametrize(
    ("result", "again"),
    [(Result.APPLIED, [("connect_offsets.records_again", 40, {"connector": "orders"})]), (Result.RESTORED, [])],
)
def test_a_change_is_counted_however_it_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, result: Result, again: list[Any]
) -> None:
    """Its downtime too; a change that was not applied delivers nothing again."""
    sent: list[Any] = []
    stats = SimpleNamespace(
        incr=lambda name, count=1, *, tags: sent.append((name, count, tags)),
        timing=lambda name, time, *, tags: sent.append((name, time, tags)),
    )
    monkeypatch.setattr("airflow.providers.common.compat.sdk.Stats", stats, raising=False)
    uri = (tmp_path / "outcome.json").as_uri()

    def fail() -> Outcome:
        raise Unreachable("No worker answers.")

    if result is Result.APPLIED:
        record_outcome(lambda: ended(result), lambda _error: ended(Result.UNKNOWN), uri)
    else:
        with pytest.raises(Unreachable):
            record_outcome(fail, lambda _error: ended(result), uri)

    assert sent == [
        ("connect_offsets.changes", 1, {"connector": "orders", "result": result.value}),
        ("connect_offsets.downtime", timedelta(seconds=2.5), {"connector": "orders"}),
        *again,
    ]
    assert Outcome.read(uri) == ended(result)


def test_metrics_that_can_not_be_sent_fail_no_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The change is made, and its outcome written."""
    monkeypatch.setattr("airflow.providers.common.compat.sdk.Stats", None, raising=False)
    uri = (tmp_path / "outcome.json").as_uri()

    record_outcome(lambda: ended(Result.APPLIED), lambda _error: ended(Result.UNKNOWN), uri)

    assert Outcome.read(uri) == ended(Result.APPLIED)
    assert "The metrics of this change could not be sent." in caplog.text

"""What a DAG's author pins, who may answer a question, and what is kept of the answer."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException, ParamValidationError
from airflow.sdk import DAG, Param

from airflow_provider_connect_offsets.dags.connector_offsets_change import connector_offsets_change
from airflow_provider_connect_offsets.exceptions import InvalidInput
from airflow_provider_connect_offsets.operators.apply import ApproveOffsetPlanOperator
from airflow_provider_connect_offsets.operators.shared.approval import AskOperator
from airflow_provider_connect_offsets.report.html import publish
from airflow_provider_connect_offsets.task_groups import guarded_offset_change
from airflow_provider_connect_offsets.workspace.layout import RunDirectory
from airflow_provider_connect_offsets.workspace.outcome import Approval
from sandbox.airflow import DAGS

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)
DIGEST = "0123456789abcdef" * 4


def test_what_is_pinned_is_no_template_and_no_choice() -> None:
    """The form shows it, no run may have another value, and no task looks at what a run was given."""
    dag = connector_offsets_change(pinned={"approval": True, "connect_conn_id": "prod", "topics": None})
    tasks: dict[str, Any] = dag.task_dict

    assert tasks["change.approve"].approval is True
    assert tasks["change.apply"].connect_conn_id == "prod"
    assert tasks["change.snapshot"].topics == ""
    assert "params.connector" in tasks["change.snapshot"].connector
    shown = dag.params.get_param("connect_conn_id")
    assert (shown.schema["enum"], str(shown.description)[:27]) == (["prod"], "Fixed by the DAG's author. ")
    for name, value in (("approval", False), ("connect_conn_id", "kafka_connect_default"), ("topics", "or.*")):
        with pytest.raises(ParamValidationError):
            dag.params.get_param(name).resolve(value)


@pytest.mark.parametrize(
    ("pinned", "message"),
    [
        ({"aproval": True}, "Unknown Params: 'aproval'"),
        ({"approval": "maybe"}, "pinned: approval can't be 'maybe'"),
        ({"connector": None}, "pinned: connector can't be None"),
    ],
)
def test_a_pin_that_fits_no_param(pinned: dict[str, Any], message: str) -> None:
    """Fails when the DAG is parsed."""
    with pytest.raises(InvalidInput, match=message):
        connector_offsets_change(pinned=pinned)


def test_a_default_may_be_a_param() -> None:
    """A default may be a Param with a schema of its own, like ``const``."""
    dag = connector_offsets_change(params={"approval": Param(default=True, const=True), "connector": "orders"})

    assert dag.params.get_param("approval").schema["const"] is True
    assert (dag.params["approval"], dag.params["connector"]) == (True, "orders")


def _ready(name: str) -> Any:
    """The function that makes a ready DAG."""
    folder = "mirror." if name.startswith("mirror") else ""
    return getattr(import_module(f"airflow_provider_connect_offsets.dags.{folder}{name}"), name)


@pytest.mark.parametrize("name", sorted(path.stem for path in DAGS.glob("*.py")))
def test_who_may_answer_and_how_long(name: str) -> None:
    """Reaches each question of each ready DAG, whose author would think that nobody else can answer."""
    make, limit = _ready(name), timedelta(minutes=5)
    notified: list[Any] = []
    if "approval" not in make().params:
        with pytest.raises(InvalidInput, match=f"{name} needs no approval"):
            make(approvers=["ada"])
        return
    dag = make(approvers=["ada", {"id": "7", "name": "bob"}], notifiers=notified.append, approval_timeout=limit)

    questions: list[Any] = [task for task in dag.tasks if isinstance(task, AskOperator)]
    assert questions
    for question in questions:
        assert question.assigned_users == [{"id": "ada", "name": "ada"}, {"id": "7", "name": "bob"}]
        assert question.notifiers == notified.append
        assert question.response_timeout == limit


def test_a_question_is_open_as_long_as_its_plan_is_good() -> None:
    """A later answer would be refused."""
    with DAG("of_mine", schedule=None):
        group = guarded_offset_change(connector="orders", to="earliest", plan_ttl=timedelta(minutes=90))

    assert group.children["change.approve"].response_timeout == timedelta(minutes=90)  # type: ignore[attr-defined]


@pytest.fixture
def question(workspace: str) -> ApproveOffsetPlanOperator:
    """The question about a plan."""
    summary = {"run_uri": f"{workspace}/dag/run", "digest": DIGEST}
    return ApproveOffsetPlanOperator(task_id="approve", summary=summary, approval=False, defaults="Reject")


def answered(question: ApproveOffsetPlanOperator, by: str, *, triggered_by: str | None) -> Approval | None:
    """Approve it, and return what is kept."""
    event = {
        "chosen_options": ["Approve"],
        "params_input": {},
        "responded_at": NOON,
        "responded_by_user": {"id": "1", "name": by},
    }
    question.execute_complete(run_of(triggered_by), event)
    return Approval.read(question.run.approval)


def run_of(person: str | None) -> Any:
    """The context of a run that a person, or nobody, has triggered."""
    return {"dag_run": SimpleNamespace(triggering_user_name=person)}


def test_the_answer_is_kept_and_shown(question: ApproveOffsetPlanOperator, tmp_path: Path) -> None:
    """Who has triggered and approved what, and when."""
    kept = answered(question, "ada", triggered_by="bob")

    assert kept == Approval("Approve", "ada", NOON, "bob", DIGEST)
    assert kept.extra == {"answered_by": "ada", "answered_at": NOON.isoformat(), "triggered_by": "bob"}
    directory = RunDirectory(tmp_path.as_uri())
    kept.write(directory.approval)
    publish(directory.report, "base.html.j2", title="A change")
    shown = " ".join((tmp_path / "report.html").read_text().split())
    assert "Approved by ada on 2026-01-31 12:00" in shown
    assert f"; triggered by bob; plan <code>{DIGEST[:12]}</code>" in shown


def test_four_eyes(question: ApproveOffsetPlanOperator, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever has triggered a run is asked in any case, and can't be the one who approves."""
    question.triggered_by = "bob"
    assert not question.needs(approval=False)
    monkeypatch.setenv("AIRFLOW__CONNECT_OFFSETS__FOUR_EYES", "True")

    assert question.needs(approval=False)
    with pytest.raises(AirflowFailException, match="'bob' has triggered this run, so somebody else must approve it"):
        answered(question, "bob", triggered_by="bob")
    assert Approval.read(question.run.approval) is None
    assert answered(question, "ada", triggered_by="bob") is not None
    question.triggered_by = None
    assert not question.needs(approval=False)

"""The ready DAGs with the Airflow that is installed; ``make test-lowest`` installs the lowest one."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import DAG, Param

from airflow_provider_connect_offsets.operators.apply import ApproveOffsetPlanOperator
from airflow_provider_connect_offsets.operators.existence import ApproveCopyOperator
from airflow_provider_connect_offsets.operators.orphans import ApproveRemovalOperator
from airflow_provider_connect_offsets.operators.shared.approval import AskOperator
from sandbox.airflow import DAGS, parse_dags

try:
    from airflow.sdk.exceptions import DownstreamTasksSkipped
except ImportError:  # before Airflow 3.2
    from airflow.exceptions import DownstreamTasksSkipped  # type: ignore[no-redef]


@pytest.mark.usefixtures("_airflow_database")
@pytest.mark.filterwarnings("default")  # Airflow's own
@pytest.mark.filterwarnings("error:::airflow_provider_connect_offsets")
@pytest.mark.parametrize("file", sorted(DAGS.glob("*.py")), ids=lambda file: file.stem)
def test_every_file_parses_to_the_dag_of_its_name(file: Path) -> None:
    """It has no other DAG."""
    assert set(parse_dags(file)) == {file.stem}


@pytest.mark.usefixtures("_airflow_database")
@pytest.mark.filterwarnings("default")  # Airflow's own
@pytest.mark.parametrize("file", sorted(DAGS.glob("*.py")), ids=lambda file: file.stem)
def test_a_task_that_is_tried_again_does_not_wait_for_minutes(file: Path) -> None:
    """Airflow's default is five; whoever is on call watches, or a connector is down meanwhile."""
    tasks = parse_dags(file)[file.stem].tasks

    slow = {
        task.task_id: task.retry_delay for task in tasks if task.retries and task.retry_delay > timedelta(minutes=1)
    }
    assert slow == {}


@pytest.mark.parametrize(
    ("operator", "arguments"),
    [(ApproveOffsetPlanOperator, {}), (ApproveCopyOperator, {}), (ApproveRemovalOperator, {"remove": True})],
)
def test_a_question_has_a_time_limit_and_no_params_of_the_dag(operator: type[AskOperator], arguments: Any) -> None:
    """Whatever the standard provider calls the limit; an answer would have to repeat the Params it shows."""
    with DAG("asking", schedule=None, params={"connector": Param("orders", type="string")}):
        question = operator(task_id="ask", summary={}, response_timeout=timedelta(hours=1), **arguments)

    assert question.serialized_params == {}
    limit = getattr(question, "response_timeout", None) or question.execution_timeout
    assert limit == timedelta(hours=1)


@pytest.mark.parametrize("operator", [ApproveOffsetPlanOperator, ApproveCopyOperator, ApproveRemovalOperator])
def test_a_rejection_is_recorded_before_the_rest_is_skipped(
    operator: type[AskOperator], monkeypatch: pytest.MonkeyPatch, workspace: str
) -> None:
    """Skipping what follows ends the task, so that nothing after it is done."""
    recorded: list[str] = []
    with DAG("asking", schedule=None):
        question = operator(task_id="ask", summary={"run_uri": f"{workspace}/asking/run"})
        question >> EmptyOperator(task_id="change")
    monkeypatch.setattr(question, "record_rejection", lambda: recorded.append("rejected"))
    event: dict[str, Any] = {
        "chosen_options": ["Reject"],
        "params_input": {},
        "responded_by_user": None,
        "timedout": False,
    }

    context: Any = {"ti": SimpleNamespace(map_index=-1, xcom_push=lambda **_: None), "task": question}

    with pytest.raises(DownstreamTasksSkipped):
        question.execute_complete(context, {**event, "responded_at": datetime.now(tz=UTC)})

    assert recorded == ["rejected"]

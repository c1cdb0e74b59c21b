"""Copy a connector with its offsets, or give it another name: check, ask a person, copy, undo on failure."""

from __future__ import annotations

from typing import Any

from airflow_provider_connect_offsets.dags.ready import ready_dag
from airflow_provider_connect_offsets.operators.existence import (
    ApproveCopyOperator,
    CheckCopyOperator,
    CopyConnectorOperator,
    ReleaseCopyOperator,
)
from airflow_provider_connect_offsets.parameters.change import ApprovalParams
from airflow_provider_connect_offsets.parameters.connections import StepConnectionParams
from airflow_provider_connect_offsets.parameters.copying import CopyParams
from airflow_provider_connect_offsets.task_groups.wiring import RETRIES, TEARDOWN, Task, ask, end


@ready_dag(
    CopyParams,
    ApprovalParams,
    StepConnectionParams,
    description="Copy a connector with its offsets, or rename it",
    hours=0.5,
    max_active_runs=16,
)
def connector_offsets_copy(**values: Any) -> None:
    """### Copy a connector with its offsets, or rename it

    Creates the connector `new_name` with the settings of `connector`, those in `config` replaced, and with its offsets:
    it resumes where the original is. `rename` deletes the original once the copy has its offsets.

    **What happens**: `check` reads the original and refuses what can't work: a name that is taken, settings under which
    the copy would not find its offsets, a consumer group that both would share. Someone approves what it says (Required
    Actions). Then `copy` creates the copy STOPPED, writes and reads back its offsets, deletes the original (`rename`)
    or resumes it (`stop_original`), and gives the copy the state that the original had. If anything fails before that
    deletion or resume, the original is as it was, and nothing is left of the copy; if `copy` is killed, `release` makes
    sure of that.

    Without `rename`, the copy runs in addition to the original, so what both of them read and write is delivered twice.
    """
    check = Task(task_id="check", operator=CheckCopyOperator).make(values, **RETRIES)
    approve = ask(Task(task_id="approve", operator=ApproveCopyOperator), values, summary=check.output)
    copy = Task(task_id="copy", operator=CopyConnectorOperator).make(values, **RETRIES)
    check.as_setup() >> approve >> copy
    release = Task(task_id="release", operator=ReleaseCopyOperator).make(values, **TEARDOWN)
    end(copy, release.as_teardown(setups=check, on_failure_fail_dagrun=True))

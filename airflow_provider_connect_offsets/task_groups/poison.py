"""The task group that skips the record on which a sink has failed."""

from __future__ import annotations

from typing import Any

from airflow.sdk import TaskGroup

from airflow_provider_connect_offsets.offsets.requests.poison import PoisonRequest
from airflow_provider_connect_offsets.operators.poison import (
    ApprovePoisonSkipOperator,
    FindPoisonRecordOperator,
    ReleasePoisonedSinkOperator,
    SkipPoisonRecordOperator,
)
from airflow_provider_connect_offsets.parameters.connections import ConnectorConnectionParams
from airflow_provider_connect_offsets.parameters.poison import SkipApprovalParams
from airflow_provider_connect_offsets.parameters.tasks import PartParams, WaitingParams
from airflow_provider_connect_offsets.task_groups.wiring import (
    QUESTION,
    RETRIES,
    TEARDOWN,
    Task,
    ask,
    end,
    task_group,
)

#: What the trigger form shows.
POISON = (PoisonRequest, SkipApprovalParams, ConnectorConnectionParams)


@task_group(*POISON, WaitingParams, PartParams, group_id="poison", **QUESTION)
def skipped_poison_record(*, group_id: str, **values: Any) -> TaskGroup:
    """Find, approve, skip, outcome, and release as teardown: the record on which a sink has failed.

    Every argument but ``approval_timeout``, ``approvers``, ``notifiers`` and ``group_id`` may be a template. With
    ``approval``, exactly the records that were shown are skipped; if the sink fails on another one then, the run fails
    and names it. Without it, up to ``max_skips`` records are skipped one after the other. In a dry run, if the sink has
    not failed, after a rejection, and after ``approval_timeout`` without an answer, nothing is skipped and the run is a
    success. However ``find`` and ``skip`` end, even if they are killed, ``release`` makes sure that the sink has its
    own configuration and is not left STOPPED.
    """
    with TaskGroup(group_id) as group:
        find = Task(task_id="find", operator=FindPoisonRecordOperator).make(values, **RETRIES)
        approve = ask(Task(task_id="approve", operator=ApprovePoisonSkipOperator), values, summary=find.output)
        skip = Task(task_id="skip", operator=SkipPoisonRecordOperator).make(
            values, found=find.output, only_found=values["approval"], **RETRIES
        )
        find >> approve >> skip
        # Without a setup, as the first task changes something already: the teardown runs however that one ends.
        release = Task(task_id="release", operator=ReleasePoisonedSinkOperator).make(values, **TEARDOWN)
        end(skip, release.as_teardown(on_failure_fail_dagrun=True))
    return group

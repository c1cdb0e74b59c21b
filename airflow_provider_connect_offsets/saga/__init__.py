"""Sagas: operations as lists of stages that one executor carries out, undoes, and settles after a process has died.

Nothing in here knows Kafka or Airflow: an operation's stages (``operations``) do the work.

- ``door``: ``operate`` and ``settle``; no other module claims a resource, or begins or settles a saga
- ``operation``: what ``operate`` carries out, as a value
- ``stage``: the stage protocol
- ``executor``, ``undo``: make and undo stages
- ``journal``: the durable records of all sagas of a resource, and who may write them
- ``generations``, ``lease``, ``entry``, ``record``: parts of a journal; ``overlaps``: its refusals
- ``journals``: the journals of a workspace
- ``explanation``: the result of a saga, and the errors that an operation raises for it
- ``many``: several sagas at a time
"""

from __future__ import annotations

from airflow_provider_connect_offsets.saga.door import (
    continue_saga,
    open_saga,
    operate,
    settle,
)
from airflow_provider_connect_offsets.saga.executor import Executor
from airflow_provider_connect_offsets.saga.explanation import Explanation, Settled
from airflow_provider_connect_offsets.saga.journal import Journal
from airflow_provider_connect_offsets.saga.journals import journals, journals_of
from airflow_provider_connect_offsets.saga.lease import Lease, Owner
from airflow_provider_connect_offsets.saga.many import ManySagas
from airflow_provider_connect_offsets.saga.operation import Left, Operated, Operation, Registry
from airflow_provider_connect_offsets.saga.record import Progress, SagaRecord, SagaState, StageRecord, Toward
from airflow_provider_connect_offsets.saga.stage import (
    Captures,
    Done,
    Downtime,
    Found,
    JsonMap,
    Kind,
    Stage,
    StageState,
    Undoing,
    stage_name,
)

__all__ = [
    "Captures",
    "Done",
    "Downtime",
    "Executor",
    "Explanation",
    "Found",
    "Journal",
    "JsonMap",
    "Kind",
    "Lease",
    "Left",
    "ManySagas",
    "Operated",
    "Operation",
    "Owner",
    "Progress",
    "Registry",
    "SagaRecord",
    "SagaState",
    "Settled",
    "Stage",
    "StageRecord",
    "StageState",
    "Toward",
    "Undoing",
    "continue_saga",
    "journals",
    "journals_of",
    "open_saga",
    "operate",
    "settle",
    "stage_name",
]

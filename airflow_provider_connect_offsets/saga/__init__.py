"""Sagas: operations as lists of stages that one executor carries out, undoes, and settles after a process has died.

Nothing in here knows Kafka or Airflow: an operation's stages (``operations``) do the work.

- ``stage``: the stage protocol
- ``executor``: makes and undoes stages; the only code that decides between forward and back
- ``journal``: the durable records of all sagas of a resource, and who may write them
- ``lease``, ``entry``, ``record``: parts of a journal; ``overlaps``: its refusals
- ``journals``: those that a workspace has
- ``explanation``: the errors that an operation raises for what the executor did
- ``many``: several sagas at a time
"""

from __future__ import annotations

from airflow_provider_connect_offsets.saga.entry import JournalEntry
from airflow_provider_connect_offsets.saga.executor import Executor
from airflow_provider_connect_offsets.saga.explanation import Explanation, Settled
from airflow_provider_connect_offsets.saga.journal import Journal
from airflow_provider_connect_offsets.saga.journals import journals, journals_of
from airflow_provider_connect_offsets.saga.lease import Lease, Owner
from airflow_provider_connect_offsets.saga.many import ManySagas
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
    "JournalEntry",
    "JsonMap",
    "Kind",
    "Lease",
    "ManySagas",
    "Owner",
    "Progress",
    "SagaRecord",
    "SagaState",
    "Settled",
    "Stage",
    "StageRecord",
    "StageState",
    "Toward",
    "Undoing",
    "journals",
    "journals_of",
    "stage_name",
]

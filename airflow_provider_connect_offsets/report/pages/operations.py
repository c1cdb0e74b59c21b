"""Operations that runs have begun, as the journals have them."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from airflow_provider_connect_offsets.exceptions import JournalDamaged
from airflow_provider_connect_offsets.saga import Journal, Lease, SagaRecord, SagaState, journals, journals_of
from airflow_provider_connect_offsets.workspace.files import read_at_once
from airflow_provider_connect_offsets.workspace.journals.journal_store import JournalStore

log = logging.getLogger(__name__)

_STATES = {
    SagaState.CLAIMED: "not begun",
    SagaState.FORWARD: "being made",
    SagaState.BACK: "being undone",
    SagaState.DONE: "done",
    SagaState.UNDONE: "undone",
    SagaState.ABANDONED: "given up, as someone else changed it",
}


@dataclass(frozen=True, slots=True)
class SeenOperation:
    """An operation that a run has begun.

    Attributes:
        record: what the journal says of it
        heard_at: when its run was last heard from; None if it has no lease
    """

    record: SagaRecord
    heard_at: datetime | None

    @classmethod
    def of(cls, record: SagaRecord, lease: Lease | None) -> SeenOperation:
        """Take what a journal says."""
        return cls(record, None if lease is None else datetime.fromtimestamp(lease.heard_at, tz=UTC))

    @property
    def state(self) -> str:
        """How far it has come, in words."""
        return _STATES[self.record.state]


def unfinished_operations(store: JournalStore) -> Iterator[SeenOperation]:
    """Yield what is neither finished nor undone; a damaged journal is left out, and logged."""
    return filter(None, read_at_once(_left_in, journals(store)))


def _left_in(journal: Journal) -> SeenOperation | None:
    try:
        left = journal.read_left()
    except JournalDamaged:
        log.warning("A journal is not shown.", exc_info=True)
        return None
    return None if left is None else SeenOperation.of(*left)


def operations_on(store: JournalStore, *, cluster: str, connector: str) -> list[SeenOperation]:
    """Return the operations on a connector that are remembered, the newest first; none if its journal is damaged."""
    try:
        return [
            SeenOperation.of(*one)
            for journal in journals_of(store, cluster=cluster, resources=[connector])
            for one in journal.read_begun()
        ]
    except JournalDamaged:
        log.warning("The journal of %r is not shown.", connector, exc_info=True)
        return []

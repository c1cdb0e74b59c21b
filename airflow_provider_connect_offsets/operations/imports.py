"""Imports offsets into the workers' storage, one import at a time; the next undoes what a dead import has written."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import cast

from airflow_provider_connect_offsets.connect.storage.storage_control import Storage
from airflow_provider_connect_offsets.exceptions import JournalLost, WorkspaceUnwritable
from airflow_provider_connect_offsets.observe.clients import Clients
from airflow_provider_connect_offsets.operations.registry import journal_of, make_registry
from airflow_provider_connect_offsets.operations.stages.import_stages import (
    ImportExplained,
    ImportOffsets,
    StoredChange,
)
from airflow_provider_connect_offsets.saga import Journal, Left, Operation, Owner, operate, settle

_ELSE = " Choose another directory for the journal with --workspace."


@dataclass(frozen=True, slots=True)
class Imports:
    """Imports into one storage.

    Attributes:
        clients: Clients of the storage.
        owner: This process.
    """

    clients: Clients
    owner: Owner

    @property
    def journal(self) -> Journal:
        """The journal of all imports into the storage."""
        return journal_of(self.clients, f"{_storage(self.clients).resource} (imports)")

    def write(self, changes: Sequence[StoredChange], *, connectors: Iterable[str], keep: Callable[[], None]) -> None:
        """Write all changes and prove them; if one can't be proved, undo all of them.

        Args:
            changes: The changes.
            connectors: Connectors that no other operation may change meanwhile.
            keep: Called before the first write, once no other process can write.

        Raises:
            Overlap, Drift, JournalLost, StoreError: Nothing was written.
            NotApplied: All offsets are as before.
            LeftStopped: Not even the prior offsets could be proved.
        """
        storage, journal = _storage(self.clients), self.journal

        def stages(_left: Sequence[Left]) -> list[ImportOffsets]:
            keep()
            return [
                ImportOffsets(storage.name, storage, changes, file=partial(journal.file, journal.newest_generation()))
            ]

        # Removals of orphans need the lease of the storage as well.
        others = [journal.journal_of_sibling(name) for name in (storage.resource, *connectors)]
        name = f"the import into {storage.name}"
        operation = Operation(journal, name, stages, ImportExplained(), make_registry(self.clients), others)
        try:
            operate(operation, self.owner)
        except WorkspaceUnwritable as error:
            raise JournalLost(f"Nothing was written: no journal can be kept. {error}{_ELSE}") from error
        except JournalLost as error:
            raise JournalLost(f"Nothing was written: {error}{_ELSE}") from error

    def settle_left(self) -> str | None:
        """Undo what a dead import has written.

        Returns:
            A sentence about it; None if nothing was left.

        Raises:
            Overlap: An import is under way.
            NotStopped: A worker runs a connector whose offsets would be written.
            LeftStopped: The prior offsets could not be proved.
            StoreError: The storage can't be read or written.
        """
        left = settle(self.journal, self.owner, make_registry(self.clients))
        return None if left is None else left.sentence


def _storage(clients: Clients) -> Storage:
    return cast("Storage", clients.offsets)

"""Imports of offsets into the workers' storage, one at a time; the next import undoes what a dead one has written."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from airflow_provider_connect_offsets.connect.storage.storage_control import Storage
from airflow_provider_connect_offsets.exceptions import (
    ConnectOffsetsError,
    JournalLost,
    LeftStopped,
    NotApplied,
    NotStopped,
    WorkspaceUnwritable,
)
from airflow_provider_connect_offsets.operations.stages.import_stages import ImportOffsets, StoredChange
from airflow_provider_connect_offsets.saga import (
    Executor,
    Explanation,
    Journal,
    JournalEntry,
    Owner,
    Progress,
    SagaRecord,
    Settled,
    Toward,
)
from airflow_provider_connect_offsets.workspace.layout import journal_root

log = logging.getLogger(__name__)
RefuseRunning = Callable[[Iterable[str]], None]


class _Explained(Explanation):
    """Returns the errors of an import."""

    def undone(self, error: Exception, settled: Settled) -> Exception:
        """Return :class:`NotApplied` once anything may have been written; before that the error itself."""
        if all(one.progress is Progress.PENDING for one in settled.record.stages):
            return error
        return NotApplied(f"{error} All offsets were restored and are as before.")

    def not_undone(self, error: BaseException, failure: ConnectOffsetsError, record: SagaRecord) -> Exception:
        """Return the failure, with the error that made the undo necessary."""
        return type(failure)(f"{error} {failure}".strip())


@dataclass(frozen=True, slots=True)
class Imports:
    """Imports into one storage.

    Attributes:
        storage: The storage.
        journal: The journal of all imports into it.
        owner: This process.
        refuse_running: Raises :class:`NotStopped` if a worker runs one of the named connectors.
    """

    storage: Storage
    journal: Journal
    owner: Owner
    refuse_running: RefuseRunning

    @classmethod
    def into(cls, storage: Storage, owner: Owner, *, workspace: str, refuse_running: RefuseRunning) -> Imports:
        """Use the journal in ``workspace``; raises store errors."""
        root, cluster = journal_root(workspace), storage.cluster()
        journal = Journal(root, cluster=cluster, resource=_imports_into(storage))
        return cls(storage, journal, owner, refuse_running)

    @classmethod
    def of_sibling(cls, journal: Journal, storage: Storage, owner: Owner, *, refuse_running: RefuseRunning) -> Imports:
        """Use the journal in the same workspace as that of a connector."""
        return cls(storage, journal.sibling(_imports_into(storage)), owner, refuse_running)

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
        with self._claimed(connectors) as entry:
            settled = self._settle(entry)
            if settled is not None:
                log.warning("%s", settled)
            keep()
            stage = ImportOffsets(self.storage.name, self.storage, changes, file=entry.file)
            entry.begin(self.owner, operation=f"the import into {self.storage.name}", key="", stages=[stage])
            Executor(entry, [stage], _Explained()).run()

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
        self.journal.refuse_overlap(self.owner.run)
        if self.journal.left() is None:
            return None
        with self._claimed(()) as entry:
            return self._settle(entry)

    def _settle(self, entry: JournalEntry) -> str | None:
        record = entry.record
        if not record.state.is_unfinished:
            return None
        named = f"{record.operation[0].upper()}{record.operation[1:]} by run {record.owner.run!r} ended before its time"
        stages = [ImportOffsets(one.subject, self.storage) for one in record.stages]
        captured = [stage.changes(record.captures[stage.name]) for stage in stages if stage.name in record.captures]
        try:
            self.refuse_running([change.connector for changes in captured for change in changes])
            settled = Executor(entry, stages, _Explained()).settle(Toward.BACK)
        except (NotStopped, LeftStopped) as error:
            raise type(error)(f"{named}, and is undone before anything else. {error}") from error
        result = "what it had written was undone, and read back" if captured else "it had written nothing"
        return f"{named}: {result}.{settled.lost}"

    @contextmanager
    def _claimed(self, connectors: Iterable[str]) -> Iterator[JournalEntry]:
        """Have the lease of the storage, which removals of orphans need as well, and of these connectors."""
        others = [self.journal.sibling(name) for name in (self.storage.resource, *connectors)]
        try:
            with ExitStack() as stack:
                try:
                    entry = stack.enter_context(self.journal.claim(self.owner, others=others))
                except (OSError, WorkspaceUnwritable) as error:
                    raise JournalLost(f"No journal can be kept in {self.journal.uri}: {error}.") from error
                yield entry
        except JournalLost as error:
            raise JournalLost(
                f"Nothing was written: {error} Name another directory for it with --workspace."
            ) from error


def _imports_into(storage: Storage) -> str:
    """Return the resource of all imports into a storage."""
    return f"{storage.resource} (imports)"

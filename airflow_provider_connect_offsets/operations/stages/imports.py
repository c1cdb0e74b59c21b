"""Imports of offsets where workers keep them, one at a time; what a dead one has written is taken back by the next."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from airflow_provider_connect_offsets.exceptions import (
    ConnectOffsetsError,
    JournalLost,
    LeftStopped,
    NotApplied,
    NotStopped,
    WorkspaceUnwritable,
)
from airflow_provider_connect_offsets.operations.stages.import_stages import ImportOffsets, Storage, StoredChange
from airflow_provider_connect_offsets.saga.entry import JournalEntry
from airflow_provider_connect_offsets.saga.executor import Executor, Toward
from airflow_provider_connect_offsets.saga.explanation import AsItIs, Settled
from airflow_provider_connect_offsets.saga.journal import Journal
from airflow_provider_connect_offsets.saga.lease import Owner
from airflow_provider_connect_offsets.saga.record import Progress, SagaRecord
from airflow_provider_connect_offsets.workspace.layout import journal_root

log = logging.getLogger(__name__)
RefuseRunning = Callable[[Iterable[str]], None]


class _Explained(AsItIs):
    """What an import says of its end."""

    def undone(self, error: Exception, settled: Settled) -> Exception:
        """:class:`NotApplied` once anything may have been written; before that the error itself."""
        if all(one.progress is Progress.PENDING for one in settled.record.stages):
            return error
        return NotApplied(f"{error} All offsets were put back and are as before.")

    def not_undone(self, error: BaseException, failure: ConnectOffsetsError, record: SagaRecord) -> Exception:
        """The failure, with why it was to be undone."""
        del record
        return type(failure)(f"{error} {failure}".strip())


@dataclass(frozen=True, slots=True)
class Imports:
    """Imports into one storage, by ``owner``.

    journal: of all imports into it. refuse_running: raises :class:`NotStopped` where a worker runs one of these
    connectors.
    """

    storage: Storage
    journal: Journal
    owner: Owner
    refuse_running: RefuseRunning

    @classmethod
    def into(cls, storage: Storage, owner: Owner, *, workspace: str, refuse_running: RefuseRunning) -> Imports:
        """Find the journal; raises store errors."""
        root, cluster = journal_root(workspace), storage.cluster()
        journal = Journal(root, cluster=cluster, connector=_imports_into(storage))
        return cls(storage, journal, owner, refuse_running)

    @classmethod
    def beside(cls, journal: Journal, storage: Storage, owner: Owner, *, refuse_running: RefuseRunning) -> Imports:
        """Those whose journal lies beside that of a connector."""
        return cls(storage, journal.sibling(_imports_into(storage)), owner, refuse_running)

    def write(self, changes: Sequence[StoredChange], *, beside: Iterable[str], keep: Callable[[], None]) -> None:
        """Write all changes and prove them; where one can't be proved, put all of them back.

        beside: connectors whose changes are kept apart from it. keep: called once nobody else can write any more,
        before the first write. Raises :class:`Overlap`, :class:`Drift`, :class:`JournalLost` and store errors (nothing
        was written), :class:`NotApplied` (all is as before), and :class:`LeftStopped` (not even that could be proved).
        """
        with self._claimed(beside) as entry:
            left = self._settle(entry)
            if left is not None:
                log.warning("%s", left)
            keep()
            stage = ImportOffsets(self.storage.name, self.storage, changes, file=entry.file)
            entry.begin(self.owner, operation=f"the import into {self.storage.name}", key="", stages=[stage])
            Executor(entry, [stage], _Explained()).run()

    def settle_left(self) -> str | None:
        """Take back what a dead import has written; says so, None where nothing was left.

        Raises :class:`Overlap` where an import is under way, :class:`NotStopped` where a worker runs what would be
        written, :class:`LeftStopped`, and store errors.
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
        whose = f"{record.operation[0].upper()}{record.operation[1:]} by run {record.owner.run!r} ended before its time"
        stages = [ImportOffsets(one.subject, self.storage) for one in record.stages]
        captured = [stage.changes(record.captures[stage.name]) for stage in stages if stage.name in record.captures]
        try:
            self.refuse_running([change.connector for changes in captured for change in changes])
            settled = Executor(entry, stages, _Explained()).settle(Toward.BACK)
        except (NotStopped, LeftStopped) as error:
            raise type(error)(f"{whose}, and is taken back before anything else. {error}") from error
        became = "what it had written was taken back, and read back" if captured else "it had written nothing"
        return f"{whose}: {became}.{settled.lost}"

    @contextmanager
    def _claimed(self, connectors: Iterable[str]) -> Iterator[JournalEntry]:
        """Hold the storage, by what removals of orphans hold as well, and these connectors."""
        beside = [self.journal.sibling(name) for name in (self.storage.resource, *connectors)]
        try:
            with ExitStack() as stack:
                try:
                    entry = stack.enter_context(self.journal.claim(self.owner, others=beside))
                except (OSError, WorkspaceUnwritable) as error:
                    raise JournalLost(f"No journal can be kept in {self.journal.uri}: {error}.") from error
                yield entry
        except JournalLost as error:
            raise JournalLost(f"Nothing was written: {error} Name another place for it with --workspace.") from error


def _imports_into(storage: Storage) -> str:
    """What journals call all of them."""
    return f"{storage.resource} (imports)"

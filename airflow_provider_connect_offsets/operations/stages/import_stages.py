"""The stage of an import of offsets into the workers' storage: it writes all connectors of a document at once."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self, cast

from airflow_provider_connect_offsets.connect.storage.storage_control import Storage, StorageControl
from airflow_provider_connect_offsets.exceptions import (
    ConnectOffsetsError,
    Drift,
    Interfered,
    LeftStopped,
    NotApplied,
    StoreError,
)
from airflow_provider_connect_offsets.observe.clients import Clients
from airflow_provider_connect_offsets.offsets.document import Offsets
from airflow_provider_connect_offsets.offsets.requests.guards import Named
from airflow_provider_connect_offsets.operations.stages import kept_documents
from airflow_provider_connect_offsets.operations.stages.captured import IMPORT
from airflow_provider_connect_offsets.operations.stages.reached import ReachedStage
from airflow_provider_connect_offsets.operations.stages.steps import differences
from airflow_provider_connect_offsets.saga import (
    Captures,
    Done,
    Explanation,
    Found,
    JsonMap,
    Kind,
    Progress,
    SagaRecord,
    Settled,
    StageRecord,
    StageState,
    Undoing,
)
from airflow_provider_connect_offsets.words import join_first

_NAMED = 3


def read(storage: Storage, names: Collection[str]) -> dict[str, Offsets]:
    """Read the offsets of these connectors; empty for a connector without any."""
    return {**dict.fromkeys(names, Offsets()), **dict(storage.read_all(names=names))}


@dataclass(frozen=True, slots=True)
class StoredChange:
    """The change of one connector's offsets.

    Attributes:
        connector: Its name.
        before: The offsets stored before: all of them, or those of the changed partitions.
        changes: What is written.
    """

    connector: str
    before: Offsets
    changes: Offsets

    @property
    def expected_offsets(self) -> Offsets:
        """The offsets after the change."""
        return self.before.with_changes(self.changes)

    @property
    def prior_offsets(self) -> Offsets:
        """The offsets that undo the change: the prior offset of each changed partition, None for a new partition."""
        return self.before.select(self.partitions)

    @property
    def partitions(self) -> tuple[str, ...]:
        """The partitions that are changed."""
        return tuple(change.partition for change in self.changes)

    def without(self, partitions: Collection[str]) -> StoredChange:
        """Return a copy without these partitions."""
        others = Offsets.of(one for one in self.changes if one.partition not in partitions)
        return replace(self, before=self.before.select(one.partition for one in others), changes=others)

    def find(self, stored: Offsets) -> dict[str, Found]:
        """Return for each changed partition whether its prior offset, its new offset or another offset is stored."""
        now, before, after = stored.by_partition(), self.before.by_partition(), self.expected_offsets.by_partition()
        known = {one: {before.get(one): Found.BEFORE, after.get(one): Found.DONE} for one in self.partitions}
        return {one: offsets.get(now.get(one), Found.FOREIGN) for one, offsets in known.items()}


class ImportOffsets(ReachedStage):
    """Writes the changes of all connectors at once, and reads them back; the undo does so with the prior offsets.

    Args:
        name: The storage's name.
        storage: The storage.
        changes: The changes that a person was shown; a later process reads them from the journal.
        file: Returns the URI of a file of that name in the journal; None in a later process.
        refuse_running: Raises :class:`NotStopped` if a worker runs one of the named connectors; called before a later
            process undoes anything.
    """

    title = IMPORT
    kind = Kind.UNDOABLE

    def __init__(
        self,
        name: str,
        storage: Storage,
        changes: Sequence[StoredChange] = (),
        *,
        file: Callable[[str], str] | None = None,
        refuse_running: Callable[[Iterable[str]], None] = lambda _connectors: None,
    ) -> None:
        super().__init__(name)
        self._refuse_running = refuse_running
        self._storage = storage
        self._changes = changes
        self._file = file

    @classmethod
    def is_reached(cls, clients: Clients, record: StageRecord) -> bool:
        """Whether the clients are of that storage."""
        storage = clients.offsets
        return isinstance(storage, Storage) and storage.name == record.subject

    @classmethod
    def build(cls, subject: str, clients: Clients, spec: JsonMap) -> Self:
        """Build the stage, which can only be undone."""
        del spec
        storage, control = cast("Storage", clients.offsets), cast("StorageControl", clients.control)
        return cls(subject, storage, refuse_running=control.refuse_running)

    def changed_names(self) -> Iterable[tuple[Named, str]]:
        """Return the connectors."""
        return [(Named.CONNECTOR, one.connector) for one in self._changes]

    def capture(self, earlier: Captures) -> JsonMap:
        """Capture prior offsets and changes; raises :class:`Drift` if the prior offsets were changed since the preview.

        Both are kept in files of their own, as operations on each of the connectors read the record. May raise store
        errors.
        """
        if self._file is None:
            raise ValueError(
                f"{self.name} has not begun, and only the process that has the document to import can begin it"
            )
        stored = read(self._storage, [change.connector for change in self._changes])
        for change in self._changes:
            observed = stored[change.connector].select(change.partitions)
            if observed != change.prior_offsets:
                raise Drift(
                    f"Nothing was written: someone else has changed offsets of {change.connector!r} since they were "
                    f"shown. {differences(observed, change.prior_offsets)}. Run the import again."
                )
        self._changes = [replace(change, before=stored[change.connector]) for change in self._changes]
        prior = {one.connector: one.prior_offsets for one in self._changes}
        changes = {one.connector: one.changes for one in self._changes}
        return kept_documents.keep(self._file, {"prior": prior, "changes": changes})

    def do(self, captured: JsonMap) -> Done:
        """Write, and read back; raises :class:`NotApplied` and store errors."""
        changes = self.changes(captured)
        self._storage.write_all({change.connector: change.changes for change in changes})
        self._prove(changes, {change.connector: change.expected_offsets for change in changes})
        return Done()

    def find(self, captured: JsonMap) -> StageState:
        """Compare what is stored with the offsets before and after the change."""
        changes = self.changes(captured)
        stored = self._read(changes)
        found = {one for change in changes for one in change.find(stored[change.connector]).values()}
        if Found.FOREIGN in found:
            return StageState(Found.FOREIGN, Interfered(f"Someone else has written to {self._storage.name}."))
        if found == {Found.DONE}:
            return StageState(Found.DONE)
        is_before = found == {Found.BEFORE}
        return StageState(
            Found.BEFORE if is_before else Found.PARTIAL,
            NotApplied(f"The offsets in {self._storage.name} differ from the document."),
        )

    def undo(self, captured: JsonMap, undoing: Undoing) -> str:
        """Write the prior offsets, and read them back.

        What someone else has written since the process died is left as it is, and named in the returned sentence.

        Raises:
            NotStopped: A worker runs one of the connectors; nothing was written.
            LeftStopped: The prior offsets can't be written or verified.
        """
        changes = self.changes(captured)
        if self._is_rebuilt:
            self._refuse_running([change.connector for change in changes])
        try:
            foreign = self._list_foreign(changes) if self._is_rebuilt else {}
            undone = [change.without(foreign.get(change.connector, ())) for change in changes] if foreign else changes
            self._storage.write_all({change.connector: change.prior_offsets for change in undone})
            self._prove(undone, {change.connector: change.before for change in undone})
        except (StoreError, NotApplied) as error:
            kept = f": {captured['prior']}" if self._is_rebuilt else ""
            raise LeftStopped(
                f"The prior offsets could not be restored: {error} Do not start the workers. Import the document that "
                f"has these offsets{kept}."
            ) from error
        return _describe_foreign(foreign)

    def changes(self, captured: JsonMap) -> Sequence[StoredChange]:
        """Return the changes, as this process captured them, or as the journal of a dead process keeps them."""
        if not self._changes:
            prior, changes = (kept_documents.read(captured, name) for name in ("prior", "changes"))
            self._changes = [StoredChange(name, prior[name], some) for name, some in changes.items()]
        return self._changes

    def _list_foreign(self, changes: Sequence[StoredChange]) -> dict[str, list[str]]:
        """Return the partitions whose offsets someone else has changed, by connector."""
        stored = self._read(changes)
        found = {change.connector: change.find(stored[change.connector]) for change in changes}
        named = {name: [one for one, is_ in of.items() if is_ is Found.FOREIGN] for name, of in found.items()}
        return {name: partitions for name, partitions in named.items() if partitions}

    def _prove(self, changes: Sequence[StoredChange], expected: Mapping[str, Offsets]) -> None:
        stored = self._read(changes)
        for connector, offsets in expected.items():
            difference = differences(stored[connector], offsets)
            if difference:
                raise NotApplied(f"{connector!r} was read back from {self._storage.name}: {difference}.")

    @property
    def _is_rebuilt(self) -> bool:
        """Whether another process has begun the stage; its journal keeps only the changed partitions."""
        return self._file is None

    def _read(self, changes: Sequence[StoredChange]) -> dict[str, Offsets]:
        """Read all offsets of the connectors, or only those in the partitions that the journal keeps."""
        stored = read(self._storage, [change.connector for change in changes])
        if self._is_rebuilt:
            return {change.connector: stored[change.connector].select(change.partitions) for change in changes}
        return stored


class ImportExplained(Explanation):
    """Builds the errors to raise for a failed import."""

    def explain_undone(self, error: Exception, settled: Settled) -> Exception:
        """Return :class:`NotApplied` once anything may have been written; before that the error itself."""
        if all(one.progress is Progress.PENDING for one in settled.record.stages):
            return error
        return NotApplied(f"{error} All offsets were restored and are as before.")

    def explain_not_undone(self, error: BaseException, failure: ConnectOffsetsError, record: SagaRecord) -> Exception:
        """Return the failure, with the error that made the undo necessary."""
        return type(failure)(f"{error} {failure}".strip())

    def explain_unsettled(self, failure: ConnectOffsetsError, record: SagaRecord) -> ConnectOffsetsError:
        """Return the failure, and name the import that could not be settled: the caller began another operation."""
        return type(failure)(f"{_name_import(record)}, and must be undone first. {failure}")


def describe_import(settled: Settled) -> str:
    """Describe what has become of a dead import."""
    has_begun = any(one.progress is not Progress.PENDING for one in settled.record.stages)
    result = "what it had written was undone, and read back" if has_begun else "it had written nothing"
    return f"{_name_import(settled.record)}: {result}.{settled.lost}"


def _name_import(record: SagaRecord) -> str:
    operation = record.operation
    return f"{operation[0].upper()}{operation[1:]} by run {record.owner.run!r} ended unfinished"


def _describe_foreign(foreign: Mapping[str, Sequence[str]]) -> str:
    """Name the partitions that someone else has written, with a space before; empty if there are none."""
    named = [f"{name!r} {partition}" for name, partitions in foreign.items() for partition in partitions]
    if not named:
        return ""
    return f" Someone else has changed these offsets since, so they were left as they are: {join_first(named, _NAMED)}."

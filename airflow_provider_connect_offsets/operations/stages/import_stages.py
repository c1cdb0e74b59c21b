"""The stage of an import of offsets where workers keep them: all connectors of a document are written in one go."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from airflow_provider_connect_offsets.connect.protocols import WriteReply
from airflow_provider_connect_offsets.exceptions import (
    Drift,
    Interfered,
    JournalLost,
    LeftStopped,
    NotApplied,
    StoreError,
    WorkspaceUnwritable,
)
from airflow_provider_connect_offsets.offsets.document import Offsets, kip199_document, parse_kip199
from airflow_provider_connect_offsets.operations.stages.steps import differences
from airflow_provider_connect_offsets.saga.stage import Captures, Done, Found, JsonMap, Kind, Stage, StageState, Undoing
from airflow_provider_connect_offsets.workspace import files

_NAMED = 3


class Storage(Protocol):
    """The offsets of all connectors of a Connect cluster (``TopicStorage``, ``StandaloneFile``)."""

    @property
    def name(self) -> str:
        """What it is called in messages."""

    @property
    def resource(self) -> str:
        """What journals call the topic or file."""

    def cluster(self) -> str:
        """What journals call the Connect cluster; raises store errors."""

    def read_all(self, *, names: Collection[str] | None = None) -> Iterator[tuple[str, Offsets]]:
        """Read the offsets of these connectors."""

    def write_all(self, changes: Mapping[str, Offsets]) -> WriteReply:
        """Write the changes of several connectors."""


def read(storage: Storage, names: Collection[str]) -> dict[str, Offsets]:
    """Read the offsets of these connectors; none of one that has none."""
    return {**dict.fromkeys(names, Offsets()), **dict(storage.read_all(names=names))}


@dataclass(frozen=True, slots=True)
class StoredChange:
    """What is to be written for one connector, and what stands there before: all of it, or the changed partitions."""

    connector: str
    before: Offsets
    changes: Offsets

    @property
    def expected(self) -> Offsets:
        """What stands there afterwards."""
        return self.before.updated(self.changes)

    @property
    def prior(self) -> Offsets:
        """The way back: the changed partitions as they were, None for one that had no offset."""
        return self.before.only(self.partitions)

    @property
    def partitions(self) -> tuple[str, ...]:
        """The partitions that are changed."""
        return tuple(change.partition for change in self.changes)

    def without(self, partitions: Collection[str]) -> StoredChange:
        """The same, of the changed partitions that are not among these."""
        left = Offsets.of(one for one in self.changes if one.partition not in partitions)
        return replace(self, before=self.before.only(one.partition for one in left), changes=left)

    def found(self, standing: Offsets) -> dict[str, Found]:
        """What stands at each changed partition: what was there before, what was written, or another's offset."""
        stands, before, after = standing.stored(), self.before.stored(), self.expected.stored()
        known = {one: {before.get(one): Found.BEFORE, after.get(one): Found.DONE} for one in self.partitions}
        return {one: offsets.get(stands.get(one), Found.FOREIGN) for one, offsets in known.items()}


class ImportOffsets(Stage):
    """Write the changes of all connectors in one go, and prove them; undone, what stood there is proved again.

    changes: as a person was shown them; a later process reads them in the journal. file: gives the URI of a file of
    that name in the journal.
    """

    title = "import_offsets"
    kind = Kind.UNDOABLE

    def __init__(
        self,
        name: str,
        storage: Storage,
        changes: Sequence[StoredChange] = (),
        *,
        file: Callable[[str], str] | None = None,
    ) -> None:
        super().__init__(name)
        self._storage = storage
        self._changes = changes
        self._file = file

    def capture(self, earlier: Captures) -> JsonMap:
        """All offsets of the connectors; raises :class:`Drift` where they are not what was shown, and store errors.

        What is changed is kept in files of its own: whoever wants any of the connectors reads the record.
        """
        del earlier
        if self._file is None:
            raise ValueError(f"{self.name} was not begun, and only the process that has its document can begin it")
        standing = read(self._storage, [change.connector for change in self._changes])
        for change in self._changes:
            found = standing[change.connector].only(change.partitions)
            if found != change.prior:
                raise Drift(
                    f"Nothing was written: {change.connector!r} was changed by someone else since it was shown: "
                    f"{differences(found, change.prior)}. Import once more."
                )
        self._changes = [replace(change, before=standing[change.connector]) for change in self._changes]
        return {
            "prior": _kept(self._file("prior"), {one.connector: one.prior for one in self._changes}),
            "changes": _kept(self._file("changes"), {one.connector: one.changes for one in self._changes}),
        }

    def do(self, captured: JsonMap) -> Done:
        """Write, and read back; raises :class:`NotApplied` and store errors."""
        changes = self.changes(captured)
        self._storage.write_all({change.connector: change.changes for change in changes})
        self._prove(changes, {change.connector: change.expected for change in changes})
        return Done()

    def find(self, captured: JsonMap) -> StageState:
        """Compare what stands with what was there before, and with what was to be written."""
        changes = self.changes(captured)
        standing = self._read(changes)
        found = {one for change in changes for one in change.found(standing[change.connector]).values()}
        if Found.FOREIGN in found:
            return StageState(Found.FOREIGN, Interfered(f"Someone else has written to {self._storage.name}."))
        if found == {Found.DONE}:
            return StageState(Found.DONE)
        is_before = found == {Found.BEFORE}
        return StageState(
            Found.BEFORE if is_before else Found.PARTIAL,
            NotApplied(f"Offsets in {self._storage.name} are not those of the document."),
        )

    def undo(self, captured: JsonMap, undoing: Undoing) -> str:
        """Write what stood there before, and prove it; raises :class:`LeftStopped` where that fails.

        What someone else has written since the process died is left alone, and named.
        """
        del undoing
        changes = self.changes(captured)
        try:
            foreign = self._foreign(changes) if self._is_rebuilt else {}
            back = [change.without(foreign.get(change.connector, ())) for change in changes] if foreign else changes
            self._storage.write_all({change.connector: change.prior for change in back})
            self._prove(back, {change.connector: change.before for change in back})
        except (StoreError, NotApplied) as error:
            kept = f": {captured['prior']}" if self._is_rebuilt else ""
            raise LeftStopped(
                f"The offsets of before could not be put back: {error} Leave the workers down and import the document "
                f"in which they are kept{kept}."
            ) from error
        return _told(foreign)

    def changes(self, captured: JsonMap) -> Sequence[StoredChange]:
        """What is changed: as this process captured it, or as the journal of a dead one holds it."""
        if not self._changes:
            prior, changes = (parse_kip199(files.read_json(captured[name])) for name in ("prior", "changes"))
            self._changes = [StoredChange(name, prior[name], wanted) for name, wanted in changes.items()]
        return self._changes

    def _foreign(self, changes: Sequence[StoredChange]) -> dict[str, list[str]]:
        """By connector, the partitions in which someone else has written."""
        standing = self._read(changes)
        found = {change.connector: change.found(standing[change.connector]) for change in changes}
        named = {name: [one for one, is_ in of.items() if is_ is Found.FOREIGN] for name, of in found.items()}
        return {name: partitions for name, partitions in named.items() if partitions}

    def _prove(self, changes: Sequence[StoredChange], expected: Mapping[str, Offsets]) -> None:
        standing = self._read(changes)
        for connector, wanted in expected.items():
            difference = differences(standing[connector], wanted)
            if difference:
                raise NotApplied(f"{connector!r} was read back from {self._storage.name}: {difference}.")

    @property
    def _is_rebuilt(self) -> bool:
        """Whether another process has begun it, whose journal holds no other partitions than the changed ones."""
        return self._file is None

    def _read(self, changes: Sequence[StoredChange]) -> dict[str, Offsets]:
        """What stands of the connectors, as far as it is known what stood there before."""
        standing = read(self._storage, [change.connector for change in changes])
        if self._is_rebuilt:
            return {change.connector: standing[change.connector].only(change.partitions) for change in changes}
        return standing


def _kept(uri: str, offsets: Mapping[str, Offsets]) -> str:
    """Write a document that can be imported; gives its URI."""
    try:
        files.write_bytes(uri, kip199_document(offsets).encode())
    except WorkspaceUnwritable as error:
        raise JournalLost(f"The journal of an import can't be written: {error}") from error
    return uri


def _told(foreign: Mapping[str, Sequence[str]]) -> str:
    """Name what someone else has written, with a space before; empty where nobody has."""
    named = [f"{name!r} {partition}" for name, partitions in foreign.items() for partition in partitions]
    if not named:
        return ""
    more = f" and {len(named) - _NAMED} more" if len(named) > _NAMED else ""
    return f" Someone else has written since, which was left as it is: {', '.join(named[:_NAMED])}{more}."

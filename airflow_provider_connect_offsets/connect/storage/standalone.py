"""Offsets of source connectors in the file of a standalone worker, which must be down."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from functools import partial
from pathlib import Path

from airflow_provider_connect_offsets import fencing
from airflow_provider_connect_offsets.connect.protocols import WriteReply
from airflow_provider_connect_offsets.connect.storage.damaged import Damaged, raise_damage, read_unless_damaged
from airflow_provider_connect_offsets.connect.storage.offsets_file import read_mappings, write_mappings
from airflow_provider_connect_offsets.exceptions import InvalidDocument, StoreDamaged
from airflow_provider_connect_offsets.offsets.document import Offsets
from airflow_provider_connect_offsets.offsets.storage import StoredOffsets


class StandaloneFile:
    """The file ``offset.storage.file.filename`` as an :class:`~.protocols.OffsetStore`.

    The worker reads the file when it starts and overwrites it with each flush, so it must be down. Every method raises
    :class:`StoreDamaged` for an incomplete file. Each change keeps a backup of the old file in its directory.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def name(self) -> str:
        """The file's name in messages."""
        return f"file {self.path}"

    @property
    def resource(self) -> str:
        """The file's name in journals."""
        return f"offsets file {self.path.absolute()}"

    def cluster(self) -> str:
        """Return the worker's name in journals: the path of its file."""
        return str(self.path.absolute())

    def connectors(self) -> list[str]:
        """Return the names of all connectors that have an offset, sorted."""
        return self.read_stored().connectors()

    def read_offsets(self, connector: str) -> Offsets:
        """Return all offsets of ``connector``; empty if there is no file yet."""
        return self.make_finder()(connector)

    def read_all(
        self, *, names: Collection[str] | None = None, damaged: Damaged = raise_damage
    ) -> Iterator[tuple[str, Offsets]]:
        """Yield all connectors with their offsets, sorted; arguments as in :meth:`TopicStorage.read_all`."""
        stored = self.read_stored()
        for name in stored.connectors():
            if names is None or name in names:
                yield from read_unless_damaged(name, partial(self._offsets_in, stored), damaged)

    def make_finder(self) -> Callable[[str], Offsets]:
        """Read the file once, and return a function that finds the offsets of a connector in what was read."""
        return partial(self._offsets_in, self.read_stored())

    def write_offsets(self, connector: str, changes: Offsets) -> WriteReply:
        """Overwrite the listed partitions (offset None removes); others stay."""
        return self.write_all({connector: changes})

    def write_all(self, changes: Mapping[str, Offsets]) -> WriteReply:
        """Write the changes of several connectors at once."""
        stored = self.read_stored()
        records = dict(stored.records)
        for connector, changed in changes.items():
            records |= stored.records_for(connector, changed)
        return self._write(records)

    def reset_offsets(self, connector: str) -> WriteReply:
        """Remove all offsets of ``connector``, also those that can't be read."""
        stored = self.read_stored()
        return self._write({**stored.records, **stored.records_for(connector, stored.removal_of(connector))})

    def read_stored(self) -> StoredOffsets:
        """Return the content of the file; empty if there is no file yet."""
        return StoredOffsets(read_mappings(self.path) if self.path.exists() else {})

    def _offsets_in(self, stored: StoredOffsets, connector: str) -> Offsets:
        try:
            return stored.offsets_of(connector)
        except InvalidDocument as error:
            text = f"{self.path} has an offset of connector {connector!r} that can't be read: {error}."
            raise StoreDamaged(text) from error

    def _write(self, records: Mapping[bytes, bytes | None]) -> WriteReply:
        fencing.ask()
        backup = write_mappings(self.path, {key: value for key, value in records.items() if value is not None})
        return WriteReply(f"{self.path} was written." + (f" Its backup is {backup}." if backup else ""))

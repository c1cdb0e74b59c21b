"""The offsets of source connectors in the file of a standalone worker, which must be down."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from airflow_provider_connect_offsets.connect.protocols import WriteReply
from airflow_provider_connect_offsets.connect.storage.offsets_file import read_mappings, write_mappings
from airflow_provider_connect_offsets.exceptions import InvalidDocument, StoreDamaged
from airflow_provider_connect_offsets.offsets.document import Offsets
from airflow_provider_connect_offsets.offsets.storage import StoredOffsets


class StandaloneFile:
    """``offset.storage.file.filename`` as an :class:`~.stores.protocols.OffsetStore`.

    The worker reads the file when it starts and overwrites it with each flush, so it must be down. Every method raises
    :class:`StoreDamaged` for a file that is not whole. Each change keeps the file of before beside the new one.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def name(self) -> str:
        """What it is called in messages."""
        return f"file {self.path}"

    @property
    def resource(self) -> str:
        """What journals call the file."""
        return f"offsets file {self.path.absolute()}"

    def cluster(self) -> str:
        """What journals call the worker: its file's path."""
        return str(self.path.absolute())

    def connectors(self) -> list[str]:
        """Names of all connectors that have an offset, sorted."""
        return self.stored().connectors()

    def read_offsets(self, connector: str) -> Offsets:
        """Read all offsets of ``connector``; none where the file has none of it, or is not there yet."""
        return self._offsets_in(self.stored(), connector)

    def read_all(self, *, names: Collection[str] | None = None) -> Iterator[tuple[str, Offsets]]:
        """Read the offsets of every connector (of ``names`` only), in order; raises as ``read_offsets``."""
        stored = self.stored()
        for name in stored.connectors():
            if names is None or name in names:
                yield name, self._offsets_in(stored, name)

    def write_offsets(self, connector: str, changes: Offsets) -> WriteReply:
        """Overwrite the listed partitions (offset None removes); others stay."""
        return self.write_all({connector: changes})

    def write_all(self, changes: Mapping[str, Offsets]) -> WriteReply:
        """Write the changes of several connectors at once."""
        stored = self.stored()
        pairs = dict(stored.records)
        for connector, wanted in changes.items():
            pairs |= stored.records_for(connector, wanted)
        return self._write(pairs)

    def reset_offsets(self, connector: str) -> WriteReply:
        """Remove all offsets of ``connector``, also those that can't be read."""
        stored = self.stored()
        return self._write({**stored.records, **stored.records_for(connector, stored.removal_of(connector))})

    def stored(self) -> StoredOffsets:
        """Read what the file holds; nothing where it is not there yet."""
        return StoredOffsets(read_mappings(self.path) if self.path.exists() else {})

    def _offsets_in(self, stored: StoredOffsets, connector: str) -> Offsets:
        try:
            return stored.offsets_of(connector)
        except InvalidDocument as error:
            raise StoreDamaged(f"{self.path} holds an offset of {connector!r} that can't be read: {error}.") from error

    def _write(self, pairs: Mapping[bytes, bytes | None]) -> WriteReply:
        kept = write_mappings(self.path, {key: value for key, value in pairs.items() if value is not None})
        return WriteReply(f"{self.path} was written." + (f" What it was is kept in {kept}." if kept else ""))

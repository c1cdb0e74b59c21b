"""A series of kept snapshots: begin a snapshot, find the previous one, remove old ones, and read any of them back."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from airflow_provider_connect_offsets.exceptions import DatasetError, InvalidInput
from airflow_provider_connect_offsets.workspace import files
from airflow_provider_connect_offsets.workspace.paths import join
from airflow_provider_connect_offsets.workspace.snapshots import (
    FORMAT,
    ComparisonDirectory,
    KeptSnapshot,
    SnapshotDirectory,
    SnapshotRecord,
)

_NAME = "%Y-%m-%dT%H%M%S.%fZ"
# An incomplete snapshot that is older than this is treated as left by a task that died.
_ABANDONED = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class SnapshotSeries:
    """The snapshots under a directory, which are named by their times."""

    uri: str

    def begin(self, run: ComparisonDirectory, *, now: datetime) -> KeptSnapshot:
        """Note in the directory of a run where its snapshot will be, and return that.

        A snapshot that an earlier attempt of the run has taken is removed: the next one must be compared with the one
        before the run, or what has changed since then would go unreported.
        """
        earlier = files.read_json_if_any(run.kept)
        if earlier is not None:
            _remove(SnapshotDirectory(KeptSnapshot.from_json(earlier).uri))
        kept = KeptSnapshot(self.uri, join(self.uri, f"{now.astimezone(UTC):{_NAME}}"), self.find_newest())
        files.write_json(run.kept, kept.as_json())
        return kept

    def find_newest(self) -> str | None:
        """Return the newest snapshot that this version can read; None if it can't read any."""
        for uri, _ in reversed(self._snapshots()):
            if files.exists(SnapshotDirectory(uri).record):
                try:
                    read_record(SnapshotDirectory(uri))
                except (DatasetError, InvalidInput):
                    continue
                return uri
        return None

    def list_newest(self, most: int) -> list[str]:
        """Return the newest ``most`` snapshots, complete or not, the newest first."""
        return [uri for uri, _ in reversed(self._snapshots()[-most:])]

    def prune(self, *, keep: int, since: datetime | None, now: datetime) -> list[str]:
        """Remove old snapshots and return their URIs; the newest complete one always stays.

        Args:
            keep: How many complete snapshots stay at most.
            since: Complete snapshots taken before are removed, too; None: they stay at any age.
            now: Incomplete snapshots are removed if they were begun more than a day before.
        """
        complete: list[tuple[str, datetime]] = []
        incomplete: list[tuple[str, datetime]] = []
        for uri, taken_at in self._snapshots():
            (complete if files.exists(SnapshotDirectory(uri).record) else incomplete).append((uri, taken_at))
        old = complete[: -max(1, keep)]
        old += [one for one in complete[-max(1, keep) : -1] if since is not None and one[1] < since]
        old += [one for one in incomplete if one[1] < now - _ABANDONED]
        for uri, _ in old:
            _remove(SnapshotDirectory(uri))
        return [uri for uri, _ in old]

    def _snapshots(self) -> list[tuple[str, datetime]]:
        """Return directories that are named as snapshots are, complete or not, with their times; oldest first."""
        named = [(join(self.uri, name), _time_of(name)) for name in files.list_names(self.uri)]
        return sorted((uri, taken_at) for uri, taken_at in named if taken_at is not None)


def read_record(snapshot: SnapshotDirectory) -> SnapshotRecord:
    """Read the record of a kept snapshot.

    Raises:
        DatasetError: It is missing or damaged.
        InvalidInput: It has another format version.
    """
    document = files.read_json(snapshot.record)
    version = document.get("format") if isinstance(document, dict) else None
    if version != FORMAT:
        raise InvalidInput(
            f"{snapshot.uri} is a snapshot of format {version!r}, but this version of the provider reads only "
            f"format {FORMAT}. Nothing was changed."
        )
    try:
        return SnapshotRecord.from_json(document)
    except (TypeError, ValueError) as error:
        raise DatasetError(f"{snapshot.record} is damaged: {error}") from error


def _remove(snapshot: SnapshotDirectory) -> None:
    # Its record first, so that nothing ever takes what is left of it for a snapshot.
    files.remove_tree(snapshot.record)
    files.remove_tree(snapshot.uri)


def _time_of(name: str) -> datetime | None:
    try:
        return datetime.strptime(name, _NAME).replace(tzinfo=UTC)
    except ValueError:
        return None

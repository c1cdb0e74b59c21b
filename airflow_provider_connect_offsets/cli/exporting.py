"""Export: the offsets of a storage as a KIP-199 document."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from airflow_provider_connect_offsets.cli.messages import progress_bar, tell
from airflow_provider_connect_offsets.cli.opened import WorkerStorage
from airflow_provider_connect_offsets.connect.storage.topic_storage import TopicStorage
from airflow_provider_connect_offsets.exceptions import StoreDamaged
from airflow_provider_connect_offsets.offsets.document import Offsets, kip199_text
from airflow_provider_connect_offsets.words import quantify


def export(opened: WorkerStorage, *, connectors: frozenset[str], from_beginning: bool, target: Path | None) -> None:
    """Write offsets as JSON; a message names requested connectors that have none.

    Raises :class:`StoreDamaged` for connectors whose offsets can't be read, once all others are written.

    Args:
        opened: The workers' storage.
        connectors: The connectors to export; empty: all.
        from_beginning: True to export overwritten offsets as well.
        target: The file, which is replaced as a whole; None: standard output.
    """
    exported = _Counted()
    with progress_bar(f"Reading {opened.name}") as progress:
        read = opened.history if from_beginning else opened.read_all
        stored = read(progress, names=connectors, damaged=exported.damaged.__setitem__)
        selected = ((name, offsets) for name, offsets in stored if len(offsets))
        with _open_target(target) as file:
            for piece in kip199_text(exported.count(selected)):
                file.write(piece)
    for missing in sorted(connectors - exported.names - exported.damaged.keys()):
        tell(f"Connector {missing!r} has no offsets in {opened.name}.")
    if isinstance(opened.storage, TopicStorage) and opened.storage.passed_over:
        skipped = quantify(opened.storage.passed_over, "key")
        tell(f"Skipped {skipped} in {opened.name} that can't be read as a connector and a source partition.")
    of = quantify(len(exported.names), "connector")
    tell(f"Exported {quantify(exported.entries, 'offset')} of {of} from {opened.name}.")
    if exported.damaged:
        left_out = " ".join(map(str, exported.damaged.values()))
        raise StoreDamaged(f"{quantify(len(exported.damaged), 'connector')} could not be exported. {left_out}")


class _Counted:
    """Counts the offsets and connectors that are exported."""

    def __init__(self) -> None:
        self.names: set[str] = set()
        self.entries = 0
        self.damaged: dict[str, StoreDamaged] = {}

    def count(self, offsets: Iterator[tuple[str, Offsets]]) -> Iterator[tuple[str, Offsets]]:
        for name, some in offsets:
            self.names.add(name)
            self.entries += len(some)
            yield name, some


@contextmanager
def _open_target(target: Path | None) -> Iterator[TextIO]:
    if target is None:
        yield sys.stdout
        sys.stdout.flush()
        return
    handle, name = tempfile.mkstemp(dir=target.absolute().parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise

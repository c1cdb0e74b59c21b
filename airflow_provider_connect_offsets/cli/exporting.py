"""Export: what a storage holds, as a KIP-199 document."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from airflow_provider_connect_offsets.cli.opened import WorkerStorage
from airflow_provider_connect_offsets.cli.told import counted, progress_bar, tell
from airflow_provider_connect_offsets.connect.storage.topic_storage import TopicStorage
from airflow_provider_connect_offsets.offsets.document import Offsets, kip199_text


def export(opened: WorkerStorage, *, connectors: frozenset[str], from_beginning: bool, target: Path | None) -> None:
    """Write the offsets of ``connectors`` (none named: of all) to ``target`` (None: standard output).

    A file is there whole or not at all. A connector that was named and has no offsets is told of.
    """
    passed = _Counted()
    with progress_bar(f"Reading {opened.name}") as progress:
        told = opened.history(progress) if from_beginning else opened.read_all(progress)
        wanted = ((name, offsets) for name, offsets in told if not connectors or name in connectors)
        with _writing(target) as file:
            for piece in kip199_text(passed.counting((name, offsets) for name, offsets in wanted if len(offsets))):
                file.write(piece)
    for missing in sorted(connectors - passed.names):
        tell(f"Connector {missing!r} has no offsets in {opened.name}.")
    if isinstance(opened.storage, TopicStorage) and opened.storage.passed_over:
        tell(f"Passed over {counted(opened.storage.passed_over, 'key')} in {opened.name} of another shape.")
    of = counted(len(passed.names), "connector")
    tell(f"Exported {counted(passed.entries, 'offset')} of {of} from {opened.name}.")


class _Counted:
    """Counts what passes."""

    def __init__(self) -> None:
        self.names: set[str] = set()
        self.entries = 0

    def counting(self, offsets: Iterator[tuple[str, Offsets]]) -> Iterator[tuple[str, Offsets]]:
        for name, found in offsets:
            self.names.add(name)
            self.entries += len(found)
            yield name, found


@contextmanager
def _writing(target: Path | None) -> Iterator[TextIO]:
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

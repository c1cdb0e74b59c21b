"""Documents that the journal keeps with a record: offsets that are too many for it, and that a person can import."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping

from airflow_provider_connect_offsets.exceptions import DatasetError, JournalLost, WorkspaceUnwritable
from airflow_provider_connect_offsets.offsets.document import Offsets, kip199_document, parse_kip199
from airflow_provider_connect_offsets.saga import JsonMap
from airflow_provider_connect_offsets.workspace import files

_DIGESTS = "digests"


def keep(file: Callable[[str], str], documents: Mapping[str, Mapping[str, Offsets]]) -> JsonMap:
    """Write documents, and return what the record keeps of them: by name their URI, and their digests.

    ``file`` returns the URI of a document by its name. Raises :class:`JournalLost`.
    """
    texts = {name: kip199_document(offsets) for name, offsets in documents.items()}
    try:
        for name, text in texts.items():
            files.write_bytes(file(name), text.encode())
    except WorkspaceUnwritable as error:
        raise JournalLost(f"The journal of an import can't be written: {error}") from error
    return {**{name: file(name) for name in texts}, _DIGESTS: {name: _digest(text) for name, text in texts.items()}}


def read(captured: JsonMap, name: str) -> Mapping[str, Offsets]:
    """Read a document; raises :class:`DatasetError` if it is not the one that the record has kept."""
    uri = captured[name]
    content, expected = files.read_bytes(uri), captured.get(_DIGESTS, {}).get(name)
    if content is None or expected not in {None, _digest(content.decode(errors="replace"))}:
        raise DatasetError(f"{uri} is missing, or is no longer the document that the journal has kept.")
    return parse_kip199(json.loads(content))


def _digest(document: str) -> str:
    return hashlib.sha256(document.encode()).hexdigest()

"""Reads the files of a journal; a file that can't be read is an error, never a missing file."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from airflow_provider_connect_offsets.exceptions import DatasetError, JournalDamaged
from airflow_provider_connect_offsets.workspace import files

_T = TypeVar("_T")


def stored(connector: str, home: str, name: str, parse: Callable[[dict[str, Any]], _T]) -> _T | None:
    """Read one of the two files of a generation.

    Args:
        connector: The resource, for messages.
        home: URI of the generation, without the names of its files.
        name: ``lease`` or ``record``.
        parse: Converts the JSON object.

    Returns:
        None if the file does not exist.

    Raises:
        JournalDamaged: The file can't be read.
    """
    uri = f"{home}.{name}.json"
    try:
        fields = files.read_json_if_any(uri)
        return None if fields is None else parse(fields)
    except (DatasetError, AttributeError, KeyError, TypeError, ValueError) as error:
        raise JournalDamaged(
            f"Nothing was done: the journal of {connector!r} is damaged, so it is unknown what a change has left "
            f"there: {uri} ({error!r}). Check the connector's state and offsets; once they are right, move that file "
            "away and try again."
        ) from error

"""Connectors whose stored offsets can't be read, among others whose offsets can."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

from airflow_provider_connect_offsets.exceptions import StoreDamaged
from airflow_provider_connect_offsets.offsets.document import Offsets

#: Called with a connector whose offsets can't be read, and the error; if it returns, the connector is left out.
Damaged: TypeAlias = Callable[[str, StoreDamaged], None]


def raise_damage(_connector: str, error: StoreDamaged) -> None:
    """Raise the error, so that no connector is left out."""
    raise error


def read_unless_damaged(name: str, read: Callable[[str], Offsets], damaged: Damaged) -> Iterator[tuple[str, Offsets]]:
    """Yield a connector with its offsets; nothing if ``damaged`` lets it be left out."""
    try:
        offsets = read(name)
    except StoreDamaged as error:
        damaged(name, error)
    else:
        yield name, offsets

"""Reads the offsets of many connectors: several at once where the store allows it, a storage only once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from threading import local
from typing import TypeVar

from airflow_provider_connect_offsets.connect.protocols import OffsetStore, SharedStore
from airflow_provider_connect_offsets.connect.storage.storage_control import Storage
from airflow_provider_connect_offsets.offsets.document import Offsets

Result = TypeVar("Result")
#: Reads the offsets of one connector.
Reader = Callable[[str], Offsets]

#: Requests for offsets that are sent at once; a worker answers each by one of its threads.
AT_ONCE = 8


def read_many(
    store: OffsetStore, names: Sequence[str], read: Callable[[str, Reader], Result]
) -> Iterator[tuple[str, Result]]:
    """Yield each name with what ``read`` returns for it, in the order of ``names``.

    Args:
        store: The store of the offsets.
        names: The connectors.
        read: Is called with a name and a reader of offsets, in several threads at once. What it raises is raised for
            the first such name; then no further offsets are requested.
    """
    with ExitStack() as stack:
        # Made in this thread: if a thread of the pool failed at its start, the pool would break and the error be lost.
        free = [_reader_of(store), *_more_readers(store, len(names), stack)]
        own = local()

        def take_reader() -> None:
            own.read = free.pop()

        pool = stack.enter_context(ThreadPoolExecutor(max_workers=len(free), initializer=take_reader))
        stack.callback(pool.shutdown, cancel_futures=True)
        yield from zip(names, pool.map(lambda name: read(name, own.read), names), strict=True)


def _more_readers(store: OffsetStore, connectors: int, stack: ExitStack) -> Iterator[Reader]:
    """Yield readers of more clients of the store, which end with ``stack``; each thread uses one."""
    if isinstance(store, SharedStore):
        for _ in range(min(AT_ONCE, connectors) - 1):
            yield stack.enter_context(store.another()).read_offsets


def _reader_of(store: OffsetStore) -> Reader:
    return store.make_finder() if isinstance(store, Storage) else store.read_offsets

"""The generations of a journal, for reading; this needs no lease."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from copy import copy
from typing import Any, Self, TypeVar

from airflow_provider_connect_offsets.clock import SYSTEM_CLOCK, Clock
from airflow_provider_connect_offsets.saga import overlaps
from airflow_provider_connect_offsets.saga.entry import read_stored
from airflow_provider_connect_offsets.saga.lease import Lease
from airflow_provider_connect_offsets.saga.lease import age as age_in_store
from airflow_provider_connect_offsets.saga.record import SagaRecord, SagaState
from airflow_provider_connect_offsets.workspace import files
from airflow_provider_connect_offsets.workspace.journals.journal_store import JournalStore
from airflow_provider_connect_offsets.workspace.paths import join, unique_segment

_T = TypeVar("_T")
_LEASE = re.compile(r"(\d+)\.lease\.json")
# How many settled generations are kept: a retry, minutes after the previous attempt, looks for its own saga in them.
REMEMBERED = 20


class Generations:
    """All sagas of one resource, usually a connector.

    Args:
        root: The store of all journals, or its URI (``workspace.layout.journal_root``).
        cluster: The cluster of the resource.
        resource: Its name.
        also: Another name of the cluster, under which the resource is leased, too; empty if it has none.
        wall: Returns the seconds since 1970 by this machine's clock, which leases show to people.
        age: Returns the seconds since a file was written, by its store's clock; None: unknown.
        clock: Measures how long a lease was not renewed.
    """

    def __init__(  # noqa: PLR0913 - three are for tests
        self,
        root: str | JournalStore,
        *,
        cluster: str,
        resource: str,
        also: str = "",
        wall: Callable[[], float] = time.time,
        age: Callable[[str], float | None] = age_in_store,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self._store = root if isinstance(root, JournalStore) else JournalStore(root)
        self.resource = resource
        self.uri = join(self._store.uri, unique_segment(cluster), unique_segment(resource))
        self.twin = join(self._store.uri, unique_segment(also), unique_segment(resource)) if also else ""
        self._wall, self._age, self._clock = wall, age, clock

    def at(self, resource: str, uri: str, twin: str = "") -> Self:
        """Return the journal of another resource; ``twin``: its URI under the cluster's other name, empty if none."""
        other = copy(self)
        other.resource, other.uri, other.twin = resource, uri, twin
        return other

    def both_journals(self) -> list[Self]:
        """Return this journal, and the journal under the cluster's other name, if there is another name."""
        return [self, self.at(self.resource, self.twin)] if self.twin else [self]

    def journal_of_sibling(self, resource: str) -> Self:
        """Return the journal of another resource of the same cluster."""
        uris = (one and join(one.rpartition("/")[0], unique_segment(resource)) for one in (self.uri, self.twin))
        return self.at(resource, *uris)

    def home(self, number: int) -> str:
        """Return the URI of a generation, without the names of its files."""
        return join(self.uri, f"{number:06d}")

    def file(self, number: int, name: str) -> str:
        """Return the URI of one of a generation's files."""
        return f"{self.home(number)}.{name}.json"

    def newest_generation(self) -> int:
        """Return the highest generation; 0 if there is none."""
        return next(self._numbers(), 0)

    def record(self, number: int) -> SagaRecord | None:
        """Read the record of a generation; None if it never got one. Raises :class:`JournalDamaged`."""
        return self._read_stored(self._home_of(number), "record", SagaRecord.from_json)

    def record_of(self, run: str, key: str) -> SagaRecord | None:
        """Read the newest record of the saga with this ``key`` that ``run`` makes; None if it has none.

        Newer generations may belong to attempts that changed nothing (a retry, a teardown), or to other runs.
        """
        own = (record for _home, record in self._records() if (record.owner.run, record.key) == (run, key))
        return next(own, None)

    def read_left(self) -> tuple[SagaRecord, Lease | None] | None:
        """Read the unfinished saga that has its home here, under way or left behind, and its lease; None if none.

        Newer generations of processes that died before they wrote their first record do not hide it.
        """
        home, record = self._newest_record()
        is_left = record is not None and record.state.is_unfinished and home.rpartition("/")[0] == self.uri
        return (record, self._lease(self.newest_generation())) if record is not None and is_left else None

    def read_begun(self) -> list[tuple[SagaRecord, Lease | None]]:
        """Read the sagas that are remembered and were begun, the newest first, each with its newest lease."""
        begun: list[tuple[SagaRecord, Lease | None]] = []
        for home, record in self._records():
            # A saga that another process has settled is in that process's generation, too.
            what = (record.owner, record.operation, record.key)
            is_known = any((one.owner, one.operation, one.key) == what for one, _lease in begun[-1:])
            if record.is_begun and not is_known:
                begun.append((record, self._read_stored(home, "lease", Lease.from_json)))
        return begun

    def home_left(self) -> Self | None:
        """Return the journal that keeps the unfinished saga of the resource; None if there is no such saga."""
        for one in self.both_journals():
            home, record = one._newest_record()  # noqa: SLF001 - the same class
            if record is not None and record.state.is_unfinished:
                uri = home.rpartition("/")[0]
                return self if uri == self.uri else self.at(record.resource, uri)
        return None

    def read_later(self, run: str, key: str) -> SagaRecord | None:
        """Read the newest saga that another run has begun since ``run`` made the saga ``key``; None if none has."""
        for _home, record in self._records():
            if not record.is_begun:
                continue
            if (record.owner.run, record.key) == (run, key):
                return None
            if record.owner.run != run:
                return record
        return None

    def holder(self, number: int) -> str:
        """Name the run that has the lease of a generation, for messages."""
        lease = self._lease(number)
        return "nobody" if lease is None else f"run {lease.owner.run!r} (task {lease.owner.task})"

    def is_open_for(self, run: str) -> bool:
        """Whether ``run`` keeps an unfinished saga open for its later tasks (:meth:`claim`).

        Raises :class:`Overlap` if ``run`` has not completed its saga, and another run has taken the resource over: its
        later tasks must not begin anew as if nothing had been undone.
        """
        number = self.newest_generation()
        lease, record = self._lease(number), self.record(number) if number else None
        if lease is not None and lease.owner.run != run:
            own = next((one for _home, one in self._records() if one.owner.run == run and one.key), None)
            if own is not None and own.is_begun and own.state is not SagaState.DONE:
                raise overlaps.taken_over(self.resource, holder=self.holder(number))
            return False
        is_kept = lease is not None and not lease.owner.pid and not lease.is_over
        return is_kept and record is not None and (record.state.is_unfinished or not record.is_begun)

    def _newest_record(self, up_to: int | None = None) -> tuple[str, SagaRecord | None]:
        """Return home and record of the newest generation up to ``up_to`` that has a record; empty and None if none."""
        return next(self._records(up_to), ("", None))

    def _records(self, up_to: int | None = None) -> Iterator[tuple[str, SagaRecord]]:
        """Read home and record of all generations up to ``up_to``, the newest first, without those that have none."""
        for number in self._numbers():
            if up_to is None or number <= up_to:
                home = self._home_of(number)
                record = self._read_stored(home, "record", SagaRecord.from_json)
                if record is not None:
                    yield home, record

    def _numbers(self) -> Iterator[int]:
        """List all generations, the newest first."""
        # By the leases alone: only they are created exclusively, so a generation without a lease does not count.
        leases = (_LEASE.fullmatch(name) for name in files.list_names(self.uri))
        return iter(sorted((int(match[1]) for match in leases if match), reverse=True))

    def _is_home(self, number: int) -> bool:
        return self._home_of(number) == self.home(number)

    def _home_of(self, number: int) -> str:
        """Return the URI of the generation that keeps the record and the lease of a generation."""
        own = self._read_stored(self.home(number), "lease", Lease.from_json)
        return (own and own.home) or self.home(number)

    def _lease(self, number: int) -> Lease | None:
        """Read a generation's lease, which is kept in its home."""
        return self._read_stored(self._home_of(number), "lease", Lease.from_json)

    def _read_stored(self, home: str, name: str, parse: Callable[[dict[str, Any]], _T]) -> _T | None:
        """Read one of the files of a generation, as :func:`read_stored`."""
        return read_stored(self._store, self.resource, f"{home}.{name}.json", parse)

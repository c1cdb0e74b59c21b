"""The journal: what a saga has done so far, durable before each step, and which process may continue it.

``<workspace>/_journal/<cluster>/<resource>/`` holds two files for each saga, its generation::

    000001.lease.json     who has the lease, and when they renewed it last; created exclusively: the lock
    000001.record.json    the stages, what each captured, and how far it has come; replaced as a whole before each step

A generation's number is its fencing token: a process that finds a higher number than its own has lost the resource. A
saga of several resources is kept in the journal of one, its home; the leases of the others name the home's generation.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from copy import copy
from dataclasses import replace

import tenacity

from airflow_provider_connect_offsets.clock import SYSTEM_CLOCK, Clock, retrying
from airflow_provider_connect_offsets.saga import overlaps
from airflow_provider_connect_offsets.saga.entry import JournalEntry, stored
from airflow_provider_connect_offsets.saga.lease import DEAD_AFTER, Heartbeat, Lease, Owner, living
from airflow_provider_connect_offsets.saga.record import SagaRecord
from airflow_provider_connect_offsets.workspace import files
from airflow_provider_connect_offsets.workspace.paths import join, unique_segment

_LEASE = re.compile(r"(\d+)\.lease\.json")
# How many generations back a retry, which comes minutes after the previous attempt, looks for its own saga.
REMEMBERED = 50
# Seconds to wait until an earlier attempt of the same run is dead.
_UNTIL_DEAD = DEAD_AFTER * 3
log = logging.getLogger(__name__)


class Journal:
    """All sagas of one resource, usually a connector.

    Args:
        root: URI of all journals (``workspace.layout.journal_root``).
        cluster: The cluster of the resource.
        resource: Its name.
        also: Another name of the cluster, under which the resource is leased, too; empty if it has none.
        wall: Returns the seconds since 1970 by this machine's clock.
        clock: Measures how long a lease was not renewed.
    """

    def __init__(
        self,
        root: str,
        *,
        cluster: str,
        resource: str,
        also: str = "",
        wall: Callable[[], float] = time.time,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self.resource = resource
        self.uri = join(root, unique_segment(cluster), unique_segment(resource))
        self.twin = join(root, unique_segment(also), unique_segment(resource)) if also else ""
        self._wall, self._clock = wall, clock

    def at(self, resource: str, uri: str, twin: str = "") -> Journal:
        """Return the journal of another resource, by its URI, and that under its cluster's other name."""
        other = copy(self)
        other.resource, other.uri, other.twin = resource, uri, twin
        return other

    def both(self) -> list[Journal]:
        """Return this journal and the one under the cluster's other name, if it has one."""
        return [self, self.at(self.resource, self.twin)] if self.twin else [self]

    def sibling(self, resource: str) -> Journal:
        """Return the journal of another resource of the same cluster."""
        uris = (one and join(one.rpartition("/")[0], unique_segment(resource)) for one in (self.uri, self.twin))
        return self.at(resource, *uris)

    def home(self, number: int) -> str:
        """Return the URI of a generation, without the names of its files."""
        return join(self.uri, f"{number:06d}")

    def file(self, number: int, name: str) -> str:
        """Return the URI of one of a generation's files."""
        return f"{self.home(number)}.{name}.json"

    def newest(self) -> int:
        """Return the highest generation; 0 if there is none."""
        # By the leases alone: only they are created exclusively, so a generation without a lease does not count.
        leases = (_LEASE.fullmatch(name) for name in files.list_names(self.uri))
        return max((int(match[1]) for match in leases if match), default=0)

    def record(self, number: int) -> SagaRecord | None:
        """Read the record of a generation; None if it never got one. Raises :class:`JournalDamaged`."""
        return stored(self.resource, self._home_of(number), "record", SagaRecord.from_json)

    def record_of(self, run: str, key: str) -> SagaRecord | None:
        """Read the newest record of the saga with this ``key`` that ``run`` makes; None if it has none.

        Newer generations may belong to attempts that changed nothing (a retry, a teardown), or to other runs.
        """
        newest = self.newest()
        for number in range(newest, max(newest - REMEMBERED, 0), -1):
            record = self.record(number)
            if record is not None and (record.owner.run, record.key) == (run, key):
                return record
        return None

    def left(self) -> tuple[SagaRecord, Lease] | None:
        """Read the unfinished saga that has its home here, under way or left behind, and its lease; None if none."""
        number = self.newest()
        record, lease = (self.record(number), self._lease(number)) if number else (None, None)
        its_own = self._home_of(number) == self.home(number)
        return (record, lease) if record and lease and record.state.is_unfinished and its_own else None

    def is_left_in(self, home: Journal) -> bool:
        """True if the resource's unfinished saga, under way or left behind, is kept in the journal ``home``."""
        number = self.newest()
        record = self.record(number) if number else None
        is_unfinished = record is not None and record.state.is_unfinished
        return is_unfinished and self._home_of(number).rpartition("/")[0] == home.uri

    def holder(self, number: int) -> str:
        """Name the run that has the lease of a generation, for people."""
        lease = self._lease(number)
        return "nobody" if lease is None else f"run {lease.owner.run!r} (task {lease.owner.task})"

    def is_claimed_for(self, run: str) -> bool:
        """True if a task of ``run`` has claimed the resource for later tasks (:meth:`claim_for_run`)."""
        lease = self._lease(self.newest())
        return lease is not None and lease.owner.run == run and not lease.owner.pid and not lease.is_over

    def refuse_overlap(self, run: str) -> None:
        """Raise :class:`Overlap` if another run is changing the resource now."""
        for one in self.both():
            lease = one._living_lease(number := one.newest())  # noqa: SLF001 - the same class
            if lease is not None and lease.owner.run != run:
                raise overlaps.under_way(self.resource, holder=one.holder(number))

    @contextmanager
    def claim(self, owner: Owner, *, others: Iterable[Journal] = ()) -> Iterator[JournalEntry]:
        """Have the resource's lease for as long as the block lasts; other runs get :class:`Overlap` meanwhile.

        Waits until an earlier attempt of the same run is dead.

        Args:
            owner: This process.
            others: Journals of other resources, which the same lease covers.

        Raises:
            Overlap: Another run has the lease of a resource, or its unfinished saga.
        """
        entry = self._claim(owner, _UNTIL_DEAD)
        with self._kept(entry, owner, seconds_after=0):
            self._claim_others(entry, owner, others, _UNTIL_DEAD)
            yield entry

    def claim_for_run(self, owner: Owner, *, seconds: float, others: Iterable[Journal] = ()) -> JournalEntry:
        """Have the lease for ``seconds``, for a run that continues it in another task (:meth:`continued`).

        ``others``: as of :meth:`claim`. Raises :class:`Overlap`; the run has no lease then.
        """
        between_tasks = replace(owner, pid=0)
        entry = self._claim(between_tasks, timeout=0)
        try:
            self._claim_others(entry, between_tasks, others, timeout=0)
        except BaseException:
            self._end_lease(entry.number, between_tasks, seconds=0)
            raise
        self._write_lease(entry.number, between_tasks, seconds=seconds)
        return entry

    def _claim_others(self, entry: JournalEntry, owner: Owner, others: Iterable[Journal], timeout: float) -> None:
        """Cover other resources by the lease of ``entry``, and those of the saga that it has taken over."""
        covered = (one for journal in (self, *others) for one in journal.both())
        journals = {one.uri: one for one in covered if one.uri != self.uri}
        entry.others = tuple((journal.resource, uri) for uri, journal in journals.items())
        journals |= {uri: self.at(name, uri) for name, uri in entry.record.beside if uri not in journals}
        for _uri, journal in sorted(journals.items()):
            journal._claim(owner, timeout, home=entry.home)  # noqa: SLF001 - the same class

    @contextmanager
    def continued(self, owner: Owner, *, seconds: float) -> Iterator[JournalEntry]:
        """Continue with the lease of an earlier task of the same run; it lasts ``seconds`` after the block.

        Raises :class:`Overlap` if the run no longer has the lease.
        """
        number = self.newest()
        lease, record = self._living_lease(number), self.record(number)
        if lease is None or record is None or lease.owner.run != owner.run:
            raise overlaps.taken_over(self.resource, holder=self.holder(number))
        entry = self._entry(number, record)
        with self._kept(entry, replace(owner, pid=0), seconds_after=seconds):
            yield entry

    @contextmanager
    def _kept(self, entry: JournalEntry, owner: Owner, *, seconds_after: float) -> Iterator[None]:
        """Renew the lease while the block lasts; it ends ``seconds_after`` the block."""
        during = max(DEAD_AFTER, seconds_after)
        try:
            with Heartbeat(lambda: self._write_lease(entry.number, owner, seconds=during), self._clock) as heartbeat:
                entry.heartbeat = heartbeat
                yield
        finally:
            entry.heartbeat = None
            self._end_lease(entry.number, owner, seconds=seconds_after)

    def _claim(self, owner: Owner, timeout: float, *, home: str = "") -> JournalEntry:
        retry = tenacity.retry_if_result(lambda entry: entry is None)
        waiting = retrying(retry, timeout=timeout, clock=self._clock, wait=tenacity.wait_fixed(0.5))
        entry = waiting(self._try_claim, owner, home)
        if entry is None:
            raise overlaps.under_way(self.resource, holder=self.holder(self.newest()))
        return entry

    def _try_claim(self, owner: Owner, home: str) -> JournalEntry | None:
        """Create the next generation; None if another process of the same run is still alive."""
        number = self.newest()
        lease = None if self._has_home_of(number, home) else self._living_lease(number)
        if lease is not None and lease.owner.run != owner.run:
            raise overlaps.under_way(self.resource, holder=self.holder(number))
        if lease is not None and lease.owner.pid:
            return None
        # Before the next generation exists: raises for a damaged journal and for the rest of another saga.
        self._unfinished(number, home)
        now = self._wall()
        lease = Lease(owner, now, now + DEAD_AFTER, home)
        if not files.create_bytes(self.file(number + 1, "lease"), files.to_json(lease.as_json())):
            raise overlaps.under_way(self.resource, holder=self.holder(number + 1))
        try:
            return self._begun(number, owner, home)
        except BaseException:
            # Otherwise the lease would refuse all others until it runs out.
            self._end_lease(number + 1, owner, seconds=0)
            raise

    def _begun(self, number: int, owner: Owner, home: str) -> JournalEntry:
        """Return the entry of the generation after ``number``, with what an earlier one has left unfinished."""
        taken_over, left = self._unfinished(number, home)
        record = left or SagaRecord(self.resource, owner)
        entry = self._entry(number + 1, record, taken_over)
        if not home:
            entry.write(record)
        return entry

    def _entry(self, number: int, record: SagaRecord, taken_over: str | None = None) -> JournalEntry:
        def taken_over_by() -> str | None:
            newest = self.newest()
            return None if newest == number else self.holder(newest)

        return JournalEntry(self.home(number), number, record, taken_over=taken_over, taken_over_by=taken_over_by)

    def _unfinished(self, number: int, home: str) -> tuple[str | None, SagaRecord | None]:
        """Return the file of the newest record, and the record, if it is unfinished; otherwise None for both.

        Raises :class:`Overlap` if only the journal of another resource can settle it. ``home``: as of :class:`Lease`.
        """
        for earlier in range(number, 0, -1):
            record = self.record(earlier)
            if record is None:
                continue
            if not record.state.is_unfinished:
                return None, None
            its_home = self._home_of(earlier)
            if its_home.rpartition("/")[0] != (home.rpartition("/")[0] or self.uri):
                raise overlaps.part_of_another(self.resource, record)
            return f"{its_home}.record.json", record
        return None, None

    def _home_of(self, number: int) -> str:
        """Return the URI of the generation that keeps the record and the lease of a generation."""
        own = stored(self.resource, self.home(number), "lease", Lease.from_json)
        return (own and own.home) or self.home(number)

    def _has_home_of(self, number: int, home: str) -> bool:
        """True if a generation has the same home as ``home``, whose lease this process has: so nobody else has it."""
        return bool(home) and self._home_of(number).rpartition("/")[0] == home.rpartition("/")[0]

    def _living_lease(self, number: int) -> Lease | None:
        """Return the lease of a generation if its owner is alive as far as is known; otherwise None."""
        return living(lambda: self._lease(number), wall=self._wall, clock=self._clock)

    def _write_lease(self, number: int, owner: Owner, *, seconds: float) -> None:
        now = self._wall()
        files.write_json(self.file(number, "lease"), Lease(owner, now, now + seconds).as_json())

    def _end_lease(self, number: int, owner: Owner, *, seconds: float) -> None:
        """End the lease in ``seconds``; if that can't be written, it runs out by itself."""
        try:
            self._write_lease(number, owner, seconds=seconds)
        except Exception:
            log.warning("The lease %s could not be ended; it runs out.", self.file(number, "lease"), exc_info=True)

    def _lease(self, number: int) -> Lease | None:
        """Read a generation's lease: that of its home."""
        return stored(self.resource, self._home_of(number), "lease", Lease.from_json)

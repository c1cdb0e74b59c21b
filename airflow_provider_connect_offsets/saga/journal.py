"""The journal: what a saga has done so far, durable before each step, and which process may continue it.

``<workspace>/_journal/<cluster>/<resource>/`` holds two files for each saga, its generation::

    000001.lease.json     who has the lease, and when they renewed it last; created exclusively: the lock
    000001.record.json    the stages, what each captured, and how far it has come; replaced as a whole before each step

A generation's number is its fencing token: a process that finds a higher number than its own has lost the resource. A
saga of several resources is kept in the journal of one, its home; the leases of the others name the home's generation.
Of the settled generations the newest ``REMEMBERED`` stay. Only ``saga.door`` claims, and reads leases.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace

import tenacity

from airflow_provider_connect_offsets.clock import make_attempts
from airflow_provider_connect_offsets.saga import overlaps
from airflow_provider_connect_offsets.saga.entry import JournalEntry
from airflow_provider_connect_offsets.saga.generations import REMEMBERED, Generations
from airflow_provider_connect_offsets.saga.lease import (
    DEAD_AFTER,
    Heartbeat,
    Lease,
    Owner,
    read_living,
    require_single_creation,
)
from airflow_provider_connect_offsets.saga.record import SagaRecord
from airflow_provider_connect_offsets.workspace import files
from airflow_provider_connect_offsets.workspace.paths import join

_GENERATION = re.compile(r"(\d+)\..+\.json")
# Seconds to wait until an earlier attempt of the same run is dead.
_UNTIL_DEAD = DEAD_AFTER * 3
log = logging.getLogger(__name__)


class Journal(Generations):
    """All sagas of one resource, usually a connector, and who may make the next one.

    It takes the arguments of :class:`Generations`. Only ``saga.door`` claims.
    """

    def end_for(self, run: str) -> None:
        """End the lease that an earlier task of ``run`` has kept for later tasks, if the run still has it."""
        number = self.newest_generation()
        lease = self._lease(number) if number else None
        if lease is not None and lease.owner.run == run and not lease.owner.pid and self._is_home(number):
            self._end_lease(number, lease.owner, seconds=0)

    def refuse_overlap(self, run: str) -> None:
        """Raise :class:`Overlap` if another run is changing the resource now."""
        for one in self.both_journals():
            lease = one._living_lease(number := one.newest_generation())  # noqa: SLF001 - the same class
            if lease is not None and lease.owner.run != run:
                raise overlaps.under_way(self.resource, holder=one.holder(number))

    @contextmanager
    def claim(self, owner: Owner, *, others: Iterable[Journal] = (), keep: float = 0) -> Iterator[JournalEntry]:
        """Have the resource's lease for as long as the block lasts; other runs get :class:`Overlap` meanwhile.

        Waits until an earlier attempt of the same run is dead.

        Args:
            owner: This process.
            others: Journals of other resources, which the same lease covers.
            keep: For how many seconds the run keeps the lease after the block, for its later tasks
                (:meth:`continue_lease`); not after an error, unless something is unfinished.

        Raises:
            Overlap: Another run has the lease of a resource, or its unfinished saga.
        """
        entry = self._claim(owner, _UNTIL_DEAD)
        with self._keep(entry, owner, keep=keep):
            self._claim_others(entry, owner, others, _UNTIL_DEAD)
            yield entry

    def _claim_others(self, entry: JournalEntry, owner: Owner, others: Iterable[Journal], timeout: float) -> None:
        """Extend the lease of ``entry`` to other resources, and to all resources of the saga that it has taken over."""
        covered = (one for journal in (self, *others) for one in journal.both_journals())
        journals = {one.uri: one for one in covered if one.uri != self.uri}
        named = tuple((journal.resource, uri) for uri, journal in journals.items())
        journals |= {uri: self.at(name, uri) for name, uri in entry.record.beside if uri not in journals}
        asked = []
        for _uri, journal in sorted(journals.items()):
            number = journal._claim(owner, timeout, home=entry.home).number  # noqa: SLF001 - the same class
            asked.append(journal._watch_takeover(number))  # noqa: SLF001
        entry.cover(named, asked)

    @contextmanager
    def continue_lease(self, owner: Owner, *, seconds: float) -> Iterator[JournalEntry]:
        """Continue with the lease of an earlier task of the same run; it lasts ``seconds`` after the block.

        Raises :class:`Overlap` if the run no longer has the lease.
        """
        number = self.newest_generation()
        lease, record = self._lease(number), self.record(number)
        # However old its lease is: as long as its generation is the newest, no other run has taken over.
        if lease is None or record is None or lease.owner.run != owner.run or not lease.seconds:
            raise overlaps.taken_over(self.resource, holder=self.holder(number))
        entry = self._entry(number, record, owner)
        entry.cover(record.beside, [self.at(name, uri)._watch_covered(entry.home) for name, uri in record.beside])  # noqa: SLF001
        self._write_lease(number, owner, seconds=DEAD_AFTER)
        with self._keep(entry, owner, keep=seconds):
            yield entry

    @contextmanager
    def _keep(self, entry: JournalEntry, owner: Owner, *, keep: float) -> Iterator[None]:
        """Renew the lease while the block lasts; ``keep``: as in :meth:`claim`."""
        heartbeat = Heartbeat(lambda: self._renew(entry.number, owner), self._clock)
        ended = False
        try:
            with heartbeat:
                entry.heartbeat = heartbeat
                yield
            ended = True
        finally:
            entry.heartbeat = None
            if not heartbeat.is_lost:
                seconds = keep if ended or entry.record.state.is_unfinished else 0
                self._end_lease(entry.number, replace(owner, pid=0) if seconds else owner, seconds=seconds)

    def _claim(self, owner: Owner, timeout: float, *, home: str = "") -> JournalEntry:
        retry = tenacity.retry_if_result(lambda entry: entry is None)
        waiting = make_attempts(retry, timeout=timeout, clock=self._clock, wait=tenacity.wait_fixed(0.5))
        entry = waiting(self._try_claim, owner, home)
        if entry is None:
            raise overlaps.under_way(self.resource, holder=self.holder(self.newest_generation()))
        return entry

    def _try_claim(self, owner: Owner, home: str) -> JournalEntry | None:
        """Create the next generation; None if another process of the same run is still alive."""
        require_single_creation(self._store.uri)
        number = self.newest_generation()
        lease = None if self._has_home_of(number, home) else self._living_lease(number)
        if lease is not None and lease.owner.run != owner.run:
            raise overlaps.under_way(self.resource, holder=self.holder(number))
        if lease is not None and lease.owner.pid:
            return None
        # Called before the next generation exists: it raises if the journal is damaged, or another one must settle it.
        self._find_unfinished(number, home)
        lease = Lease(owner, self._wall(), DEAD_AFTER, home)
        if not self._store.create(self.file(number + 1, "lease"), lease.as_json()):
            raise overlaps.under_way(self.resource, holder=self.holder(number + 1))
        try:
            entry = self._begin_entry(number, owner, home)
        except BaseException:
            # Otherwise the lease would refuse all others until it runs out.
            self._end_lease(number + 1, owner, seconds=0)
            raise
        self._prune(number)
        return entry

    def _begin_entry(self, number: int, owner: Owner, home: str) -> JournalEntry:
        """Return the entry of the generation after ``number``, with what an earlier one has left unfinished."""
        taken_over, left = self._find_unfinished(number, home)
        record = left or SagaRecord(self.resource, owner)
        entry = self._entry(number + 1, record, owner, taken_over)
        if not home:
            entry.write(record)
        return entry

    def _entry(self, number: int, record: SagaRecord, owner: Owner, taken_over: str | None = None) -> JournalEntry:
        asked = self._watch_takeover(number)
        return JournalEntry(
            self.home(number),
            number,
            record,
            store=self._store,
            owner=owner,
            taken_over=taken_over,
            taken_over_by=asked,
        )

    def _watch_takeover(self, number: int) -> Callable[[], str | None]:
        """Return a function that names who has taken a generation over; None, without listing files, if nobody has."""

        def taken_over_by() -> str | None:
            # In this order, because pruning removes the oldest generations first.
            if files.exists(self.file(number + 1, "lease")):
                return self.holder(self.newest_generation())
            return None if files.exists(self.file(number, "lease")) else self.holder(self.newest_generation())

        return taken_over_by

    def _watch_covered(self, home: str) -> Callable[[], str | None]:
        """Return that function for the newest generation; raises :class:`Overlap` if its lease isn't in ``home``."""
        number = self.newest_generation()
        if self._home_of(number) != home:
            raise overlaps.taken_over(self.resource, holder=self.holder(number))
        return self._watch_takeover(number)

    def _prune(self, newest: int) -> None:
        """Remove all but the ``REMEMBERED`` newest generations, the oldest first; keep all if the newest is unfinished.

        What can't be removed now is removed later.
        """
        try:
            _home, record = self._newest_record(newest)
            if newest <= REMEMBERED or (record is not None and record.state.is_unfinished):
                return
            found = ((_GENERATION.fullmatch(name), name) for name in files.list_names(self.uri))
            old = ((int(match[1]), name) for match, name in found if match and int(match[1]) <= newest - REMEMBERED)
            for _number, name in sorted(old):
                files.remove(join(self.uri, name))
        except Exception:
            log.warning("Old generations of the journal %s could not be removed.", self.uri, exc_info=True)

    def _find_unfinished(self, number: int, home: str) -> tuple[str | None, SagaRecord | None]:
        """Return the file of the newest record, and the record, if it is unfinished; otherwise None for both.

        Raises :class:`Overlap` if only the journal of another resource can settle it. ``home``: as in :class:`Lease`.
        """
        its_home, record = self._newest_record(number)
        if record is None or not record.state.is_unfinished:
            return None, None
        if its_home.rpartition("/")[0] != (home.rpartition("/")[0] or self.uri):
            raise overlaps.part_of_another(self.resource, record)
        return f"{its_home}.record.json", record

    def _has_home_of(self, number: int, home: str) -> bool:
        """Whether a generation has its home in the journal of ``home``: this process has that lease, so nobody else."""
        return bool(home) and self._home_of(number).rpartition("/")[0] == home.rpartition("/")[0]

    def _living_lease(self, number: int) -> Lease | None:
        """Return the lease of a generation if its owner is alive as far as is known; otherwise None."""
        uri = f"{self._home_of(number)}.lease.json"
        return read_living(lambda: self._lease(number), age=lambda: self._age(uri), clock=self._clock)

    def _renew(self, number: int, owner: Owner) -> bool:
        """Renew a lease, unless another run has taken over; return whether it was renewed."""
        if self._watch_takeover(number)() is not None:
            return False
        self._write_lease(number, owner, seconds=DEAD_AFTER)
        return True

    def _write_lease(self, number: int, owner: Owner, *, seconds: float) -> None:
        self._store.write(self.file(number, "lease"), Lease(owner, self._wall(), seconds).as_json())

    def _end_lease(self, number: int, owner: Owner, *, seconds: float) -> None:
        """End the lease in ``seconds``; if that can't be written, it runs out by itself."""
        try:
            self._write_lease(number, owner, seconds=seconds)
        except Exception:
            log.warning(
                "The lease %s could not be ended. It expires by itself.", self.file(number, "lease"), exc_info=True
            )

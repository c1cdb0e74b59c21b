"""The journal: what a saga has done so far, durable before each step, and who may go on with it.

``<workspace>/_journal/<cluster>/<resource>/`` holds two files for each saga::

    000001.lease.json     who holds the resource, and when they were last heard of; made exclusively: the lock
    000001.record.json    the stages, what each captured, and how far it has come; replaced whole before each step

A generation's number is its fencing token: whoever finds a higher one than their own has lost the resource. A saga of
several resources is kept in the journal of one, its home; the leases of the others name the home's generation.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from copy import copy
from dataclasses import asdict, replace

import tenacity

from airflow_provider_connect_offsets.clock import SYSTEM_CLOCK, Clock
from airflow_provider_connect_offsets.saga import overlaps
from airflow_provider_connect_offsets.saga.entry import JournalEntry
from airflow_provider_connect_offsets.saga.lease import DEAD_AFTER, Heartbeat, Lease, Owner, living
from airflow_provider_connect_offsets.saga.record import SagaRecord
from airflow_provider_connect_offsets.saga.stored import stored
from airflow_provider_connect_offsets.workspace import files
from airflow_provider_connect_offsets.workspace.paths import join, unique_segment

_LEASE = re.compile(r"(\d+)\.lease\.json")
# How many generations back a retry, which comes minutes after the attempt before, looks for its own saga.
REMEMBERED = 50

log = logging.getLogger(__name__)


def journals(root: str) -> Iterator[Journal]:
    """All journals under ``root``, each named after its directory."""
    for cluster in files.list_names(root):
        for name in files.list_names(join(root, cluster)):
            yield Journal(root, cluster=cluster, connector=name).at(name, join(root, cluster, name))


class Journal:
    """All sagas ever made of one resource, a connector mostly, under ``root`` (``workspace.layout.journal_root``).

    ``wall``: seconds since 1970, which every machine tells in its own way. ``clock``: by which silence is measured.
    """

    def __init__(
        self,
        root: str,
        *,
        cluster: str,
        connector: str,
        wall: Callable[[], float] = time.time,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self.connector = connector
        self.uri = join(root, unique_segment(cluster), unique_segment(connector))
        self._wall = wall
        self._clock = clock

    def at(self, connector: str, uri: str) -> Journal:
        """The journal of another resource, which lies there."""
        other = copy(self)
        other.connector, other.uri = connector, uri
        return other

    def sibling(self, connector: str) -> Journal:
        """The journal of another resource of the same cluster."""
        return self.at(connector, join(self.uri.rpartition("/")[0], unique_segment(connector)))

    def home(self, number: int) -> str:
        """The URI of a generation, to which the names of its files are added."""
        return join(self.uri, f"{number:06d}")

    def file(self, number: int, name: str) -> str:
        """The URI of one of a generation's files."""
        return f"{self.home(number)}.{name}.json"

    def newest(self) -> int:
        """The highest generation, 0 where there is none."""
        # By the leases alone: only they are made exclusively, so that nobody counts a generation that isn't held yet.
        found = (_LEASE.fullmatch(name) for name in files.list_names(self.uri))
        return max((int(match[1]) for match in found if match), default=0)

    def record(self, number: int) -> SagaRecord | None:
        """The record of a generation; None where it never got one. Raises :class:`JournalDamaged`."""
        return stored(self.connector, self._home_of(number), "record", SagaRecord.from_json)

    def record_of(self, run: str, key: str) -> SagaRecord | None:
        """The newest record of the saga with this ``key`` that ``run`` makes; None where it has none.

        Attempts that only looked (a retry, a teardown) and other runs' sagas may have come after it.
        """
        newest = self.newest()
        for number in range(newest, max(newest - REMEMBERED, 0), -1):
            record = self.record(number)
            if record is not None and (record.owner.run, record.key) == (run, key):
                return record
        return None

    def left(self) -> tuple[SagaRecord, Lease] | None:
        """What is unfinished here and has its home here, under way or left behind, and its lease; None: nothing is."""
        number = self.newest()
        record, lease = (self.record(number), self._lease(number)) if number else (None, None)
        if (
            record is None
            or lease is None
            or not record.state.is_unfinished
            or self._home_of(number) != self.home(number)
        ):
            return None
        return record, lease

    def is_left_in(self, home: Journal) -> bool:
        """Whether what is unfinished of the resource, under way or left behind, is kept in the journal of another."""
        number = self.newest()
        record = self.record(number) if number else None
        if record is None or not record.state.is_unfinished:
            return False
        return self._home_of(number).rpartition("/")[0] == home.uri

    def holder(self, number: int) -> str:
        """Name the run that holds a generation, for people."""
        lease = self._lease(number)
        return "nobody" if lease is None else f"run {lease.owner.run!r} (task {lease.owner.task})"

    def is_held_by(self, run: str) -> bool:
        """Whether a task of ``run`` has claimed the connector for those that come after it (:meth:`hold`)."""
        lease = self._lease(self.newest())
        return lease is not None and lease.owner.run == run and not lease.owner.pid and not lease.is_over

    def refuse_overlap(self, run: str) -> None:
        """Raise :class:`Overlap` where another run is changing the connector right now."""
        lease = self._living_lease(number := self.newest())
        if lease is not None and lease.owner.run != run:
            raise overlaps.under_way(self.connector, holder=self.holder(number))

    @contextmanager
    def claim(
        self, owner: Owner, *, beside: Iterable[Journal] = (), timeout: float = DEAD_AFTER * 3
    ) -> Iterator[JournalEntry]:
        """Hold the resource for as long as the block lasts; whoever else asks meanwhile gets :class:`Overlap`.

        ``beside``: journals of other resources, which are held by the same lease. What the same run left behind (a
        killed attempt) is waited for until it is dead, at most ``timeout`` seconds.
        """
        entry = self._claim(owner, timeout)
        with self._kept(entry, owner, seconds_after=0):
            self._claim_beside(entry, owner, beside, timeout)
            yield entry

    def hold(self, owner: Owner, *, seconds: float, beside: Iterable[Journal] = ()) -> JournalEntry:
        """Claim the connector for a run that goes on with it in another task, within ``seconds``; ``beside``: as above.

        Raises :class:`Overlap`, and holds nothing then.
        """
        between_tasks = replace(owner, pid=0)
        entry = self._claim(between_tasks, timeout=0)
        try:
            self._claim_beside(entry, between_tasks, beside, timeout=0)
        except BaseException:
            self._end_lease(entry.number, between_tasks, seconds=0)
            raise
        self._write_lease(entry.number, between_tasks, seconds=seconds)
        return entry

    def _claim_beside(self, entry: JournalEntry, owner: Owner, beside: Iterable[Journal], timeout: float) -> None:
        """Hold other resources by the lease of ``entry``; so what it has taken over keeps all that it holds."""
        wanted = {journal.uri: journal for journal in beside}
        entry.beside = tuple((journal.connector, uri) for uri, journal in wanted.items())
        wanted |= {uri: self.at(name, uri) for name, uri in entry.record.beside if uri not in wanted}
        for _uri, journal in sorted(wanted.items()):
            journal._claim(owner, timeout, home=entry.home)  # noqa: SLF001 - one of its own kind

    @contextmanager
    def held(self, owner: Owner, *, seconds: float) -> Iterator[JournalEntry]:
        """Go on with what an earlier task of the same run holds, and hold it for ``seconds`` after the block.

        Raises :class:`Overlap`.
        """
        number = self.newest()
        lease, record = self._living_lease(number), self.record(number)
        if lease is None or record is None or lease.owner.run != owner.run:
            raise overlaps.taken_over(self.connector, holder=self.holder(number))
        entry = self._entry(number, record)
        with self._kept(entry, replace(owner, pid=0), seconds_after=seconds):
            yield entry

    @contextmanager
    def _kept(self, entry: JournalEntry, owner: Owner, *, seconds_after: float) -> Iterator[None]:
        """Renew the lease while the block lasts; then it ends in ``seconds_after``."""
        during = max(DEAD_AFTER, seconds_after)
        try:
            with Heartbeat(lambda: self._write_lease(entry.number, owner, seconds=during), self._clock) as heartbeat:
                entry.heartbeat = heartbeat
                yield
        finally:
            entry.heartbeat = None
            self._end_lease(entry.number, owner, seconds=seconds_after)

    def _claim(self, owner: Owner, timeout: float, *, home: str = "") -> JournalEntry:
        waiting = tenacity.Retrying(
            retry=tenacity.retry_if_result(lambda entry: entry is None),
            wait=tenacity.wait_fixed(0.5),
            stop=tenacity.stop_after_delay(timeout),
            retry_error_callback=lambda _state: None,
        )
        entry = waiting(self._try_claim, owner, home)
        if entry is None:
            raise overlaps.under_way(self.connector, holder=self.holder(self.newest()))
        return entry

    def _try_claim(self, owner: Owner, home: str) -> JournalEntry | None:
        """Take the next generation; None where another process of the same run is still at it."""
        number = self.newest()
        lease = None if self._has_home_of(number, home) else self._living_lease(number)
        if lease is not None and lease.owner.run != owner.run:
            raise overlaps.under_way(self.connector, holder=self.holder(number))
        if lease is not None and lease.owner.pid:
            return None
        # Before there is one more generation, so that a damaged journal and another saga's rest are found.
        self._unfinished(number, home)
        now = self._wall()
        lease = Lease(owner, now, now + DEAD_AFTER, home)
        if not files.create_bytes(self.file(number + 1, "lease"), files.to_json(asdict(lease))):
            raise overlaps.under_way(self.connector, holder=self.holder(number + 1))
        try:
            return self._begun(number, owner, home)
        except BaseException:
            # Or it would keep everybody else away until it runs out.
            self._end_lease(number + 1, owner, seconds=0)
            raise

    def _begun(self, number: int, owner: Owner, home: str) -> JournalEntry:
        """The entry of the generation after ``number``, whose lease stands, with what an earlier one has left."""
        taken_over, left = self._unfinished(number, home)
        record = left or SagaRecord(self.connector, owner)
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
        """The newest record where it is unfinished, and its file; whoever died before a first note has none.

        Raises :class:`Overlap` where only the journal of another resource can settle it. ``home``: who wants to hold
        this resource beside its own, the generation of the latter; else empty.
        """
        for earlier in range(number, 0, -1):
            record = self.record(earlier)
            if record is None:
                continue
            if not record.state.is_unfinished:
                return None, None
            lies_in = self._home_of(earlier)
            if lies_in.rpartition("/")[0] != (home.rpartition("/")[0] or self.uri):
                raise overlaps.part_of_another(self.connector, record)
            return f"{lies_in}.record.json", record
        return None, None

    def _home_of(self, number: int) -> str:
        """Where the record of a generation lies, and the lease that counts for it."""
        own = stored(self.connector, self.home(number), "lease", Lease.from_json)
        return (own and own.home) or self.home(number)

    def _has_home_of(self, number: int, home: str) -> bool:
        """Whether a generation has the home of whoever holds ``home`` now, and so nobody else any more."""
        return bool(home) and self._home_of(number).rpartition("/")[0] == home.rpartition("/")[0]

    def _living_lease(self, number: int) -> Lease | None:
        """The lease of a generation whose owner is alive, as far as can be known."""
        return living(lambda: self._lease(number), wall=self._wall, clock=self._clock)

    def _write_lease(self, number: int, owner: Owner, *, seconds: float) -> None:
        now = self._wall()
        files.write_json(self.file(number, "lease"), asdict(Lease(owner, now, now + seconds)))

    def _end_lease(self, number: int, owner: Owner, *, seconds: float) -> None:
        """End it in ``seconds``; where that can't be written, it runs out by itself."""
        try:
            self._write_lease(number, owner, seconds=seconds)
        except Exception:
            log.warning("The lease %s could not be ended; it runs out.", self.file(number, "lease"), exc_info=True)

    def _lease(self, number: int) -> Lease | None:
        """A generation's lease: of one that is held together with another resource, that one's."""
        return stored(self.connector, self._home_of(number), "lease", Lease.from_json)

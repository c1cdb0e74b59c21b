"""The journal: what a change has done so far, durable before each step, and who may go on with it.

``<workspace>/_journal/<connect cluster>/<connector>/`` holds two files for each change::

    000001.lease.json     who holds the connector, and when they were last heard of; made exclusively: the lock
    000001.record.json    what was found, what is wanted, and how far it has come; replaced whole before each step

A generation's number is its fencing token: whoever finds a higher one than their own has lost the connector.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from datetime import datetime
from typing import Any, TypeVar

import tenacity

from airflow_provider_connect_offsets.change.lease import DEAD_AFTER, SILENT_AFTER, Heartbeat, Lease, Owner
from airflow_provider_connect_offsets.change.record import Phase, Record, moment
from airflow_provider_connect_offsets.exceptions import (
    DatasetError,
    InvalidDocument,
    JournalDamaged,
    JournalLost,
    Overlap,
)
from airflow_provider_connect_offsets.stores.clock import SYSTEM_CLOCK, Clock
from airflow_provider_connect_offsets.workspace import files
from airflow_provider_connect_offsets.workspace.layout import join, unique_segment

_LEASE = re.compile(r"(\d+)\.lease\.json")
# How many generations back a retry looks for its own change; it comes minutes after the attempt before, not months.
REMEMBERED = 50
_WATCHED_EVERY = 0.5

log = logging.getLogger(__name__)
_T = TypeVar("_T")


class Entry:
    """One generation, held by this process: its record is written before each step.

    ``record`` is what a dead predecessor left unfinished, until :meth:`begin` puts this process's own in its place.
    ``taken_over`` is the generation that it was left in, None where nothing was.
    """

    def __init__(self, journal: Journal, number: int, record: Record, taken_over: int | None = None) -> None:
        self._journal = journal
        self.number = number
        self.record = record
        self.heartbeat: Heartbeat | None = None
        self._taken_over = taken_over
        self._in_memory = False

    def file(self, name: str) -> str:
        """The URI of one of this generation's files."""
        return self._journal.file(self.number, name)

    def begin(self, owner: Owner) -> None:
        """Start a record of one's own, once nothing unfinished is left; what was left keeps how it ended."""
        if self._taken_over is not None:
            files.write_json(self._journal.file(self._taken_over, "record"), self.record.as_json())
            self._taken_over = None
        self._write(Record(self.record.connector, owner))

    def note(self, phase: Phase, **known: Any) -> None:
        """Make ``phase``, and what is known by now, durable.

        Raises :class:`Overlap` where another run took over, and :class:`JournalLost` where the journal can't be
        written, or the lease was not renewed for too long.
        """
        self._write(replace(self.record, phase=phase, **known))

    def go_on_in_memory(self) -> None:
        """Take what is noted from now on as it is, durable or not: what was done has to be undone all the same."""
        self._in_memory = True

    def _write(self, record: Record) -> None:
        try:
            self._refuse_taken_over()
            files.write_json(self.file("record"), record.as_json())
        except Overlap:
            raise
        except Exception as error:
            if not self._in_memory:
                if isinstance(error, JournalLost):
                    raise
                raise JournalLost(
                    f"The journal of {self.record.connector!r} can't be written: {self.file('record')} ({error!r})."
                ) from error
            log.warning("The journal %s could not be written.", self.file("record"), exc_info=True)
        self.record = record

    def _refuse_taken_over(self) -> None:
        newest = self._journal.newest()
        if newest != self.number:
            raise Overlap(
                f"{self.record.connector!r} was taken over by {self._journal.holder(newest)}, as this run was not "
                "heard of for too long. Nothing more is done here."
            )
        silent = 0.0 if self.heartbeat is None else self.heartbeat.silent_for
        if silent > SILENT_AFTER and not self._in_memory:
            raise JournalLost(
                f"The lease of {self.record.connector!r} could not be renewed for {silent:.0f} s, so that another run "
                f"may soon take it: {self.file('lease')}."
            )


class Journal:
    """All changes ever made to one connector, under ``root`` (``workspace.layout.journal_root``).

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

    def file(self, number: int, name: str) -> str:
        """The URI of one of a generation's files."""
        return join(self.uri, f"{number:06d}.{name}.json")

    def newest(self) -> int:
        """The highest generation, 0 where there is none."""
        # By the leases alone: only they are made exclusively, so that nobody counts a generation that isn't held yet.
        found = (_LEASE.fullmatch(name) for name in files.list_names(self.uri))
        return max((int(match[1]) for match in found if match), default=0)

    def record(self, number: int) -> Record | None:
        """The record of a generation; None where it never got one. Raises :class:`JournalDamaged`."""
        return self._read(number, "record", Record.from_json)

    def record_of(self, run: str, digest: str, *, observed_at: datetime | None) -> Record | None:
        """The newest record of the change that ``run`` makes by the plan with this digest; None where it has none.

        ``observed_at``: when the offsets were observed that the plan was made from. A run that is cleared makes the
        same plan again from what it observes then, and has not applied that yet.
        Attempts that only looked (a retry, a teardown) and other runs' changes may have come after it.
        """
        newest, plan = self.newest(), (digest, moment(observed_at))
        for number in range(newest, max(newest - REMEMBERED, 0), -1):
            record = self.record(number)
            if record is not None and record.owner.run == run and (record.digest, record.observed_at) == plan:
                return record
        return None

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
        number = self.newest()
        lease = self._living_lease(number)
        if lease is not None and lease.owner.run != run:
            raise self._overlap(number)

    @contextmanager
    def claim(self, owner: Owner, *, patience: float = DEAD_AFTER * 3) -> Iterator[Entry]:
        """Hold the connector for as long as the block lasts; whoever else asks meanwhile gets :class:`Overlap`.

        What the same run left behind (a killed attempt) is waited for until it is dead, at most ``patience`` seconds.
        """
        entry = self._claim(owner, patience)
        with self._kept(entry, owner, seconds_after=0):
            yield entry

    def hold(self, owner: Owner, *, seconds: float) -> Entry:
        """Claim the connector for a run that goes on with it in another task, within ``seconds``."""
        between_tasks = replace(owner, pid=0)
        entry = self._claim(between_tasks, patience=0)
        self._write_lease(entry.number, between_tasks, seconds=seconds)
        return entry

    @contextmanager
    def held(self, owner: Owner, *, seconds: float) -> Iterator[Entry]:
        """Go on with what an earlier task of the same run holds, and hold it for ``seconds`` after the block.

        Raises :class:`Overlap`.
        """
        number = self.newest()
        lease, record = self._living_lease(number), self.record(number)
        if lease is None or record is None or lease.owner.run != owner.run:
            raise Overlap(
                f"Nothing was done: {self.connector!r} is not held by this run any more, but by {self.holder(number)}. "
                "Begin again."
            )
        entry = Entry(self, number, record)
        with self._kept(entry, replace(owner, pid=0), seconds_after=seconds):
            yield entry

    @contextmanager
    def _kept(self, entry: Entry, owner: Owner, *, seconds_after: float) -> Iterator[None]:
        """Renew the lease while the block lasts; then it ends in ``seconds_after``."""
        during = max(DEAD_AFTER, seconds_after)
        try:
            with Heartbeat(lambda: self._write_lease(entry.number, owner, seconds=during), self._clock) as heartbeat:
                entry.heartbeat = heartbeat
                yield
        finally:
            entry.heartbeat = None
            self._end_lease(entry.number, owner, seconds=seconds_after)

    def _claim(self, owner: Owner, patience: float) -> Entry:
        waiting = tenacity.Retrying(
            retry=tenacity.retry_if_result(lambda entry: entry is None),
            wait=tenacity.wait_fixed(0.5),
            stop=tenacity.stop_after_delay(patience),
            retry_error_callback=lambda _state: None,
        )
        entry = waiting(self._try_claim, owner)
        if entry is None:
            raise self._overlap(self.newest())
        return entry

    def _try_claim(self, owner: Owner) -> Entry | None:
        """Take the next generation; None where another process of the same run is still at it."""
        number = self.newest()
        lease = self._living_lease(number)
        if lease is not None and lease.owner.run != owner.run:
            raise self._overlap(number)
        if lease is not None and lease.owner.pid:
            return None
        self._unfinished(number)  # so that a damaged journal is found before there is one more generation of it
        now = self._wall()
        lease_json = files.to_json(asdict(Lease(owner, now, now + DEAD_AFTER)))
        if not files.create_bytes(self.file(number + 1, "lease"), lease_json):
            raise self._overlap(number + 1)
        left_in, left = self._unfinished(number)
        entry = Entry(self, number + 1, left or Record(self.connector, owner), left_in)
        entry.note(entry.record.phase)
        return entry

    def _unfinished(self, number: int) -> tuple[int | None, Record | None]:
        """The newest record where it is unfinished, and its generation; whoever died before a first note has none."""
        for earlier in range(number, 0, -1):
            record = self.record(earlier)
            if record is not None:
                done = record.phase.is_final or record.phase is Phase.CLAIMED
                return (None, None) if done else (earlier, record)
        return None, None

    def _living_lease(self, number: int) -> Lease | None:
        """The lease of a change whose owner is alive, as far as can be known.

        Two machines' clocks need not agree: one that seems to have run out, or to come from the future, is watched by
        this machine's clock before anybody is taken for dead.
        """
        lease = self._lease(number)
        if lease is None or lease.is_over:
            return None
        if lease.is_fresh(self._wall()):
            return lease
        silent_since = self._clock.now()
        while self._clock.now() < silent_since + DEAD_AFTER:
            self._clock.sleep(_WATCHED_EVERY)
            now = self._lease(number)
            if now is None or now.is_over:
                return None
            if now != lease:
                return now
        return None

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
        return self._read(number, "lease", Lease.from_json)

    def _read(self, number: int, name: str, parse: Callable[[dict[str, Any]], _T]) -> _T | None:
        """Read one of a generation's files; what can't be read is never taken for nothing."""
        uri = self.file(number, name)
        try:
            fields = files.read_json_if_any(uri)
            return None if fields is None else parse(fields)
        except (DatasetError, InvalidDocument, KeyError, TypeError, ValueError) as error:
            raise JournalDamaged(
                f"Nothing was done: the journal of {self.connector!r} is damaged, so nobody can tell what a change has "
                f"left there: {uri} ({error!r}). Look at the connector's state and offsets; once they are right, move "
                "that file away and try again."
            ) from error

    def _overlap(self, number: int) -> Overlap:
        return Overlap(
            f"Nothing was done: {self.connector!r} is being changed by {self.holder(number)}. Try again when that has "
            "ended."
        )

"""The journal: what a change has done so far, durable before each step, and who may go on with it.

``<workspace>/_journal/<connect cluster>/<connector>/`` holds two files for each change::

    000001.lease.json     who holds the connector, and when they were last heard of; made exclusively: the lock
    000001.record.json    what was found, what is wanted, and how far it has come; replaced whole before each step

A generation's number is its fencing token: whoever finds a higher one than their own has lost the connector.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from datetime import datetime
from typing import Any, TypeVar

import tenacity

from airflow_provider_connect_offsets.change.record import Lease, Owner, Phase, Record
from airflow_provider_connect_offsets.exceptions import DatasetError, InvalidDocument, JournalDamaged, Overlap
from airflow_provider_connect_offsets.workspace import files
from airflow_provider_connect_offsets.workspace.layout import join, unique_segment

_LEASE = re.compile(r"(\d+)\.lease\.json")
HEARTBEAT = 4.0
DEAD_AFTER = 20.0
# How many generations back a retry looks for its own change; it comes minutes after the attempt before, not months.
REMEMBERED = 50

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
        self._taken_over = taken_over

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
        """Make ``phase``, and what is known by now, durable; raises :class:`Overlap` where another run took over."""
        self._write(replace(self.record, phase=phase, **known))

    def _write(self, record: Record) -> None:
        newest = self._journal.newest()
        if newest != self.number:
            raise Overlap(
                f"{self.record.connector!r} was taken over by {self._journal.holder(newest)}, as this run was not "
                "heard of for too long. Nothing more is done here."
            )
        files.write_json(self.file("record"), record.as_json())
        self.record = record


class Journal:
    """All changes ever made to one connector, under ``root`` (``workspace.layout.journal_root``)."""

    def __init__(self, root: str, *, cluster: str, connector: str, wall: Callable[[], float] = time.time) -> None:
        self.connector = connector
        self.uri = join(root, unique_segment(cluster), unique_segment(connector))
        self._wall = wall

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

    def record_of(self, run: str, digest: str, *, since: datetime | None = None) -> Record | None:
        """The newest record of the change that ``run`` makes by the plan with this digest; None where it has none.

        ``since``: when the offsets were observed that the plan was made from. A change that ended before was made by an
        earlier plan: a run that is cleared makes the same plan again, and has not applied it yet.
        Attempts that only looked (a retry, a teardown) and other runs' changes may have come after it.
        """
        newest = self.newest()
        for number in range(newest, max(newest - REMEMBERED, 0), -1):
            record = self.record(number)
            if record is not None and (record.owner.run, record.digest) == (run, digest):
                lease = self._lease(number)
                ended_before = since is not None and lease is not None and lease.heard_at < since.timestamp()
                return None if ended_before else record
        return None

    def holder(self, number: int) -> str:
        """Name the run that holds a generation, for people."""
        lease = self._lease(number)
        return "nobody" if lease is None else f"run {lease.owner.run!r} (task {lease.owner.task})"

    def refuse_overlap(self, run: str) -> None:
        """Raise :class:`Overlap` where another run is changing the connector right now."""
        number = self.newest()
        lease = self._living_lease(number)
        if lease is not None and lease.owner.run != run:
            raise self._overlap(number)

    @contextmanager
    def claim(self, owner: Owner, *, patience: float = DEAD_AFTER * 2) -> Iterator[Entry]:
        """Hold the connector for as long as the block lasts; whoever else asks meanwhile gets :class:`Overlap`.

        What the same run left behind (a killed attempt) is waited for until it is dead, at most ``patience`` seconds.
        """
        entry = self._claim(owner, patience)
        ended = threading.Event()
        heartbeat = threading.Thread(target=self._keep, args=(entry.number, owner, ended), daemon=True)
        heartbeat.start()
        try:
            yield entry
        finally:
            ended.set()
            heartbeat.join()
            self._write_lease(entry.number, owner, seconds=0)

    def hold(self, owner: Owner, *, seconds: float) -> Entry:
        """Claim the connector for a run that goes on with it in another task, within ``seconds``."""
        between_tasks = replace(owner, pid=0)
        entry = self._claim(between_tasks, patience=0)
        self._write_lease(entry.number, between_tasks, seconds=seconds)
        return entry

    def held(self, owner: Owner, *, seconds: float) -> Entry:
        """Go on with what an earlier task of the same run holds, for ``seconds`` more; raises :class:`Overlap`."""
        number = self.newest()
        lease, record = self._living_lease(number), self.record(number)
        if lease is None or record is None or lease.owner.run != owner.run:
            raise Overlap(
                f"Nothing was done: {self.connector!r} is not held by this run any more, but by {self.holder(number)}. "
                "Begin again."
            )
        self._write_lease(number, replace(owner, pid=0), seconds=seconds)
        return Entry(self, number, record)

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
        """The lease of a change whose owner is alive, as far as can be known."""
        lease = self._lease(number)
        return None if lease is None or lease.is_dead(self._wall()) else lease

    def _keep(self, number: int, owner: Owner, ended: threading.Event) -> None:
        while not ended.wait(HEARTBEAT):
            self._write_lease(number, owner, seconds=DEAD_AFTER)

    def _write_lease(self, number: int, owner: Owner, *, seconds: float) -> None:
        now = self._wall()
        files.write_json(self.file(number, "lease"), asdict(Lease(owner, now, now + seconds)))

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

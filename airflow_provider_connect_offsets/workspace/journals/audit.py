"""The audit log: who has changed what, as records that are only ever added, each with the digest of the one before.

``<audit>/000012/000012345.json`` is record 12,345. It is created exclusively, so of two runs that add a record at once
one takes the next number. ``<audit>/head.json`` has number and digest of the newest one; it may lag behind. A chain
shows that a record was changed, removed or exchanged. Whoever may write the directory could write a new chain: keep it
where only tasks can write, set ``journal_key``, which signs records, and note number and digest elsewhere.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any

from airflow_provider_connect_offsets.exceptions import DatasetError
from airflow_provider_connect_offsets.offsets.json_codec import JsonRecord
from airflow_provider_connect_offsets.workspace import files
from airflow_provider_connect_offsets.workspace.journals.journal_store import JournalStore
from airflow_provider_connect_offsets.workspace.paths import join

log = logging.getLogger(__name__)

#: Records in a directory; old ones are removed a directory at a time.
SHARD = 1_000


class AuditEvent(StrEnum):
    """What a record says: an operation has begun, or ended; or older records were removed, as ``audit_days`` says."""

    BEGUN = "begun"
    ENDED = "ended"
    PRUNED = "pruned"


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditRecord(JsonRecord):
    """A record.

    Attributes:
        number: 1 for the first one.
        previous: Digest of the record before; empty for the first one.
        at: When it was added, by the clock of the machine that did.
        event: What it says.
        resource: The connector or other resource; empty if records were removed.
        operation: What is done, in words.
        result: How far the operation had come, a value of ``SagaState``.
        digest: Identifies the plan; empty if there is none.
        run: ``dag_id/run_id``, or the command of a shell.
        task: The task.
        host: The machine.
        by: Run and task that have added the record: those of the operation, or of who has settled what a dead run left.
        triggered_by: Who has triggered the run; empty if no person is known.
        approved_by: Who has approved it; empty if nobody was asked.
        journal: URI of the operation's journal.
        stages: What was changed: title, subject, progress, and what was captured before it, like prior offsets.
        removed: For removed records: number and digest of the newest one; otherwise empty.
    """

    number: int
    previous: str
    at: datetime
    event: AuditEvent
    resource: str = ""
    operation: str = ""
    result: str = ""
    digest: str = ""
    run: str = ""
    task: str = ""
    host: str = ""
    by: str = ""
    triggered_by: str = ""
    approved_by: str = ""
    journal: str = ""
    stages: tuple[Mapping[str, Any], ...] = ()
    removed: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Head:
    """Number and digest of a record; 0 and empty before the first one."""

    number: int = 0
    digest: str = ""

    def __str__(self) -> str:
        """As a person notes it, and :meth:`parse` reads it."""
        return f"{self.number}:{self.digest}"

    @classmethod
    def of(cls, fields: Mapping[str, Any]) -> Head:
        """Read the JSON fields of one; raises :class:`KeyError`, :class:`TypeError` or :class:`ValueError`."""
        return cls(int(fields["number"]), str(fields["digest"]))

    @classmethod
    def parse(cls, text: str) -> Head:
        """Read ``NUMBER:DIGEST``; raises :class:`ValueError`."""
        number, _, digest = text.strip().partition(":")
        if not (number.isdecimal() and len(digest) == len(digest_of({}))):
            raise ValueError(f"{text!r} is not NUMBER:DIGEST, as `connect-offsets audit verify` writes it")
        return cls(int(number), digest.lower())


@dataclass(frozen=True, slots=True)
class Verified:
    """What a verification has found.

    Attributes:
        head: The newest record.
        first: Number of the oldest record that is kept; 0 without any.
        problems: A sentence for each record that is not what it was; empty: all are.
    """

    head: Head
    first: int
    problems: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AuditLog:
    """The audit log of a workspace.

    Attributes:
        store: Its directory, and the key that signs its records.
        days: For how many days records are kept; None: for ever.
    """

    store: JournalStore
    days: float | None = None

    @classmethod
    def of(cls, journals: JournalStore) -> AuditLog:
        """Return the audit log of the operations that these journals keep."""
        return cls(JournalStore(journals.audit, journals.key), journals.audit_days)

    def append(self, event: AuditEvent, **content: Any) -> AuditRecord:
        """Add a record; whoever adds one at the same time gets another number.

        Raises:
            WorkspaceUnwritable: It can't be written.
            DatasetError: The newest record can't be read, or the file system can't create a file only once.
        """
        head = self._newest()
        while True:
            record = AuditRecord(
                number=head.number + 1, previous=head.digest, at=datetime.now(tz=UTC), event=event, **content
            )
            value = record.as_json()
            if self.store.create(self._file(record.number), value):
                break
            head = Head(record.number, digest_of(self._require(record.number)))
        self._note(Head(record.number, digest_of(value)))
        if self.days is not None and record.number % SHARD == 1 and event is not AuditEvent.PRUNED:
            self._prune(record.at - timedelta(days=self.days))
        return record

    def records(self) -> Iterator[AuditRecord]:
        """Yield the records that are kept, the oldest first; raises :class:`DatasetError` for a damaged one."""
        for number in self._numbers():
            yield AuditRecord.from_json(self._require(number))

    def verify(self, *, known: Head | None = None) -> Verified:
        """Read all records, and find those that were changed, removed, exchanged, or not signed with the key.

        Records that another record says were removed are not asked for, and those of them that are still there, as
        after a run that was killed meanwhile, are left out.

        ``known``: number and digest of a record as they were noted before, so that also a chain that was cut off
        after it, or written anew, is found.
        """
        problems, marks = list[str](), [known or Head()]
        try:
            marks.append(self._read_head())  # before the records, as runs may add some meanwhile
        except DatasetError as error:
            problems.append(f"{error}.")
        links = [self._link(number) for number in self._numbers()]
        last = max((link.removed for link in links), key=lambda head: head.number, default=Head())
        kept = [link for link in links if link.number > last.number]
        for link in kept:
            problems += _problems(link, last, marks)
            last = Head(link.number, link.digest)
        if (newest := max(mark.number for mark in marks)) > last.number:
            problems.append(f"{_count(last.number + 1, newest)} missing.")
        return Verified(last, kept[0].number if kept else 0, tuple(problems))

    def _link(self, number: int) -> _Link:
        try:
            value = self._require(number)
            record = AuditRecord.from_json(value)
            removed = Head() if record.removed is None else Head.of(record.removed)
        except (DatasetError, KeyError, TypeError, ValueError) as error:
            return _Link(number, unreadable=f"Record {number} can't be read: {error}.")
        if removed.number >= number:  # it must be among those whose chain is verified
            return _Link(number, unreadable=f"Record {number} says that record {removed.number} was removed before it.")
        return _Link(number, record.number, record.previous, digest_of(value), removed)

    def _prune(self, before: datetime) -> None:
        """Remove directories of records that are all older, except the newest, and note that first.

        The record after a directory has the digest of its last one, which may be gone if a removal was killed.
        """
        for shard in self._shards()[:-1]:
            number = (int(shard) + 1) * SHARD
            try:
                after = AuditRecord.from_json(self._require(number))
                if after.at >= before:
                    return
                self.append(AuditEvent.PRUNED, removed={"number": number - 1, "digest": after.previous})
                files.remove_tree(join(self.store.uri, shard))
            except Exception:  # of any file system; the next thousandth record tries again
                log.warning("Old records of the audit log could not be removed.", exc_info=True)
                return

    def _newest(self) -> Head:
        head, shards = self._head(), self._shards()
        if not head.number or (shards and head.number // SHARD < int(shards[-1])):
            # What follows it may have been removed, if someone wrote the head very late.
            number = max(self._numbers(), default=0)
            return Head(number, digest_of(self._require(number))) if number else Head()
        while files.exists(self._file(head.number + 1)):
            head = Head(head.number + 1, digest_of(self._require(head.number + 1)))
        return head

    def _head(self) -> Head:
        try:
            return self._read_head()
        except DatasetError:
            log.warning("The newest record of the audit log is looked for in its directory.", exc_info=True)
            return Head()

    def _read_head(self) -> Head:
        uri = join(self.store.uri, "head.json")
        found = self.store.read(uri)
        try:
            return Head() if found is None else Head.of(found)
        except (KeyError, TypeError, ValueError) as error:
            raise DatasetError(f"{uri} is damaged: {error!r}") from error

    def _note(self, head: Head) -> None:
        """Note the newest record; if that fails, the next one is looked for from an earlier one."""
        try:
            self.store.write(join(self.store.uri, "head.json"), {"number": head.number, "digest": head.digest})
        except Exception:
            log.warning("head.json of the audit log could not be written.", exc_info=True)

    def _require(self, number: int) -> dict[str, Any]:
        value = self.store.read(self._file(number))
        if value is None:
            raise DatasetError(f"record {number} of the audit log does not exist")
        return value

    def _file(self, number: int) -> str:
        return join(self.store.uri, f"{number // SHARD:06d}", f"{number:09d}.json")

    def _shards(self) -> list[str]:
        return [name for name in files.list_names(self.store.uri) if name.isdecimal()]

    def _numbers(self) -> Iterator[int]:
        for shard in self._shards():
            for name in files.list_names(join(self.store.uri, shard)):
                number = name.removesuffix(".json")
                if number.isdecimal():
                    yield int(number)


def digest_of(value: Mapping[str, Any]) -> str:
    """Return the digest of a record's JSON: SHA-256 in hexadecimal digits."""
    content = json.dumps(value, sort_keys=True, separators=(",", ":")).encode()
    return hashlib.sha256(content).hexdigest()


@dataclass(frozen=True, slots=True)
class _Link:
    """What a verification needs of a record.

    Attributes:
        number: The number that its file is named after.
        own: The number that it says it has.
        previous: The digest of the record before, as it says.
        digest: Its own digest; empty if it can't be read.
        removed: The newest record that it says was removed.
        unreadable: A sentence on why it can't be read; empty if it can.
    """

    number: int
    own: int = 0
    previous: str = ""
    digest: str = ""
    removed: Head = Head()
    unreadable: str = ""


def _problems(link: _Link, last: Head, marks: Iterable[Head]) -> Iterator[str]:
    """Yield what is wrong with a record after ``last``, whose digest is empty if it could not be read."""
    number = link.number
    if number != last.number + 1:
        yield f"{_count(last.number + 1, number - 1)} missing."
    if link.unreadable:
        yield link.unreadable
        return
    if link.own != number:
        yield f"Record {number} is record {link.own}, in its place."
    if number == last.number + 1 and link.previous != last.digest and (last.digest or not last.number):
        yield f"Record {last.number} was changed, or record {number} was: the chain is broken between them."
    if any(mark.number == number and mark.digest != link.digest for mark in marks):
        yield f"Record {number} was changed: its digest was noted, and is another one now."


def _count(first: int, last: int) -> str:
    return f"Record {first} is" if first == last else f"Records {first} to {last} are"

"""The two logs of a replicated partition, their records, and what a transform makes of a record."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import NamedTuple

# A record's key is its content modulo this.
KEYS = 10
# What a converter adds to a content: the key stays, and no record of the source looks like that.
_CONVERTED = KEYS * 1_000_000

Contents = dict[int, tuple[int, int]]


class Origin(NamedTuple):
    """Where a record was produced first: which source topic of that name, and its offset there."""

    incarnation: int
    offset: int


@dataclass(frozen=True, slots=True)
class Record:
    """A record of either log.

    Records of equal content and timestamp look the same. ``origin`` is what only the model knows: None for a record
    that was written into the remote topic by somebody else.
    """

    content: int
    timestamp: int
    origin: Origin | None = None

    @property
    def key(self) -> int:
        """The key by which compaction works."""
        return self.content % KEYS


@dataclass(slots=True)
class Log:
    """A partition's log.

    records: what is still there and visible, by offset; written: the same with all that retention or compaction has
    taken since; superseded: what compaction has taken. Offsets without a record are markers or aborted records.
    """

    incarnation: int = 0
    start: int = 0
    end: int = 0
    records: dict[int, Record] = field(default_factory=dict)
    written: dict[int, Record] = field(default_factory=dict)
    superseded: set[int] = field(default_factory=set)

    def append(self, record: Record) -> int:
        """Write a record; returns its offset."""
        offset = self.end
        self.records[offset] = self.written[offset] = record
        self.end += 1
        return offset

    def append_unseen(self, count: int = 1) -> None:
        """Use offsets without a visible record, as markers and aborted transactions do."""
        self.end += count

    def retain(self, start: int) -> None:
        """Delete all records before ``start``."""
        self.start = min(max(start, self.start), self.end)
        self.records = {offset: record for offset, record in self.records.items() if offset >= self.start}

    def compact(self, cleaned: int) -> None:
        """Delete each record that has a later one of its key before ``cleaned``; the log's last one always stays."""
        before = min(cleaned, self.end - 1)
        newest = {record.key: offset for offset, record in self.records.items() if offset < before}
        taken = {o for o, record in self.records.items() if o < before and newest[record.key] != o}
        self.superseded |= taken
        self.records = {offset: record for offset, record in self.records.items() if offset not in taken}

    def anew(self) -> Log:
        """The log of a new topic of the same name."""
        return Log(self.incarnation + 1)


@dataclass(frozen=True, slots=True)
class Traits:
    """The properties of a flow and its topics, as they are at a time.

    repeats: contents and timestamps come again; log_append_time: the remote topic sets timestamps itself; drops,
    changes: what a transform does; converted: a converter writes other bytes; compacted: both topics; transactions: the
    source has transactional producers, whose aborted records are not replicated; exactly_once: the flow writes in
    transactions; syncs_on_target: offset syncs outlive the source; identity: the remote topic has the source's name.
    """

    repeats: bool = False
    log_append_time: bool = False
    drops: bool = False
    changes: bool = False
    converted: bool = False
    compacted: bool = False
    transactions: bool = False
    exactly_once: bool = False
    syncs_on_target: bool = True
    identity: bool = False

    def transformed(self, record: Record, now: int) -> Record | None:
        """The record in the remote topic; None if it is dropped. Equal contents are treated alike."""
        mixed = record.content * 2654435761 >> 5
        if self.drops and mixed % 4 == 0:
            return None
        if self.changes and mixed % 3 == 0:
            record = replace(record, content=record.content + KEYS)
        if self.converted:
            record = replace(record, content=record.content + _CONVERTED)
        return replace(record, timestamp=now) if self.log_append_time else record


def of_log(log: Log) -> tuple[tuple[int, int], Contents]:
    """Log start and end offset, and each record by its offset: content and timestamp."""
    there = {offset: (record.content, record.timestamp) for offset, record in log.records.items()}
    return (log.start, log.end), there

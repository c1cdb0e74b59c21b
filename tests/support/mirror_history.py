"""Histories of replication, made up, of which all is known: what tests of the translation compare with."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from enum import StrEnum
from random import Random

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st

# One Spark job for many histories; a smaller seed makes none that is smaller, so nothing is shrunk.
AT_ONCE = int(os.environ.get("HISTORIES", "150"))
SEEDS = st.integers(0, 2**32)
SOME = settings(
    max_examples=2, deadline=None, phases=[Phase.generate], suppress_health_check=[HealthCheck.function_scoped_fixture]
)
LAG_MAX = 4


class Ending(StrEnum):
    """How a history ends: with all replicated, in the midst of it by itself, or stopped with its offsets stored."""

    DRAINED = "drained"
    BROKEN = "broken"
    STOPPED = "stopped"


class Kind(StrEnum):
    """What a history may have beside restarts, rewinds and repetitions."""

    PLAIN = "plain"
    GAPS = "gaps"  # transaction markers, or compaction before it was replicated
    FILTERED = "filtered"  # records that a transformation leaves out
    MARKED = "marked"  # transaction markers in the replica
    COMPACTED = "compacted"  # on both sides, afterwards


@dataclass
class History:
    """One partition's. ``replica`` holds at each offset the source's offset, None for what is no record any more.

    ``written`` is the same before any of it was compacted away.
    """

    kind: Kind
    source: list[int]
    end: int
    replica: list[int | None] = field(default_factory=list)
    syncs: list[tuple[int, int]] = field(default_factory=list)
    stored: int | None = None
    ending: Ending = Ending.DRAINED
    written: list[int | None] = field(default_factory=list)
    from_origin: bool = True
    same: int = 10**6  # each n-th record has the content of the one before it

    @property
    def drained(self) -> bool:
        """Whether nothing is left to be replicated."""
        return self.ending is Ending.DRAINED

    @property
    def ends_as_stored(self) -> bool:
        """Whether the last record of the replica is the one that the stored offset tells."""
        return self.stored is not None and self.replica[-1:] == [self.stored]

    def digest(self, offset: int) -> bytes:
        """Tell a record from others, as far as its content does."""
        return b"%d" % (offset - 1 if offset % self.same == self.same - 1 else offset)

    def after(self, place: int) -> list[int]:
        """What a consumer reads that begins at ``place``."""
        return [found for found in self.replica[place:] if found is not None]

    def lost(self, position: int, place: int) -> set[int]:
        """Records from ``position`` on that the replica has, that are still there, and that it would not read."""
        still = set(self.source)
        wanted = {found for found in self.after(0) if found >= position and found in still}
        return wanted - set(self.after(place))

    def read_again(self, position: int, place: int) -> int:
        """How many records it would read that lie before ``position``."""
        return sum(found < position for found in self.after(place))

    def is_exact(self, position: int, place: int) -> bool:
        """Whether the first record that it reads is the next one, and nothing is lost or read again."""
        still = set(self.source)
        wanted = min((found for found in self.after(0) if found >= position and found in still), default=None)
        first = next((found for found in self.after(place) if found in still), None)
        return not self.lost(position, place) and not self.read_again(position, place) and first == wanted

    def lost_at_home(self, position: int, place: int) -> set[int]:
        """Records of the source that a group at ``position`` of the replica has not read, and would pass.

        That is what it would still read in the replica, and what never came there as it is later than all that did.
        """
        read, newest = self._read(position), max(self._read(len(self.written)), default=-1)
        unread = {found for found in self.after(position) if found not in read}
        return {number for number in self.source if number < place and (number in unread or number > newest)}

    def read_again_at_home(self, position: int, place: int) -> int:
        """How many records of the source it would read again."""
        read = self._read(position)
        return sum(number >= place and number in read for number in self.source)

    def _read(self, position: int) -> set[int]:
        return {found for found in self.written[:position] if found is not None}


class _Replication:
    """MirrorSourceTask and its offsets, as far as they matter here."""

    def __init__(self, history: History, random: Random) -> None:
        self.history, self.random = history, random
        self.skipped: set[int] = set()
        if history.kind is Kind.FILTERED:
            self.skipped = {number for number in history.source if random.random() < 0.2}
        self.stored = self.position = -1
        self.anew = False
        self._start()

    def _start(self) -> None:
        self.position = self.stored
        self.last_synced: int | None = None
        self.previous: int | None = None
        self.pending: tuple[int, int] | None = None

    def left(self) -> list[int]:
        return [number for number in self.history.source if number > self.position and number not in self.skipped]

    def run(self, count: int) -> None:
        for number in self.left()[:count]:
            place = len(self.history.replica)
            self.history.replica.append(number)
            self.position = number
            self._sync(number, place)
            if self.history.kind is Kind.MARKED and self.random.random() < 0.3:
                self.history.replica.append(None)
            if self.random.random() < 0.2:
                self.commit()

    def _sync(self, number: int, place: int) -> None:
        stale = self.last_synced is None or not 0 <= place - (self.last_synced + 1) < LAG_MAX
        if stale or self.previous is None or number - self.previous != 1:
            self.last_synced = place
            self.pending = (number, place)
            if self.anew or self.random.random() < 0.6:
                self._send()
            self.anew = False
        self.previous = number

    def _send(self) -> None:
        if self.pending is not None:
            self.history.syncs.append(self.pending)
            self.pending = None

    def commit(self) -> None:
        self.stored = self.position
        if self.random.random() < 0.8:
            self._send()

    def crash(self) -> None:
        self._start()

    def restart(self) -> None:
        self.commit()
        self._start()

    def rewind(self) -> None:
        self.stored = self.random.randint(-1, self.position)
        self._start()

    def replica_anew(self) -> None:
        """The topic is deleted and created on the target, of which MirrorMaker 2 tells with the next record."""
        self.history.replica.clear()
        self.history.from_origin = self.position < 0
        self.anew = True


def history(random: Random, *, ending: Ending, kind: Kind) -> History:
    """Make one up."""
    end = random.randint(1, 50)
    source = list(range(end))
    if kind is Kind.GAPS:
        source = [number for number in source if random.random() > random.choice([0.05, 0.3])] or [0]
    made = History(kind, source, end, ending=ending, same=5 if kind is Kind.PLAIN and random.random() < 0.3 else 10**6)
    flow = _Replication(made, random)
    events = [flow.crash, flow.restart, flow.rewind, flow.replica_anew]
    weights = [4, 4, 2, 0.3]
    for _ in range(random.randint(0, 6)):
        flow.run(random.randint(0, 20))
        random.choices(events, weights)[0]()
        if kind is Kind.COMPACTED:
            made.source[:-1] = [number for number in made.source[:-1] if random.random() > 0.05]
    flow.run(10**6 if made.drained else random.randint(0, 30))
    if ending is not Ending.BROKEN:
        flow.commit()
        made.stored = flow.position if made.replica else None
    made.written = list(made.replica)
    if kind is Kind.COMPACTED:
        _compact(made, random)
    if ending is not Ending.BROKEN and random.random() < 0.3:  # compaction leaves the newest of what it has come by
        del made.syncs[: random.randint(0, max(len(made.syncs) - 1, 0))]
    return made


def _compact(made: History, random: Random) -> None:
    """A record goes with all that came before it under its key, copies of itself among them; the last one stays."""
    superseded = {number for number in made.source[:-1] if random.random() < 0.1}
    cleaned = random.randint(0, max(len(made.replica) - 1, 0))
    for place in range(cleaned):
        found = made.replica[place]
        if found in superseded or found in made.replica[place + 1 : cleaned]:
            made.replica[place] = None

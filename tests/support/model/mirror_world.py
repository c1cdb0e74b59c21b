"""A made-up world: one replicated partition with both logs, the flow between them, and its records.

A world does what its caller says and decides nothing by chance, unless its flow is given chances.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from enum import StrEnum
from random import Random
from typing import NamedTuple

from tests.support.model.mirror_logs import Log, Origin, Record, Traits

__all__ = ["LAG_MAX", "Ending", "Flow", "Log", "Mapped", "Origin", "Record", "Sync", "Traits", "World"]

# The flow's offset.lag.max, small enough for logs of a few dozen records.
LAG_MAX = 4


class Ending(StrEnum):
    """How a history ends: all replicated and stored, the source lost on the way, or stopped with records left."""

    DRAINED = "drained"
    BROKEN = "broken"
    STOPPED = "stopped"


class Mapped(NamedTuple):
    """An offset mapping: an offset of the source and one of the remote topic, true or claimed."""

    upstream: int
    downstream: int


class Sync(NamedTuple):
    """An offset sync; ``order`` is its offset in the topic of syncs."""

    upstream: int
    downstream: int
    order: int


@dataclass(slots=True)
class World:
    """One partition at either end of a flow.

    kept: mappings that resets have kept, true or not; groups: committed positions; checkpoints: the current one of each
    group; happened: the events and traits of its history; seed: for whatever is to be chosen at random about it;
    observations: what it was like at each readiness run; absent: the remote topic does not have this partition yet;
    dropped: offsets of the source's records that a transform has dropped.
    """

    traits: Traits = field(default_factory=Traits)
    ending: Ending = Ending.DRAINED
    source: Log = field(default_factory=Log)
    target: Log = field(default_factory=Log)
    syncs: list[Sync] = field(default_factory=list)
    kept: list[Mapped] = field(default_factory=list)
    groups: dict[str, int] = field(default_factory=dict)
    checkpoints: dict[str, Mapped] = field(default_factory=dict)
    happened: set[StrEnum] = field(default_factory=set)
    seed: int = 0
    clock: int = 0
    synced: int = 0
    observations: list[World] = field(default_factory=list)
    absent: bool = False
    dropped: set[int] = field(default_factory=set)
    flow: Flow = field(init=False, compare=False)

    def __post_init__(self) -> None:
        self.flow = Flow(self)

    def __str__(self) -> str:
        copied = [record.origin and record.origin.offset for record in self.target.records.values()]
        source, target = ((log.incarnation, log.start, log.end) for log in (self.source, self.target))
        syncs = [(sync.upstream, sync.downstream) for sync in self.syncs]
        what = f"{self.ending} ({', '.join(sorted(self.happened))}), stored {self.flow.stored}, syncs {syncs}"
        there = f"target {'absent' if self.absent else target}"
        return f"{what}, source {source} {list(self.source.records)}, {there} {copied}"

    def produce(self, *contents: int, each: int = 1) -> None:
        """Write records to the source; ``each`` says how many follow each other at the same timestamp."""
        for content in contents:
            origin = Origin(self.source.incarnation, self.source.end)
            self.source.append(Record(content, self.now(each), origin))

    def write_foreign(self, *contents: int, each: int = 1) -> None:
        """Write records to the remote topic that are no copies of this flow."""
        for content in () if self.absent else contents:
            self.target.append(Record(content, self.now(each)))

    def now(self, each: int = 1) -> int:
        """The time, which advances with each record."""
        self.clock += 1
        return self.clock // each

    def recreate_source(self) -> None:
        """Delete and create the source topic; groups lose their positions with it, and the flow begins again."""
        self.source = self.source.anew()
        self.dropped.clear()
        self.groups = dict.fromkeys(self.groups, 0)
        self.flow.seek()

    def recreate_target(self) -> None:
        """Delete and create the remote topic; the flow goes on where it is."""
        self.target = self.target.anew()

    def observe(self) -> None:
        """Run the readiness check, and keep what it observes."""
        observations, self.observations = self.observations, []
        copy = deepcopy(self)
        self.observations = [*observations, copy]
        stored = -1 if copy.flow.stored is None else copy.flow.stored
        copy.ending = Ending.STOPPED if any(offset > stored for offset in copy.source.records) else Ending.DRAINED

    def send_sync(self, mapping: Mapped) -> None:
        """Write an offset sync."""
        self.syncs.append(Sync(*mapping, self.synced))
        self.synced += 1

    def checkpoint(self) -> None:
        """Write each group's checkpoint as MirrorMaker does, unless it is unchanged."""
        for group, position in self.groups.items():
            downstream = self.translated(position)
            last = self.checkpoints.get(group)
            if downstream is not None and (last is None or position < last.upstream or downstream > last.downstream):
                self.checkpoints[group] = Mapped(position, downstream)

    def translated(self, position: int) -> int | None:
        """Translate as MirrorMaker does: by the newest sync at or before it, one further unless it is that very one."""
        found = next((sync for sync in self._valid_syncs() if sync.upstream <= position), None)
        return None if found is None else found.downstream + (found.upstream < position)

    def _valid_syncs(self) -> Iterator[Sync]:
        """Go through the syncs, newest first, down to where upstream offsets fell: MirrorMaker forgets older ones."""
        above: Sync | None = None
        for sync in reversed(self.syncs):
            if above is not None and sync.upstream > above.upstream:
                return
            yield sync
            above = sync

    def reset(self, position: int) -> None:
        """Move the flow as this project's reset does: mappings of where it was and will be are kept, syncs cleared."""
        self.flow.commit()
        stored, end = self.flow.stored, self.target.end
        self.kept += [Mapped(stored, end - 1)] if stored is not None and end else []
        self.kept.append(Mapped(position, end))
        self.syncs.clear()
        self.flow.move(position)


class Flow:
    """MirrorSourceTask: where it is, what it has stored, and the syncs that it sends.

    ``sends`` and ``commits`` are the chances, per record, that a queued sync goes out and that the offset is stored.
    ``syncs_last``: where it stores an offset, it sends a sync of that record as well (KAFKA-15906, from Kafka 3.7 on).
    """

    def __init__(
        self,
        world: World,
        *,
        sends: float = 1,
        commits: float = 0,
        random: Random | None = None,
        syncs_last: bool = False,
    ) -> None:
        self.world, self.sends, self.commits, self.random = world, sends, commits, random or Random(0)
        self.syncs_last = syncs_last
        self.silent = False  # whether nothing can be written to the topic of syncs
        self.stored: int | None = None
        self.start()

    def start(self) -> None:
        """Start the task at its stored offset; progress that was not stored is lost."""
        self.next = 0 if self.stored is None else self.stored + 1
        self._sent = self.stored
        self._synced: int | None = None
        self._pending: Mapped | None = None
        self._delayed: Mapped | None = None
        self._previous = Mapped(-1, -1)
        self.seek()

    def seek(self) -> None:
        """Begin at the log start if the next offset is out of range (``auto.offset.reset=earliest``)."""
        log = self.world.source
        if not log.start <= self.next <= log.end:
            self.next = log.start

    def left(self) -> list[int]:
        """Offsets of the records to be read next, in order."""
        self.seek()
        return [offset for offset in self.world.source.records if offset >= self.next]

    def replicate(self, count: int | None = None) -> None:
        """Read ``count`` records (None: all) and write the transformed ones.

        Does nothing while the remote topic lacks the partition: MirrorMaker 2 creates the remote partition before it
        reads the source.
        """
        world, random, before = self.world, self.random.random, self._sent
        if world.absent:
            return
        for offset in self.left()[:count]:
            self.next = offset + 1
            copy = world.traits.transformed(world.source.records[offset], world.clock)
            if copy is None:
                world.dropped.add(offset)
                continue
            self._sent = offset
            self._sync(Mapped(offset, world.target.append(copy)))
            if self.commits and random() < self.commits:
                self.commit()
        if world.traits.exactly_once and self._sent != before:
            self.commit()

    def commit(self) -> None:
        """Store the offset of the last record that was sent; with exactly-once this ends a transaction."""
        if self.world.traits.exactly_once and self._sent != self.stored:
            self.world.target.append_unseen()
        self.stored = self._sent
        if self.syncs_last and self._delayed is not None:
            self._pending, self._delayed = self._delayed, None
        self._send()

    def crash(self, in_vain: int = 0) -> None:
        """Start again without storing; with exactly-once ``in_vain`` copies and their abort marker stay unseen."""
        if self.world.traits.exactly_once and self.left() and not self.world.absent:
            self.world.target.append_unseen(1 + min(in_vain, len(self.left())))
        self.start()

    def restart(self) -> None:
        """Stop in order and start again."""
        self.commit()
        self.start()

    def move(self, position: int) -> None:
        """Stop, store by hand that ``position`` comes next, and start again."""
        self.commit()
        self.stored = position - 1 if position else None
        self.start()

    def _sync(self, mapping: Mapped) -> None:
        """Queue a sync at a start, after a gap, every so many records, and where the remote topic begins again."""
        synced, previous, self._delayed = self._synced, self._previous, mapping
        lags = synced is None or mapping.downstream - (synced + 1) >= LAG_MAX
        if lags or mapping.upstream != previous.upstream + 1 or mapping.downstream < previous.downstream:
            self._synced, self._pending, self._delayed = mapping.downstream, mapping, None
        self._previous = mapping
        if self._pending is not None and (self.sends >= 1 or self.random.random() < self.sends):
            self._send()

    def _send(self) -> None:
        if self._pending is not None and not self.silent:
            self.world.send_sync(self._pending)
            self._pending = None


def replicated(count: int, traits: Traits | None = None) -> World:
    """A world in which ``count`` distinct records were produced and replicated."""
    world = World(traits or Traits())
    world.produce(*range(count))
    world.flow.replicate()
    return world

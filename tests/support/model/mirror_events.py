"""Random histories of a replicated partition, with a few awkward events each, so that causes can be distinguished.

``history`` makes one. What happened in it, and what held for it, is in the ``happened`` of the world it returns.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from functools import partial
from random import Random

from tests.support.model.mirror_kinds import Event, Trait
from tests.support.model.mirror_logs import KEYS, Traits
from tests.support.model.mirror_world import Ending, Flow, Mapped, World

_ORDINARY = (Event.PAUSE, Event.GROUPS_MOVE, Event.CHECKPOINT)
_IMPLIED: Mapping[Event, Trait] = {
    Event.TRANSACTION: Trait.TRANSACTIONS,
    Event.ABORTED: Trait.TRANSACTIONS,
    Event.COMPACT_SOURCE: Trait.COMPACTED,
    Event.COMPACT_TARGET: Trait.COMPACTED,
}
_AWKWARD: tuple[Event | Trait, ...] = (
    *[event for event in Event if event not in {Event.PRODUCE, Event.REPLICATE, Event.OBSERVE, *_ORDINARY}],
    *[trait for trait in Trait if trait not in _IMPLIED.values()],
)
_HOW_MANY = (0, 1, 1, 1, 2, 2, 2, 3, 3, 4)
# What the connector's configuration or a topic's decides, and may decide otherwise later.
_CHANGED: Mapping[Event, tuple[str, ...]] = {
    Event.CONVERTER: ("converted",),
    Event.TRANSFORM: ("drops", "changes"),
    Event.TIMESTAMP_TYPE: ("log_append_time",),
    Event.DELIVERY: ("exactly_once",),
}
_GROUPS = ("fast", "slow")


def history(
    random: Random,
    *,
    ending: Ending,
    kinds: Collection[Event] | None = None,
    traits: Collection[Trait] | None = None,
    observations: int = 0,
) -> World:
    """Make up a random history.

    kinds: the events that it has besides records that are produced and replicated (None: a few, at random); traits:
    what is true of it besides what its events imply (None: at random too, or nothing if ``kinds`` are given);
    observations: the number of readiness runs among its events
    """
    events, holds = drawn(random) if kinds is None else (sorted(set(kinds)), set())
    holds = {*(holds if traits is None else traits), *(_IMPLIED[event] for event in events if event in _IMPLIED)}
    lost = ending is Ending.BROKEN and kinds is None and random.random() < 0.15
    world = World(Traits(**dict.fromkeys(holds, True), syncs_on_target=not lost), ending)
    world.seed = random.getrandbits(32)
    world.happened |= holds
    _Course(world, random).run(events, observations)
    return world


def drawn(random: Random) -> tuple[list[Event], set[Trait]]:
    """Draw a few awkward events and traits, and now and then ordinary ones."""
    drawn = random.sample(_AWKWARD, random.choice(_HOW_MANY))
    ordinary = [event for event in _ORDINARY if random.random() < 0.15]
    return [*ordinary, *(one for one in drawn if isinstance(one, Event))], {t for t in drawn if isinstance(t, Trait)}


class _Course:
    """Lets things happen to a world."""

    def __init__(self, world: World, random: Random) -> None:
        self.world, self.random = world, random
        world.groups = dict.fromkeys(_GROUPS, 0)
        commits = random.choice((0.05, 0.2))
        world.flow = Flow(world, sends=0.6, commits=commits, random=random, syncs_last=random.random() < 0.5)
        repeats = world.traits.repeats
        self.alphabet = random.choice((1, 2, 3, 6)) if repeats else None
        self.each = random.choice((2, 8, 1000)) if repeats else 1
        self.number = 0

    def run(self, events: Collection[Event], observations: int) -> None:
        """Let each event happen, once or twice, in any order, with records produced and replicated between them."""
        random = self.random
        order = [*events, *[event for event in events if random.random() < 0.2], *[Event.OBSERVE] * observations]
        random.shuffle(order)
        if Event.STALE_SYNCS in order and random.random() < 0.5:
            order.remove(Event.STALE_SYNCS)
            self.leave_syncs()
        self.world.absent = Event.PARTITION_ADDED in order
        self.changing = {event: random.choice(_CHANGED[event]) for event in sorted({*order} & _CHANGED.keys())}
        for event in self.changing:
            if random.random() < 0.5:
                self.change(event)
        self.produce(4, 16)
        for number, event in enumerate(order):
            at_once = number == len(order) - 1 and random.random() < 0.5
            self.replicate(None if at_once else self.some(0, 14))
            _HAPPENS[event](self)
            self.world.happened.add(event)
            if not at_once:
                self.produce(0, 8)
        self.end()

    def end(self) -> None:
        """End the history as the world requires."""
        world = self.world
        if world.ending is not Ending.STOPPED:
            world.absent = False
        if world.ending is Ending.DRAINED:
            self.produce(0, 3 * self.some(0, 3))
            self.replicate(None)
            world.flow.commit()
            return
        self.produce(1, 10)
        self.replicate(self.some(0, max(len(world.flow.left()) - 1, 0)))
        if world.ending is Ending.STOPPED:
            world.flow.commit()
        elif not world.traits.syncs_on_target:
            world.syncs.clear()
            world.happened.add(Event.SYNCS_LOST)

    def some(self, least: int, most: int) -> int:
        """Choose a number; both bounds are included."""
        return least + int(self.random.random() * (most - least + 1))

    def produce(self, least: int, most: int) -> None:
        """Produce some records to the source."""
        self.world.produce(*self.contents(self.some(least, most)), each=self.each)
        self.world.happened.add(Event.PRODUCE)

    def contents(self, count: int) -> list[int]:
        """Make up contents: from a few that are repeated, or all new with random keys."""
        if self.alphabet is not None:
            return [self.some(0, self.alphabet - 1) for _ in range(count)]
        self.number += count
        return [KEYS * number + self.some(0, KEYS - 1) for number in range(self.number - count, self.number)]

    def replicate(self, count: int | None) -> None:
        """Replicate so many records (None: all)."""
        self.world.flow.replicate(count)
        self.world.happened.add(Event.REPLICATE)

    def transaction(self) -> None:
        self.produce(1, 5)
        self.world.source.append_unseen()

    def aborted(self) -> None:
        self.world.source.append_unseen(self.some(1, 4) + 1)

    def crash(self) -> None:
        self.world.flow.crash(in_vain=self.some(0, 3))

    def restart(self) -> None:
        self.world.flow.restart()

    def rewind(self) -> None:
        self.world.flow.move(self.earlier())

    def reset(self) -> None:
        self.world.reset(self.earlier())

    def earlier(self) -> int:
        """Choose a position that lies behind the flow, once it has replicated anything."""
        self.replicate(self.some(1, 4))
        self.world.flow.commit()
        return self.some(0, max((self.world.flow.stored or 0), 0))

    def forward(self) -> None:
        self.produce(1, 8)
        flow = self.world.flow
        flow.move(self.some(flow.next + 1, self.world.source.end))

    def pause(self) -> None:
        self.produce(2, 10)

    def partition_added(self) -> None:
        """MirrorMaker 2 adds the partition to the remote topic, unless it is stopped before."""
        self.world.absent = self.world.ending is Ending.STOPPED and self.random.random() < 0.5

    def change(self, event: Event) -> None:
        """Change what a trait of the flow or of a topic is from now on."""
        name, world = self.changing[event], self.world
        world.flow.restart()
        world.traits = replace(world.traits, **{name: not getattr(world.traits, name)})

    def cleanup_policy(self) -> None:
        """Compact either log, and end compaction, which leaves gaps that no configuration explains."""
        self.random.choice((self.compact_source, self.compact_target))()
        self.world.traits = replace(self.world.traits, compacted=False)

    def compact_source(self) -> None:
        self.world.traits = replace(self.world.traits, compacted=True)
        log = self.world.source
        log.compact(self.some((log.start + log.end) // 2, log.end))

    def compact_target(self) -> None:
        self.world.traits = replace(self.world.traits, compacted=True)
        log = self.world.target
        log.compact(self.some((log.start + log.end) // 2, log.end))

    def retain_source(self) -> None:
        log = self.world.source
        log.retain(self.some(log.start + 1, log.end))

    def retain_target(self) -> None:
        self.replicate(self.some(1, 4))
        log = self.world.target
        log.retain(self.some(log.start + 1, log.end))

    def source_anew(self) -> None:
        self.replicate(self.some(1, 4))
        self.world.recreate_source()
        self.produce(1, 8)

    def target_anew(self) -> None:
        self.replicate(self.some(1, 4))
        self.world.recreate_target()

    def foreign(self) -> None:
        self.world.write_foreign(*self.contents(self.some(1, 6)), each=self.each)

    def second_flow(self) -> None:
        for _ in range(self.some(2, 5)):
            self.produce(1, 2)
            self.replicate(self.some(0, 3))
            self.world.write_foreign(*self.contents(self.some(1, 2)), each=self.each)

    def syncs_lost(self) -> None:
        self.replicate(self.some(1, 6))
        syncs = self.world.syncs
        del syncs[: self.some(1, len(syncs))]

    def stale_syncs(self) -> None:
        """Let no more syncs be written, so that the stored ones grow old."""
        self.world.flow.silent = True

    def leave_syncs(self) -> None:
        """Begin with syncs of earlier topics of these names, which were deleted on both sides."""
        upstream = downstream = 0
        for _ in range(self.some(1, 4)):
            upstream, downstream = upstream + self.some(1, 12), downstream + self.some(1, 12)
            self.world.send_sync(Mapped(upstream, downstream))
        self.world.happened.add(Event.STALE_SYNCS)

    def observe(self) -> None:
        """Run the readiness check, and keep what it observes."""
        self.world.observe()

    def groups_move(self) -> None:
        log = self.world.source
        self.world.groups = {group: self.some(log.start, log.end) for group in self.world.groups}

    def checkpoint(self) -> None:
        self.groups_move()
        self.world.happened.add(Event.GROUPS_MOVE)
        self.world.checkpoint()


_HAPPENS: Mapping[Event, Callable[[_Course], None]] = {
    Event.TRANSACTION: _Course.transaction,
    Event.ABORTED: _Course.aborted,
    Event.CRASH: _Course.crash,
    Event.RESTART: _Course.restart,
    Event.REWIND: _Course.rewind,
    Event.FORWARD: _Course.forward,
    Event.PAUSE: _Course.pause,
    Event.PARTITION_ADDED: _Course.partition_added,
    Event.COMPACT_SOURCE: _Course.compact_source,
    Event.COMPACT_TARGET: _Course.compact_target,
    Event.RETAIN_SOURCE: _Course.retain_source,
    Event.RETAIN_TARGET: _Course.retain_target,
    Event.SOURCE_ANEW: _Course.source_anew,
    Event.TARGET_ANEW: _Course.target_anew,
    Event.FOREIGN: _Course.foreign,
    Event.SECOND_FLOW: _Course.second_flow,
    Event.SYNCS_LOST: _Course.syncs_lost,
    Event.STALE_SYNCS: _Course.stale_syncs,
    Event.GROUPS_MOVE: _Course.groups_move,
    Event.CHECKPOINT: _Course.checkpoint,
    Event.RESET: _Course.reset,
    Event.OBSERVE: _Course.observe,
    Event.CONVERTER: partial(_Course.change, event=Event.CONVERTER),
    Event.TRANSFORM: partial(_Course.change, event=Event.TRANSFORM),
    Event.TIMESTAMP_TYPE: partial(_Course.change, event=Event.TIMESTAMP_TYPE),
    Event.DELIVERY: partial(_Course.change, event=Event.DELIVERY),
    Event.CLEANUP_POLICY: _Course.cleanup_policy,
}

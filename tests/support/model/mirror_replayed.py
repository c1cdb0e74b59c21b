"""Made-up histories replayed on real topics, to check what the model assumes.

Each topic has one partition and its world; one flow replicates all of them. What happens to a topic, happens to both.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from random import Random
from typing import Any
from uuid import uuid4

from confluent_kafka import Producer

from airflow_provider_connect_offsets.offsets.families import MirrorSource
from airflow_provider_connect_offsets.offsets.flow import Flow
from sandbox import Broker, Sandbox, wait_for
from sandbox.connectors import mirror_checkpoint_config, mirror_source_config
from tests.support.flows.failing_over import Flowing
from tests.support.model.mirror_logs import KEYS, Contents, Log, Traits
from tests.support.model.mirror_truth import copies
from tests.support.model.mirror_world import LAG_MAX, Mapped, World
from tests.support.rows.written_failover import text


@dataclass(slots=True)
class Replayed:
    """One topic, and the world that it must resemble.

    number: of contents that were made up; copied: all that was replicated, in that order, of topics that are gone too;
    moved_to: where its flow is put before it resumes
    """

    topic: str
    world: World
    number: int = 0
    copied: list[Mapped] = field(default_factory=list)
    moved_to: int | None = None


@dataclass(frozen=True)
class Replay:
    """The flow that replicates all topics; ``began``: milliseconds that the clocks of all worlds count from."""

    flowing: Flowing
    played: Sequence[Replayed]
    random: Random
    began: int = field(default_factory=lambda: int(time.time() * 1000))

    @property
    def sandbox(self) -> Sandbox:
        return self.flowing.sandbox

    def run(self, rounds: int) -> None:
        """Per round, let one event happen to each topic while the flow runs, and one while it is stopped."""
        for _ in range(rounds):
            self._each(_WHILE_IT_RUNS)
            self.wait_until_replicated()
            self.stop()
            self._each(_WHILE_IT_IS_STOPPED)
            self.resume()
            self.wait_until_replicated()

    def _each(self, happens: Sequence[Callable[[Replay, Replayed], None]]) -> None:
        for one in self.played:
            self.random.choice(happens)(self, one)

    def stop(self) -> None:
        """Stop the flow in order, so that the offsets of replicated records are stored."""
        self.sandbox.connect.stop(self.flowing.source_connector)
        for one in self.played:
            one.world.flow.commit()

    def resume(self) -> None:
        """Set the flow's offsets, and resume it."""
        moves = {one.topic: one.moved_to for one in self.played if one.moved_to is not None}
        connect, alias, family = self.sandbox.connect, self.flowing.flow.source_alias, MirrorSource()
        entries = [
            {"partition": {"cluster": alias, "topic": topic, "partition": 0}, "offset": family.offset_at(at)}
            for topic, at in moves.items()
        ]
        if entries:
            connect.alter(self.flowing.source_connector, entries)
        for one in self.played:
            if one.moved_to is None:
                one.world.flow.start()
            else:
                one.world.flow.move(one.moved_to)
            one.moved_to = None
        connect.resume(self.flowing.source_connector)

    def wait_until_replicated(self) -> None:
        """Wait until the remote topics and the stored offsets are those of the worlds."""
        for one in self.played:
            before = one.world.target.end
            one.world.flow.replicate()
            one.world.flow.commit()
            one.copied += [
                Mapped(offset, downstream) for downstream, offset in copies(one.world) if downstream >= before
            ]
        ends = {one.topic: (one.world.target.end, one.world.flow.stored) for one in self.played}
        late = f"{self.flowing.source_connector} has not replicated what the worlds say"
        wait_for(self._ends, ends, 60, late, progress={"replicated": self._ends, **self.sandbox.connect.work})

    def wait_until_synced(self) -> None:
        """Wait for an offset sync of each topic's last record: ten are sent at once, others at the next commit."""
        last = {one.topic: one.copied[-1:] for one in self.played}
        wait_for(lambda: {name: sent[-1:] for name, sent in self.syncs().items()}, last, 60, "offset syncs are missing")

    def _ends(self) -> dict[str, tuple[int, int | None]]:
        stored = {
            entry["partition"]["topic"]: entry["offset"]["offset"]
            for entry in self.sandbox.connect.offsets(self.flowing.source_connector)
            if entry["offset"] is not None
        }
        there = self.sandbox.target.topics()
        names = {one.topic: self.flowing.flow.target_topic(one.topic) for one in self.played}
        ends = {topic: self.sandbox.target.log_bounds(name)[0][1] for topic, name in names.items() if name in there}
        return {topic: (ends.get(topic, 0), stored.get(topic)) for topic in names}

    def contents(self, one: Replayed, count: int) -> list[int]:
        """Contents of records: each a new one, or one of a few that come again."""
        if one.world.traits.repeats:
            return [self.random.randint(0, 1) for _ in range(count)]
        one.number += count
        return [KEYS * number for number in range(one.number - count, one.number)]

    def produce(self, one: Replayed, count: int) -> None:
        """Produce more records to the source."""
        before = one.world.source.end
        one.world.produce(*self.contents(one, count), each=_each(one))
        self._write(self.sandbox.source, one.topic, one.world.source, before)

    def write_foreign(self, one: Replayed, count: int) -> None:
        """Write foreign records to the remote topic after all is replicated."""
        self.wait_until_replicated()
        before = one.world.target.end
        one.world.write_foreign(*self.contents(one, count), each=_each(one))
        self._write(self.sandbox.target, self.flowing.flow.target_topic(one.topic), one.world.target, before)

    def _write(self, broker: Broker, topic: str, log: Log, before: int) -> None:
        records = [log.records[at] for at in range(before, log.end)]
        broker.produce(
            topic,
            [str(record.content) for record in records],
            partition=0,
            timestamps=[self.began + record.timestamp for record in records],
        )

    def transaction(self, one: Replayed, count: int, *, aborted: int) -> None:
        """Produce a committed transaction, and an aborted one if it has records."""
        before = one.world.source.end
        one.world.produce(*self.contents(one, count), each=_each(one))
        producer = Producer(self.sandbox.source.client_settings() | {"transactional.id": one.topic})
        producer.init_transactions(30)
        producer.begin_transaction()
        for at in range(before, one.world.source.end):
            record = one.world.source.records[at]
            producer.produce(one.topic, str(record.content), partition=0, timestamp=self.began + record.timestamp)
        producer.commit_transaction(30)
        one.world.source.append_unseen()
        if aborted:
            producer.begin_transaction()
            for _ in range(aborted):
                producer.produce(one.topic, "aborted", partition=0)
            producer.flush(30)
            producer.abort_transaction(30)
            one.world.source.append_unseen(aborted + 1)
        end = one.world.source.end
        wait_for(lambda: self.sandbox.source.log_bounds(one.topic)[0][1], end, 60, "a transaction has not ended")

    def retain(self, broker: Broker, topic: str, log: Log, start: int) -> None:
        """Delete the records before an offset, as retention does."""
        log.retain(start)
        broker.delete_records(topic, {0: log.start})

    def seen(self, broker: Broker, topic: str) -> tuple[tuple[int, int], Contents]:
        """What a consumer reads of a log: its bounds, and content and time of each offset."""
        found = {
            record.offset: (int((record.value or b"").decode()), record.timestamp_ms - self.began)
            for record in broker.consume(topic)
        }
        return broker.log_bounds(topic)[0], found

    def syncs(self) -> dict[str, list[Mapped]]:
        """All offset syncs that were written, by topic of the source, in their order."""
        found: dict[str, list[Mapped]] = {one.topic: [] for one in self.played}
        topics = {text(topic) + struct.pack(">i", 0): topic for topic in found}
        for record in self.sandbox.source.consume(self.flowing.flow.offset_syncs_topic):
            if (topic := topics.get(record.key or b"")) is not None and record.value is not None:
                found[topic].append(Mapped(*struct.unpack(">qq", record.value)))
        return found


def _each(one: Replayed) -> int:
    return 1000 if one.world.traits.repeats else 1


def _nothing(_replay: Replay, _one: Replayed) -> None:
    pass


def _produce(replay: Replay, one: Replayed) -> None:
    replay.produce(one, replay.random.randint(1, 15))


def _transaction(replay: Replay, one: Replayed) -> None:
    replay.transaction(one, replay.random.randint(1, 5), aborted=replay.random.randint(0, 3))


def _foreign(replay: Replay, one: Replayed) -> None:
    replay.write_foreign(one, replay.random.randint(1, 6))
    replay.produce(one, replay.random.randint(0, 6))


def _retain_source(replay: Replay, one: Replayed) -> None:
    """Delete source records while the flow is stopped, possibly ones that were never replicated."""
    replay.produce(one, replay.random.randint(0, 6))
    log = one.world.source
    replay.retain(replay.sandbox.source, one.topic, log, replay.random.randint(log.start, log.end))


def _retain_target(replay: Replay, one: Replayed) -> None:
    log = one.world.target
    name = replay.flowing.flow.target_topic(one.topic)
    replay.retain(replay.sandbox.target, name, log, replay.random.randint(log.start, log.end))


def _rewind(replay: Replay, one: Replayed) -> None:
    stored = one.world.flow.stored
    one.moved_to = None if stored is None else replay.random.randint(0, stored)
    replay.produce(one, replay.random.randint(0, 4))


def _forward(replay: Replay, one: Replayed) -> None:
    replay.produce(one, replay.random.randint(3, 8))
    one.moved_to = replay.random.randint(one.world.flow.next, one.world.source.end)


def _source_anew(replay: Replay, one: Replayed) -> None:
    broker = replay.sandbox.source
    broker.delete_topic(one.topic)
    broker.create_topic(one.topic)
    one.world.recreate_source()
    replay.produce(one, replay.random.randint(1, 8))


def _target_anew(replay: Replay, one: Replayed) -> None:
    broker, name = replay.sandbox.target, replay.flowing.flow.target_topic(one.topic)
    broker.delete_topic(name)
    broker.create_topic(name)
    one.world.recreate_target()
    replay.produce(one, replay.random.randint(1, 8))


_WHILE_IT_RUNS = (_nothing, _produce, _produce, _transaction, _foreign, _retain_target)
_WHILE_IT_IS_STOPPED = (
    _nothing,
    _produce,
    _transaction,
    _retain_source,
    _rewind,
    _rewind,
    _forward,
    _source_anew,
    _target_anew,
)


@contextmanager
def replaying(sandbox: Sandbox, topics: int, seed: int) -> Iterator[Replay]:
    """Create topics with first records and a running flow of their own."""
    random, mark = Random(seed), uuid4().hex[:8]
    aliases: dict[str, Any] = {"source_alias": f"here{mark}", "target_alias": f"there{mark}"}
    # What the model takes for granted, beside the rule for syncs: aborted records are not replicated.
    overrides = {"offset.lag.max": str(LAG_MAX), "source.consumer.isolation.level": "read_committed"}
    config = mirror_source_config(sandbox, f"played-{mark}-.*", overrides=overrides, **aliases)
    played = [
        Replayed(f"played-{mark}-{number}", World(Traits(repeats=number % 4 == 3, transactions=True)))
        for number in range(topics)
    ]
    flowing = Flowing(sandbox, mark, played[0].topic, 1, Flow.of(config))
    replay = Replay(flowing, played, random)
    for one in played:
        one.world.flow.syncs_last = True
        sandbox.source.create_topic(one.topic)
        replay.produce(one, random.randint(4, 16))
    sandbox.connect.create(flowing.source_connector, config)
    checkpoints = mirror_checkpoint_config(sandbox, groups=f"{mark}-.*", **aliases)
    sandbox.connect.create(flowing.checkpoint_connector, checkpoints)
    try:
        replay.wait_until_replicated()
        yield replay
    finally:
        flowing.close()

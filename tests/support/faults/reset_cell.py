"""A MirrorMaker 2 flow with topics and a consumer group of its own, which tests reset."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from confluent_kafka import Consumer, KafkaException, TopicPartition
from confluent_kafka.admin import ConfigResource  # type: ignore[attr-defined]

from airflow_provider_connect_offsets.kafka.groups import ConsumerGroups
from airflow_provider_connect_offsets.offsets.flow import Flow, Side
from airflow_provider_connect_offsets.offsets.sync_record import OffsetSync, parse_sync
from sandbox import Broker, Progress, Sandbox, wait_for, wait_until
from sandbox.connectors import mirror_checkpoint_config, mirror_source_config
from tests.support.flows.flows import Create

RECORDS = 100


@dataclass(frozen=True)
class ResetCell:
    """A MirrorSource and its MirrorCheckpoint; topics have two partitions of records that hold ``partition:offset``."""

    sandbox: Sandbox
    mark: str
    topics: tuple[str, ...]
    source_connector: str
    checkpoint_connector: str
    overrides: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def start(
        cls,
        sandbox: Sandbox,
        *,
        topics: int = 1,
        odd: bool = False,
        overrides: Any = None,
        create: Create | None = None,
        names: Callable[[str], tuple[str, str]] | None = None,
    ) -> ResetCell:
        """Create all of it, and wait until it has caught up.

        ``odd``: connectors with unusual names. ``create``: creates the connectors; None: over REST. ``names``: gives
        their names from the cell's mark.
        """
        mark = uuid4().hex[:6]
        of_topics = tuple(f"orders-{mark}-{number}" for number in range(topics))
        connectors = (f"von A ü {mark}", f"prüf:{mark}") if odd else (f"source-{mark}", f"checkpoint-{mark}")
        create = create or sandbox.connect.create
        cell = cls(sandbox, mark, of_topics, *(names(mark) if names else connectors), overrides or {})
        for topic in of_topics:
            sandbox.source.create_topic(topic, partitions=2)
            cell.produce(topic, RECORDS, first=0)
            # Without a group, a MirrorCheckpoint has no task.
            cell.commit(topic, dict.fromkeys((0, 1), RECORDS - 1))
        create(cell.source_connector, cell.source_config)
        cell.wait_until_caught_up()
        create(cell.checkpoint_connector, cell.checkpoint_config)
        sandbox.connect.wait_state(cell.checkpoint_connector, "RUNNING", tasks=1)
        return cell

    @property
    def _aliases(self) -> dict[str, str]:
        return {"source_alias": f"s-{self.mark}", "target_alias": f"t-{self.mark}"}

    @property
    def source_config(self) -> dict[str, str]:
        topics = ",".join(self.topics)
        return mirror_source_config(self.sandbox, topics, **self._aliases, overrides=self.overrides)

    @property
    def checkpoint_config(self) -> dict[str, str]:
        quick = {
            "emit.checkpoints.interval.seconds": "1",
            "refresh.groups.interval.seconds": "1",
            "sync.group.offsets.enabled": "true",
            "sync.group.offsets.interval.seconds": "1",
        }
        groups = f"group-{self.mark}.*"
        overrides = {**quick, **self.overrides}
        return mirror_checkpoint_config(self.sandbox, groups=groups, **self._aliases, overrides=overrides)

    @property
    def flow(self) -> Flow:
        return Flow.of(self.source_config)

    @property
    def params(self) -> dict[str, Any]:
        """The Params of a run of the DAG."""
        return {"source_connector": self.source_connector, "checkpoint_connector": self.checkpoint_connector}

    @property
    def group(self) -> str:
        return f"group-{self.mark}"

    @property
    def syncs_on(self) -> Broker:
        return self.sandbox.source if self.flow.syncs_on is Side.SOURCE else self.sandbox.target

    def produce(self, topic: str, count: int, *, first: int | None = None) -> None:
        """Append so many records to each partition; ``first``: the offset of the first, where that is known."""
        for partition in (0, 1):
            start = self.sandbox.source.log_bounds(topic)[partition][1] if first is None else first
            values = [f"{partition}:{number}" for number in range(start, start + count)]
            self.sandbox.source.produce(topic, values, partition=partition)

    def positions(self) -> dict[tuple[str, int], int]:
        """The positions of the MirrorSource."""
        return {
            (entry["partition"]["topic"], entry["partition"]["partition"]): entry["offset"]["offset"] + 1
            for entry in self.sandbox.connect.offsets(self.source_connector)
            if entry["offset"] is not None
        }

    def wait_until_caught_up(self) -> None:
        """Wait until all records are replicated and the positions stored."""
        ends = {
            (topic, partition): end
            for topic in self.topics
            for partition, (_start, end) in self.sandbox.source.log_bounds(topic).items()
        }
        wait_for(self.positions, ends, 60, f"{self.source_connector} has not caught up", progress=self.work)

    def wait_until_synced(self) -> None:
        """Wait until no more syncs come: MirrorMaker 2 writes one of the last record with its next commit.

        It does so from Kafka 3.7 on (KAFKA-15906); before, one comes for each ``offset.lag.max`` records alone.
        """
        last = {
            (topic, partition): end - 1
            for topic in self.topics
            for partition, (_start, end) in self.sandbox.source.log_bounds(topic).items()
        }

        def synced() -> dict[tuple[str, int], int]:
            return {(sync.where.topic, sync.where.partition): sync.upstream for sync in self.syncs()}

        wait_for(synced, last, 60, f"{self.source_connector} has not written all syncs", progress=self.work)

    def wait_until_running(self) -> None:
        """Wait until both connectors and their tasks run."""
        for name in (self.source_connector, self.checkpoint_connector):
            self.sandbox.connect.wait_state(name, "RUNNING", tasks=1)

    def wait_for_group_on_target(self, expected: Mapping[tuple[str, int], int], *, group: str = "") -> None:
        """Wait until MirrorMaker 2 has committed exactly these offsets of the group on the target."""
        late = f"the group is not where {self.checkpoint_connector} is to put it"
        wait_for(lambda: self.group_on_target(group), expected, 60, late, progress=self.work)

    @property
    def work(self) -> Progress:
        """Progress of the flow."""
        ends = {
            "remote topics": lambda: [
                self.sandbox.target.log_bounds(self.remote_partition(topic)) for topic in self.topics
            ],
            "syncs": lambda: len(self.syncs()),
            "checkpoints": lambda: self.sandbox.target.log_bounds(self.flow.checkpoints_topic),
        }
        return {**ends, **self.sandbox.connect.work}

    def remote_partition(self, topic: str) -> str:
        return self.flow.target_topic(topic)

    def replicated(self, topic: str) -> dict[int, list[str]]:
        """The values in the remote topic, by partition."""
        found: dict[int, list[str]] = {0: [], 1: []}
        for record in self.sandbox.target.consume(self.remote_partition(topic)):
            found[record.partition].append((record.value or b"").decode())
        return found

    def syncs(self) -> list[OffsetSync]:
        """The offset syncs, in their order."""
        records = self.syncs_on.consume(self.flow.offset_syncs_topic)
        return [sync for one in records if (sync := parse_sync(one.key or b"", one.value)) is not None]

    def policies(self) -> list[str | None]:
        """The cleanup policies of the flow's own topics."""
        topics = [(self.syncs_on, self.flow.offset_syncs_topic), (self.sandbox.target, self.flow.checkpoints_topic)]
        return [policy_of(broker, topic) for broker, topic in topics]

    def commit(self, topic: str, positions: Mapping[int, int], *, group: str = "") -> None:
        """Commit these positions of the consumer group on the source."""
        commit(self.sandbox.source, group or self.group, topic, positions)

    def group_on_target(self, group: str = "") -> dict[tuple[str, int], int]:
        """The offsets that MirrorMaker 2 has committed for the group on the target."""
        with ConsumerGroups(self.sandbox.target.client_settings()) as groups:
            return {(where.topic, where.partition): at for where, at in groups.offsets(group or self.group).items()}

    def set_by_hand(self, topic: str, partition: int, position: int) -> None:
        """Rewind only the MirrorSource's offsets, as people do by hand."""
        where = {"cluster": self.flow.source_alias, "topic": topic, "partition": partition}
        self.sandbox.connect.stop(self.source_connector)
        offset = {"offset": position - 1} if position else None
        self.sandbox.connect.alter(self.source_connector, [{"partition": where, "offset": offset}])
        self.sandbox.connect.resume(self.source_connector)
        self.wait_until_caught_up()

    def restart(self) -> None:
        """Restart the MirrorSource with its task."""
        self.sandbox.connect.stop(self.source_connector)
        self.sandbox.connect.resume(self.source_connector)

    def states(self) -> list[str]:
        """States of both connectors and of their tasks."""
        found = [self.sandbox.connect.status(name) for name in (self.source_connector, self.checkpoint_connector)]
        return [state["state"] for one in found for state in (one["connector"], *one["tasks"])]

    def close(self) -> None:
        for name in {self.source_connector, self.checkpoint_connector} & set(self.sandbox.connect.connectors()):
            self.sandbox.connect.delete(name)


def policy_of(broker: Broker, topic: str) -> str | None:
    """A topic's cleanup policy."""
    request = ConfigResource(ConfigResource.Type.TOPIC, topic)
    with broker.admin() as client:
        value = client.describe_configs([request])[request].result()["cleanup.policy"].value
    return None if value is None else str(value)


def commit(broker: Broker, group: str, topic: str, positions: Mapping[int, int]) -> None:
    """Commit offsets for a group that nobody is in; a broker that has just started takes a moment for the first."""
    offsets = [TopicPartition(topic, partition, position) for partition, position in positions.items()]
    consumer = Consumer({**broker.client_settings(), "group.id": group, "enable.auto.commit": False})

    def are_stored() -> bool:
        try:
            consumer.commit(offsets=offsets, asynchronous=False)
            found = consumer.committed(offsets, timeout=20)
        except KafkaException:
            return False
        return {one.partition: one.offset for one in found} == dict(positions)

    try:
        wait_until(are_stored, 60, f"the offsets of {group} are not committed")
    finally:
        consumer.close()

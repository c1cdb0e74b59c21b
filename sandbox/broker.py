"""A cluster of one broker."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sandbox.kafka import Kafka
from sandbox.launch import kafka_command
from sandbox.process import ServerProcess


class Broker(Kafka):
    """A Kafka cluster of one process: broker and controller."""

    def __init__(self, name: str, home: Path) -> None:
        self.process = ServerProcess(f"broker {name}", home, _BrokerRecipe(cluster_id=str(uuid.uuid4())))

    @property
    def bootstrap(self) -> str:
        """``host:port`` of the broker."""
        return _address(self.process.ports)


@dataclass(frozen=True, slots=True)
class _Started(Kafka):
    """The cluster behind some ports, to be asked whether it is ready."""

    bootstrap: str


@dataclass(frozen=True, slots=True)
class _BrokerRecipe:
    cluster_id: str
    ports: int = 2

    def prepare(self, home: Path, ports: Sequence[int]) -> list[list[str]]:
        settings = home / "broker.properties"
        settings.write_text(_SETTINGS.format(address=_address(ports), controller=ports[1], data=home / "data"))
        arguments = ("format", "-t", self.cluster_id, "-c", str(settings))
        return [kafka_command("kafka.tools.StorageTool", arguments, home=home)]

    def command(self, home: Path) -> list[str]:
        return kafka_command("kafka.Kafka", [str(home / "broker.properties")], home=home)

    def is_ready(self, ports: Sequence[int]) -> bool:
        # Another sandbox's broker may have taken the port first; ours is then about to end.
        return _Started(_address(ports)).cluster_id() == self.cluster_id


def _address(ports: Sequence[int]) -> str:
    return f"127.0.0.1:{ports[0]}"


_SETTINGS = """\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
controller.listener.names=CONTROLLER
listeners=PLAINTEXT://{address},CONTROLLER://127.0.0.1:{controller}
log.dirs={data}

# A single node can't replicate.
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1

# Topics are made on purpose: a client that still asks for a deleted one must not bring it back.
auto.create.topics.enable=false
# Tests write records with old timestamps, which must not be deleted for their age.
log.retention.ms=-1

# Quick to start, and small.
group.initial.rebalance.delay.ms=0
offsets.topic.num.partitions=4
transaction.state.log.num.partitions=4
share.coordinator.state.topic.num.partitions=1
log.cleaner.dedupe.buffer.size=8388608
num.network.threads=2
num.io.threads=4
broker.heartbeat.interval.ms=500
# A broker that was killed may come back only once its former self is given up.
broker.session.timeout.ms=3000
"""

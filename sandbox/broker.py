"""A Kafka cluster of one broker, as a process of the sandbox."""

from __future__ import annotations

import base64
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from sandbox.jars import KAFKA_VERSION
from sandbox.kafka import Kafka, KafkaAt
from sandbox.launch import kafka_command
from sandbox.process import ServerProcess

_ANSWERED = 5.0  # seconds: on a busy machine a new broker may need more than one for its first answer


class Broker(Kafka):
    """A Kafka cluster of one process: broker and controller."""

    def __init__(self, name: str, home: Path, *, secured: Secured | None = None, version: str = KAFKA_VERSION) -> None:
        self._recipe = _BrokerRecipe(_new_id(), secured or Secured(), version)
        self.process = ServerProcess(f"broker {name}", home, self._recipe)

    @property
    def bootstrap(self) -> str:
        """``host:port`` of the broker."""
        return _address(self.process.ports)

    @property
    def secured_listeners(self) -> dict[str, str]:
        """``host:port`` of each secured listener, by its name."""
        names = self._recipe.secured.listeners
        return {name: _at(port) for name, port in zip(names, self.process.ports[2:], strict=True)}


@dataclass(frozen=True, slots=True)
class Secured:
    """Additional listeners: the security protocol of each by its name, and the settings that they need.

    ``scram`` are users as ``StorageTool format --add-scram`` takes them, ``options`` further options of the JVM.
    """

    listeners: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)
    scram: Sequence[str] = ()
    options: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class _BrokerRecipe:
    cluster_id: str
    secured: Secured
    version: str

    @property
    def ports(self) -> int:
        return 2 + len(self.secured.listeners)

    def prepare(self, home: Path, ports: Sequence[int]) -> list[list[str]]:
        settings = home / "broker.properties"
        listeners = zip(self.secured.listeners, ports[2:], strict=True)
        text = _SETTINGS.format(
            address=_address(ports),
            controller=ports[1],
            more="".join(f",{name}://{_at(port)}" for name, port in listeners),
            protocols="".join(f",{name}:{protocol}" for name, protocol in self.secured.listeners.items()),
            data=home / "data",
        )
        settings.write_text(text + "".join(f"{name}={value}\n" for name, value in self.secured.settings.items()))
        users = [argument for user in self.secured.scram for argument in ("--add-scram", user)]
        arguments = ("format", f"--cluster-id={self.cluster_id}", "-c", str(settings), *users)
        return [kafka_command("kafka.tools.StorageTool", arguments, home=home, version=self.version)]

    def command(self, home: Path) -> list[str]:
        settings, options = [str(home / "broker.properties")], self.secured.options
        return kafka_command("kafka.Kafka", settings, home=home, version=self.version, options=options)

    def is_ready(self, ports: Sequence[int]) -> bool:
        # Another sandbox's broker may have taken the port first; this one is then about to end.
        return KafkaAt(_address(ports)).cluster_id(_ANSWERED) == self.cluster_id


def _new_id() -> str:
    """A cluster id in Kafka's own format, the only one that versions before 4.0 accept."""
    return base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")


def _address(ports: Sequence[int]) -> str:
    return _at(ports[0])


def _at(port: int) -> str:
    return f"127.0.0.1:{port}"


_SETTINGS = """\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
controller.listener.names=CONTROLLER
listeners=PLAINTEXT://{address},CONTROLLER://127.0.0.1:{controller}{more}
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT{protocols}
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

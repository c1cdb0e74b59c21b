"""A Kafka Connect worker of the sandbox: its process and its settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from sandbox.connect import Connect, ConnectAt
from sandbox.jars import KAFKA_VERSION
from sandbox.launch import kafka_command
from sandbox.process import ServerProcess


class Mode(StrEnum):
    """How a worker runs, by the name of its main class."""

    DISTRIBUTED = "ConnectDistributed"
    STANDALONE = "ConnectStandalone"


class ConnectWorker(Connect):
    """A worker; ``properties`` override its settings.

    With properties that begin with ``listeners.https.`` it has a second listener. ``more``: ``version`` of Kafka;
    ``login``, name and password with a colon between, if it asks for them; ``options``, further options of the JVM.
    """

    def __init__(
        self,
        name: str,
        home: Path,
        *,
        bootstrap: Callable[[], str],
        properties: Mapping[str, str],
        mode: Mode = Mode.DISTRIBUTED,
        **more: Any,
    ) -> None:
        self.settings = home / "worker.properties"
        self._login: str = more.get("login", "")
        recipe = _WorkerRecipe(bootstrap, mode, properties=dict(properties), **more)
        self.process = ServerProcess(f"worker {name}", home, recipe)

    @property
    def url(self) -> str:
        """The address of its REST API, with the login if it asks for one."""
        return _url(self.process.ports, self._login)

    @property
    def https_port(self) -> int:
        """The port of its second listener."""
        return self.process.ports[1]


@dataclass(frozen=True, slots=True)
class _WorkerRecipe:
    bootstrap: Callable[[], str]
    mode: Mode
    version: str = KAFKA_VERSION
    properties: Mapping[str, str] = field(default_factory=dict)
    login: str = ""
    options: Sequence[str] = ()

    @property
    def ports(self) -> int:
        return 1 + any(name.startswith("listeners.https.") for name in self.properties)

    def prepare(self, home: Path, ports: Sequence[int]) -> list[list[str]]:
        also = "".join(f",https://127.0.0.1:{port}" for port in ports[1:])
        own = {"bootstrap.servers": self.bootstrap(), "listeners": f"{_url(ports)}{also}"}
        if self.mode is Mode.STANDALONE:
            own["offset.storage.file.filename"] = str(home / "connect.offsets")
        settings = {**_SETTINGS, **own, **self.properties}
        text = "".join(f"{key}={value}\n" for key, value in settings.items())
        (home / "worker.properties").write_text(text)
        return []

    def command(self, home: Path) -> list[str]:
        main_class, settings = f"org.apache.kafka.connect.cli.{self.mode}", str(home / "worker.properties")
        return kafka_command(main_class, [settings], home=home, version=self.version, options=self.options)

    def is_ready(self, ports: Sequence[int]) -> bool:
        return ConnectAt(_url(ports, self.login)).is_ready()


def _url(ports: Sequence[int], login: str = "") -> str:
    return f"http://{login}{'@' if login else ''}127.0.0.1:{ports[0]}"


_SETTINGS = {
    "group.id": "sandbox-connect",
    "config.storage.topic": "connect-configs",
    "offset.storage.topic": "connect-offsets",
    "status.storage.topic": "connect-status",
    "config.storage.replication.factor": "1",
    "offset.storage.replication.factor": "1",
    "status.storage.replication.factor": "1",
    "offset.storage.partitions": "3",
    "status.storage.partitions": "1",
    "key.converter": "org.apache.kafka.connect.storage.StringConverter",
    "value.converter": "org.apache.kafka.connect.storage.StringConverter",
    "connector.client.config.override.policy": "All",
    "plugin.discovery": "service_load",
    "offset.flush.interval.ms": "2000",
    "scheduled.rebalance.max.delay.ms": "0",
    # A killed worker leaves its group soon; the least that the broker allows.
    "session.timeout.ms": "6000",
    "heartbeat.interval.ms": "2000",
    # Sinks that subscribe to a pattern see new topics soon.
    "consumer.metadata.max.age.ms": "2000",
}

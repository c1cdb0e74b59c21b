"""Sinks that have failed on a record, and what finds and skips it, without Airflow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from uuid import uuid4

from airflow_provider_connect_offsets.kafka.cluster import KafkaCluster
from airflow_provider_connect_offsets.observe.clients import Clients
from airflow_provider_connect_offsets.offsets.requests.poison import PoisonRequest
from airflow_provider_connect_offsets.operations.poison.kept_records import KeptRecords
from airflow_provider_connect_offsets.operations.poison.poisoned_sink import PoisonedSink
from airflow_provider_connect_offsets.saga.lease import Owner
from airflow_provider_connect_offsets.workspace.layout import PoisonDirectory
from sandbox import Sandbox, wait_for
from sandbox.connectors import file_sink_config
from tests.support.flows.flows import Changer

GOOD = 13
JSON = {"value.converter": "org.apache.kafka.connect.json.JsonConverter", "value.converter.schemas.enable": "false"}
KEYS_ARE_TEXT = {"key.converter": "org.apache.kafka.connect.storage.StringConverter"}
#: A transformation that fails on a text that is no number, which reading can't see.
CAST = {
    "transforms": "cast",
    "transforms.cast.type": "org.apache.kafka.connect.transforms.Cast$Value",
    "transforms.cast.spec": "int32",
}
BROKEN = '{"city": "Seattle'


@dataclass(frozen=True)
class Poisoned:
    """A file sink with a topic of one partition, most of whose records are good.

    Attributes:
        sandbox: Where it runs.
        changer: Opens clients.
        name: Name of the connector.
        topic: Its topic.
        values: The values of the topic's records.
        config: Its configuration.
        run: Name of the run, which journals and directories have.
    """

    sandbox: Sandbox
    changer: Changer
    name: str
    topic: str
    values: Sequence[str]
    config: Mapping[str, str]
    run: str = field(default_factory=lambda: f"test/{uuid4().hex}")

    @classmethod
    def start(
        cls,
        sandbox: Sandbox,
        changer: Changer,
        values: Sequence[str],
        settings: Mapping[str, str],
        *,
        position: int | None = None,
    ) -> Poisoned:
        """Create a sink that reads ``values`` from ``position`` on, and wait until it has failed."""
        name = f"poisoned-{uuid4().hex[:8]}"
        config = {**file_sink_config(name, sandbox.data / f"{name}.txt"), **settings}
        sink = cls(sandbox, changer, name, name, values, config)
        sandbox.target.create_topic(name)
        sandbox.target.produce(name, values)
        if position is not None:
            sandbox.target.commit_group(f"connect-{name}", name, {0: position})
        sandbox.connect.create(name, config)
        sandbox.connect.wait_state(name, "FAILED", tasks=1)
        return sink

    @property
    def file(self) -> Path:
        """The file that it writes."""
        return Path(self.config["file"])

    @property
    def delivered(self) -> list[str]:
        """What it has delivered."""
        return self.file.read_text().splitlines() if self.file.exists() else []

    @property
    def position(self) -> int | None:
        """The committed position; None if there is none."""
        stored = self.sandbox.connect.stored_offsets(self.name)
        return int(stored[0]["kafka_offset"]) if stored and stored[0] else None

    @property
    def settings(self) -> dict[str, str]:
        """Its configuration in Connect."""
        return {name: value for name, value in self.sandbox.connect.config(self.name).items() if name != "name"}

    @property
    def state(self) -> list[str]:
        """The states of the connector and of its tasks."""
        status = self.sandbox.connect.status(self.name)
        return [status["connector"]["state"], *(task["state"] for task in status["tasks"])]

    @property
    def kept(self) -> list[dict[str, Any]]:
        """The records that were kept."""
        return KeptRecords(self._directory, self.name).rows()

    @property
    def _directory(self) -> PoisonDirectory:
        return PoisonDirectory(f"{self.changer.workspace}/{self.run}")

    def work(self, stack: ExitStack, *, clients: Clients | None = None, **given: Any) -> PoisonedSink:
        """What a task of the run works with."""
        request = PoisonRequest.parse(connector=self.name, **given)
        return PoisonedSink(
            request,
            replace(clients or stack.enter_context(self.changer.clients()), workspace=self.changer.workspace),
            stack.enter_context(KafkaCluster({"bootstrap.servers": self.sandbox.target.bootstrap})),
            Owner.here(run=self.run, task="skip"),
            KeptRecords(self._directory, self.name, content=request.keep_content),
        )

    def wait_until_delivered(self, values: Sequence[str]) -> None:
        """Wait until it has delivered all of these, and nothing else."""
        late = f"{self.name} has not delivered them"
        wait_for(lambda: self.delivered, list(values), 30, late, progress=self.sandbox.connect.work)

    def remove(self) -> None:
        """Delete the connector."""
        self.sandbox.connect.delete(self.name)


def rows(first: int, count: int) -> list[str]:
    """JSON objects, numbered from ``first``."""
    return [f'{{"row": {number}}}' for number in range(first, first + count)]


def lines(first: int, count: int) -> list[str]:
    """What the file sink writes for :func:`rows`."""
    return [f"{{row={number}}}" for number in range(first, first + count)]

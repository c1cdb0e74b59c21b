"""A Connect cluster whose deleted connectors leave offsets behind."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from airflow_provider_connect_offsets.connect.rest.client import ConnectRest
from airflow_provider_connect_offsets.connect.rest.endpoint import ConnectEndpoint
from airflow_provider_connect_offsets.connect.storage.offsets_topic import OffsetsTopic
from airflow_provider_connect_offsets.offsets.storage import parse_key
from sandbox import Progress, Sandbox, wait_for
from sandbox.connectors import file_source_config
from sandbox.worker import ConnectWorker

LINES = "one\ntwo\n"


@dataclass(frozen=True)
class Cell:
    """A Connect cluster whose FileStreamSources are created and deleted by tests."""

    sandbox: Sandbox
    worker: ConnectWorker
    name: str

    @property
    def topic(self) -> str:
        return f"{self.name}-offset"

    def file(self, connector: str) -> Path:
        return self.sandbox.data / f"{self.name}-{connector}.txt"

    def create(self, connector: str) -> None:
        """Create a connector that reads two lines, and wait until its offset is stored."""
        self.file(connector).write_text(LINES)
        self.worker.create(connector, file_source_config(f"{self.name}-lines", self.file(connector)))
        late = f"{connector} has stored nothing"
        wait_for(lambda: self.position(connector), len(LINES), 60, late, progress=self.work)

    def position(self, connector: str) -> int | None:
        """The position of a connector by the worker's REST API."""
        stored = self.worker.offsets(connector)
        return stored[0]["offset"]["position"] if stored else None

    @property
    def work(self) -> Progress:
        """Progress of its connectors."""
        return {"delivered": self.delivered, **self.worker.work}

    def gone(self, *connectors: str) -> None:
        """Create connectors, and delete them."""
        for connector in connectors:
            self.create(connector)
            self.worker.delete(connector)

    def delivered(self) -> int:
        """The number of lines that all connectors have read."""
        return self.sandbox.target.log_bounds(f"{self.name}-lines")[0][1]

    def ends(self) -> dict[int, int]:
        """The log end offsets of the offsets topic."""
        return {number: end for number, (_, end) in self.sandbox.target.log_bounds(self.topic).items()}

    def live_offsets(self) -> dict[str, bytes]:
        """The last value of each connector that has one."""
        found: dict[str, bytes] = {}
        for raw, value in OffsetsTopic(self.sandbox.target.client_settings(), self.topic).read_stored().records.items():
            key = parse_key(raw)
            if key is not None and value is not None:
                found[key.connector] = value
        return found

    def connect(self) -> ConnectRest:
        return ConnectRest(ConnectEndpoint((self.worker.url,)))

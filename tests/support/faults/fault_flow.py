"""Running connectors whose changes tests break, and checks of their state afterwards."""

from __future__ import annotations

import json
import subprocess
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self
from uuid import uuid4

from airflow_provider_connect_offsets.workspace.layout import RunDirectory
from sandbox import Broker, Connect, Progress, RestRefusal, Sandbox, wait_until
from sandbox.connectors import file_sink_config, mirror_source_config
from tests.support.flows.flows import Changer
from tests.support.programs import change_process
from tests.support.programs.output import read_to_end

PARTITIONS, RECORDS = 3, 30
# Of partition 0 the records from 10 on are delivered again, of partition 1 all, of partition 2 none.
SET_TO = 10
AGAIN = RECORDS - SET_TO + RECORDS


@dataclass(frozen=True)
class Reported:
    """The result that the changing process printed; empty if it was killed."""

    ended: str = "killed"
    message: str = ""
    #: Code with which it ended, negative if by a signal; not compared.
    code: int | None = field(default=None, compare=False)


@dataclass(frozen=True)
class FaultFlow(ABC):
    """A running connector that has delivered all records of a topic with three partitions."""

    sandbox: Sandbox
    connect: Connect
    name: str
    topic: str

    @classmethod
    def start(cls, sandbox: Sandbox, connect: Connect | None = None) -> Self:
        """Create topic and connector, and wait until all is delivered and committed."""
        mark = uuid4().hex[:8]
        flow = cls(sandbox, connect or sandbox.connect, f"fault-{mark}", f"faults-{mark}")
        flow.kafka.create_topic(flow.topic, partitions=PARTITIONS)
        for partition in range(PARTITIONS):
            values = [f"{partition}:{number}" for number in range(RECORDS)]
            flow.kafka.produce(flow.topic, values, partition=partition)
        flow.create()
        return flow

    @property
    @abstractmethod
    def kafka(self) -> Broker:
        """The cluster that the positions refer to."""

    @property
    @abstractmethod
    def config(self) -> dict[str, str]:
        """The connector's configuration."""

    @abstractmethod
    def entry(self, partition: int, position: int) -> dict[str, Any]:
        """A position in the form of the REST API."""

    @abstractmethod
    def positions(self) -> dict[int, int]:
        """The stored positions by partition, without partitions that have no offset."""

    @abstractmethod
    def delivered(self) -> int:
        """How many records it has delivered."""

    def create(self) -> None:
        """Create the connector and wait until it has read to the end."""
        self.connect.create(self.name, self.config)
        self.connect.wait_state(self.name, "RUNNING", tasks=1)
        self.wait_until_caught_up()

    def plan(self, changer: Changer, folder: Path) -> RunDirectory:
        """Plan to set one partition, to clear another, and to leave the third alone."""
        positions = folder / f"{self.topic}.csv"
        positions.write_text(f"{self.topic},0,{SET_TO}\n{self.topic},1,\n")
        run, summary = changer.plan(self.name, "file", positions.as_uri())
        assert (summary["errors"], summary["set"], summary["clear"], summary["keep"]) == ([], 1, 1, 1)
        return run

    @contextmanager
    def changing(
        self, run: RunDirectory, *, workspace: str, url: str, timeout: float, owner: str = "faults"
    ) -> Iterator[subprocess.Popen[str]]:
        """Make the change in a process of its own, through ``url``; the process is ended with the block."""
        command = [sys.executable, "-m", change_process.__name__]
        servers = [self.kafka.bootstrap, self.kafka_of_groups.bootstrap]
        arguments = [run.uri, url, *servers, workspace, str(timeout), owner]
        with subprocess.Popen([*command, *arguments], stdout=subprocess.PIPE, text=True) as process:
            try:
                yield process
            finally:
                process.kill()

    @property
    def kafka_of_groups(self) -> Broker:
        """The cluster of a sink's consumer group."""
        return self.sandbox.target

    def move(self, partition: int, position: int) -> None:
        """Set a position by hand; it must be STOPPED."""
        self.connect.alter(self.name, [self.entry(partition, position)])

    def state(self) -> str:
        """The connector's state, FAILED where a task has failed, and GONE where there is none."""
        try:
            status = self.connect.status(self.name)
        except RestRefusal as refusal:
            if refusal.status_code == 404:
                return "GONE"
            raise
        states = {status["connector"]["state"], *(task["state"] for task in status["tasks"])}
        return "FAILED" if "FAILED" in states else str(status["connector"]["state"])

    def is_caught_up(self) -> bool:
        """Whether it runs, and all is delivered and committed."""
        return self.state() == "RUNNING" and self.positions() == dict.fromkeys(range(PARTITIONS), RECORDS)

    @property
    def work(self) -> Progress:
        """Its progress while it catches up."""
        own = {"its state": self.state, "positions": self.positions, "records delivered": self.delivered}
        return {**own, **self.connect.work}

    def wait_until_caught_up(self) -> None:
        """Wait until it runs, and all is delivered and committed."""
        wait_until(self.is_caught_up, 60, f"{self.name} has not caught up", progress=self.work, interval=0.2)


class SinkFaults(FaultFlow):
    """A FileStreamSink."""

    @property
    def kafka(self) -> Broker:
        return self.sandbox.target

    @property
    def file(self) -> Path:
        """The file that it writes."""
        return self.sandbox.data / f"{self.name}.txt"

    @property
    def config(self) -> dict[str, str]:
        return file_sink_config(self.topic, self.file)

    def entry(self, partition: int, position: int) -> dict[str, Any]:
        where = {"kafka_topic": self.topic, "kafka_partition": partition}
        return {"partition": where, "offset": {"kafka_offset": position}}

    def positions(self) -> dict[int, int]:
        return {
            entry["partition"]["kafka_partition"]: entry["offset"]["kafka_offset"]
            for entry in self.connect.offsets(self.name)
            if entry["offset"] is not None
        }

    def delivered(self) -> int:
        return len(self.file.read_text().splitlines()) if self.file.exists() else 0


class MirrorFaults(FaultFlow):
    """A MirrorSource."""

    @property
    def kafka(self) -> Broker:
        return self.sandbox.source

    @property
    def config(self) -> dict[str, str]:
        return mirror_source_config(self.sandbox, self.topic)

    def entry(self, partition: int, position: int) -> dict[str, Any]:
        where = {"cluster": "source", "topic": self.topic, "partition": partition}
        return {"partition": where, "offset": {"offset": position - 1}}

    def positions(self) -> dict[int, int]:
        return {
            entry["partition"]["partition"]: entry["offset"]["offset"] + 1
            for entry in self.connect.offsets(self.name)
            if entry["offset"] is not None
        }

    def delivered(self) -> int:
        return sum(end for _start, end in self.sandbox.target.log_bounds(f"source.{self.topic}").values())


def reported(process: subprocess.Popen[str]) -> Reported:
    """Wait for the end of a change, and read its result."""
    printed = read_to_end(process)
    if not printed:
        return Reported(code=process.wait(60))
    line: dict[str, Any] = json.loads(printed.splitlines()[-1])
    return Reported(line["ended"], line["message"])

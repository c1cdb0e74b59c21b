"""A sink whose change is broken on purpose, and what a test may find afterwards."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import change_process
from flows import Changer

from airflow_provider_connect_offsets.workspace.layout import RunDirectory
from sandbox import Sandbox, wait_until
from sandbox.connectors import file_sink_config

PARTITIONS, RECORDS = 3, 30
# Of partition 0 the records from 10 on are delivered again, of partition 1 all, of partition 2 none.
SET_TO = 10
AGAIN = RECORDS - SET_TO + RECORDS


@dataclass(frozen=True)
class Told:
    """What a process that made the change said at its end; nothing, where it was killed."""

    ended: str = "killed"
    message: str = ""


@dataclass(frozen=True)
class FaultFlow:
    """A running FileStreamSink of a topic with three partitions, which has written all of it."""

    sandbox: Sandbox
    name: str
    topic: str
    file: Path

    @classmethod
    def start(cls, sandbox: Sandbox) -> FaultFlow:
        """Create topic and connector, and wait until all is written and committed."""
        mark = uuid4().hex[:8]
        flow = cls(sandbox, f"fault-{mark}", f"faults-{mark}", sandbox.data / f"fault-{mark}.txt")
        sandbox.target.create_topic(flow.topic, partitions=PARTITIONS)
        for partition in range(PARTITIONS):
            values = [f"{partition}:{number}" for number in range(RECORDS)]
            sandbox.target.produce(flow.topic, values, partition=partition)
        flow.create()
        return flow

    def create(self) -> None:
        """Create the connector and wait until it has read to the end."""
        self.sandbox.connect.create(self.name, file_sink_config(self.topic, self.file))
        self.sandbox.connect.wait_state(self.name, "RUNNING", tasks=1)
        self.wait_until_caught_up()

    @property
    def path(self) -> str:
        return f"/connectors/{self.name}"

    def plan(self, changer: Changer, folder: Path) -> RunDirectory:
        """Plan to set one partition, to clear another, and to leave the third alone."""
        wanted = folder / f"{self.topic}.csv"
        wanted.write_text(f"{self.topic},0,{SET_TO}\n{self.topic},1,\n")
        run, summary = changer.plan(self.name, "file", wanted.as_uri())
        assert (summary["errors"], summary["set"], summary["clear"], summary["keep"]) == ([], 1, 1, 1)
        return run

    @contextmanager
    def changing(self, changer: Changer, run: RunDirectory, *, name: str, url: str) -> Iterator[subprocess.Popen[str]]:
        """Make the change in a process of its own, through ``url``; the process is gone at the end."""
        command = [sys.executable, str(change_process.__file__)]
        arguments = [run.uri, url, changer.kafka.bootstrap, changer.workspace, name]
        with subprocess.Popen([*command, *arguments], stdout=subprocess.PIPE, text=True) as process:
            try:
                yield process
            finally:
                process.kill()

    def change(self, changer: Changer, run: RunDirectory, *, name: str) -> Told:
        """Make the change with nothing in its way."""
        with self.changing(changer, run, name=name, url=self.sandbox.connect.url) as process:
            return told(process)

    def state(self) -> str:
        """The connector's state, and FAILED where a task has failed."""
        status = self.sandbox.connect.status(self.name)
        states = {status["connector"]["state"], *(task["state"] for task in status["tasks"])}
        return "FAILED" if "FAILED" in states else str(status["connector"]["state"])

    def positions(self) -> dict[int, int]:
        """Committed positions by partition."""
        return {
            entry["partition"]["kafka_partition"]: entry["offset"]["kafka_offset"]
            for entry in self.sandbox.connect.offsets(self.name)
            if entry["offset"] is not None
        }

    def written(self) -> int:
        """How many lines the sink has written."""
        return len(self.file.read_text().splitlines()) if self.file.exists() else 0

    def wait_until_caught_up(self) -> None:
        """Wait until it runs, and all is written and committed."""
        ends = dict.fromkeys(range(PARTITIONS), RECORDS)
        wait_until(lambda: self.state() == "RUNNING" and self.positions() == ends, 60, f"{self.name} has not caught up")


def told(process: subprocess.Popen[str]) -> Told:
    """Wait for the end of a change, and read what it said."""
    printed, _ = process.communicate(timeout=120)
    if not printed:
        return Told()
    line: dict[str, Any] = json.loads(printed.splitlines()[-1])
    return Told(line["ended"], line["message"])

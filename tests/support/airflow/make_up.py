"""``make up`` as a program of its own, and what it prints."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from airflow_provider_connect_offsets.kafka.logs import KafkaLogs
from airflow_provider_connect_offsets.offsets.families import TopicPartition
from sandbox.airflow import AirflowAt, Login
from sandbox.connect import ConnectAt

COMMAND = (sys.executable, "-m", "sandbox.play")


@dataclass(frozen=True)
class Playing:
    """``make up`` that is ready and has printed its instructions."""

    directory: Path
    process: subprocess.Popen[str]
    printed: str

    def match(self, pattern: str) -> str:
        """The match of the first group of ``pattern`` in the output."""
        found = re.search(pattern, self.printed)
        assert found, self.printed
        return found[1]

    @property
    def airflow(self) -> AirflowAt:
        login = Login(self.match(r"Sign in as (\S+)"), self.match(r"the password (\S+)"))
        return AirflowAt(self.match(r"Airflow is up: (\S+)"), login)

    @property
    def connect(self) -> ConnectAt:
        return ConnectAt(self.match(r"Kafka Connect at (\S+),"))

    def first_change(self) -> dict[str, str]:
        """The values for the trigger form that it prints."""
        return {
            "connector": self.match(r"Connector +(\S+)"),
            "to": self.match(r"Resume at +(\S+)"),
            "value": self.match(r"Value +(\S+)"),
            "kafka_conn_id": self.match(r"Kafka connection +(\S+)"),
        }

    def replicated(self) -> int:
        """The number of records in the remote topic."""
        with KafkaLogs({"bootstrap.servers": self.match(r"\(source\) and (\S+) \(target\)")}) as logs:
            topic = self.match(r"readings, to (\S+)\n")
            partitions = [TopicPartition(topic, number) for number in range(logs.topics()[topic])]
            return sum(bounds.log_end for bounds in logs.bounds(partitions).values())


@contextmanager
def make_up(directory: Path) -> Iterator[Playing]:
    """Start it and read up to its last line; kill it at the end if it still runs."""
    with subprocess.Popen(
        COMMAND, cwd=directory, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        try:
            yield Playing(directory, process, _read_until(process, "Ctrl-C"))
        finally:
            process.kill()


def _read_until(process: subprocess.Popen[str], last: str) -> str:
    """Read a process's output up to the line that starts with ``last``."""
    assert process.stdout
    printed = ""
    for line in process.stdout:
        printed += line
        if line.startswith(last):
            return printed
    raise AssertionError(f"it has ended, and said: {printed}")

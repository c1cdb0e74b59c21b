"""Commit or restore groups in a process that kills itself right before one of its writes.

usage: dying_writes.py commit|restore BOOTSTRAP RUN_DIRECTORY DIGEST WRITES WORKSPACE [waits]

With a workspace it is done as tasks do it: with a journal, whose own writes don't count. One that ``waits`` does not
kill itself, but prints a line, and goes on once it reads one.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from airflow_provider_connect_offsets.kafka import groups
from airflow_provider_connect_offsets.kafka.cluster import KafkaCluster
from airflow_provider_connect_offsets.kafka.groups import Committed, ConsumerGroups
from airflow_provider_connect_offsets.observe.clusters import Clusters
from airflow_provider_connect_offsets.offsets.families import TopicPartition
from airflow_provider_connect_offsets.operations.groups.group_clients import group_clients
from airflow_provider_connect_offsets.operations.groups.group_commit import commit_translation
from airflow_provider_connect_offsets.operations.groups.group_restore import restore_groups
from airflow_provider_connect_offsets.operations.groups.group_stages import move_groups
from airflow_provider_connect_offsets.saga.lease import Owner
from airflow_provider_connect_offsets.workspace import files
from airflow_provider_connect_offsets.workspace.layout import FailoverDirectory


class Writes:
    """How many files and groups may still be written; ``waits``: wait before the next write instead of dying."""

    left = 0
    waits = False

    @classmethod
    def one(cls) -> None:
        """Count a write, or die."""
        cls.left -= 1
        if cls.left >= 0:
            return
        if not cls.waits:
            os.kill(os.getpid(), signal.SIGKILL)
        elif cls.left == -1:
            sys.stdout.write("here\n")
            sys.stdout.flush()
            sys.stdin.readline()


class Dying(ConsumerGroups):
    """A groups client whose commits and deletes count as writes."""

    def _request_commit(self, group: str, offsets: Mapping[TopicPartition, int | Committed]) -> Any:
        Writes.one()
        return super()._request_commit(group, offsets)

    def delete(self, group: str) -> None:
        """Delete the group, or die before."""
        Writes.one()
        super().delete(group)


def killed(
    action: str, bootstrap: str, directory: FailoverDirectory, *, digest: str = "", writes: int, workspace: str = ""
) -> bool:
    """Run it with so many writes, and return whether it was killed; with enough writes it succeeds."""
    command = _command(action, bootstrap, directory, digest, str(writes), workspace)
    code = subprocess.run(command, check=False, cwd=Path.cwd(), env=_environment()).returncode
    assert code in {0, -signal.SIGKILL}
    return code != 0


def interrupted(
    action: str,
    bootstrap: str,
    directory: FailoverDirectory,
    *,
    digest: str,
    writes: int,
    workspace: str,
    world: Callable[[], None],
) -> bool:
    """Run it, call ``world`` before the write of that number, and return whether there was such a write."""
    command = _command(action, bootstrap, directory, digest, str(writes), workspace, "waits")
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=Path.cwd(), env=_environment(), stdin=pipe, stdout=pipe, text=True) as program:
        assert program.stdin is not None
        assert program.stdout is not None
        came = program.stdout.readline() == "here\n"
        if came:
            world()
            program.stdin.write("\n")
            program.stdin.close()
    return came


def _command(action: str, bootstrap: str, directory: FailoverDirectory, *more: str) -> list[str]:
    return [sys.executable, "-m", __name__, action, bootstrap, directory.uri, *more]


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(Path.cwd())}


def main(action: str, bootstrap: str, uri: str, digest: str, writes: str, workspace: str, *waits: str) -> None:
    """Commit or restore, one group after the other, and die."""
    Writes.left, Writes.waits = int(writes), bool(waits)
    groups._IN_FLIGHT = 1
    publish = files.write_bytes

    def write_bytes(uri: str, content: bytes) -> None:
        if "/_journal/" not in uri:
            Writes.one()
        publish(uri, content)

    files.write_bytes = write_bytes
    directory = FailoverDirectory(uri)
    with KafkaCluster({"bootstrap.servers": bootstrap}) as cluster:
        cluster.groups.__class__ = Dying

        def move() -> object:
            if action == "restore":
                return restore_groups(directory, cluster)
            return commit_translation(directory, Clusters(None, cluster), digest=digest)

        if not workspace:
            move()
            return
        target = group_clients(cluster, workspace, connections={"target_kafka_conn_id": "eu"})
        move_groups(target, Owner.here(run="dag/dead", task=action), directory, move)


if __name__ == "__main__":
    main(*sys.argv[1:])

"""Commit translated offsets in a process that kills itself half-way.

usage: python -m tests.support.programs.commit_process BOOTSTRAP RUN_DIRECTORY DIGEST GROUPS
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Mapping
from typing import Any

from airflow_provider_connect_offsets.kafka import groups
from airflow_provider_connect_offsets.kafka.cluster import KafkaCluster
from airflow_provider_connect_offsets.kafka.groups import Committed, ConsumerGroups
from airflow_provider_connect_offsets.observe.clusters import Clusters
from airflow_provider_connect_offsets.offsets.families import TopicPartition
from airflow_provider_connect_offsets.operations.groups.group_commit import commit_translation
from airflow_provider_connect_offsets.workspace.layout import FailoverDirectory


class Dying(ConsumerGroups):
    """A groups client that kills the process after some commits."""

    left = 0

    def _request_commit(self, group: str, offsets: Mapping[TopicPartition, int | Committed]) -> Any:
        if not self.left:
            os.kill(os.getpid(), signal.SIGKILL)
        Dying.left -= 1
        return super()._request_commit(group, offsets)


def main(bootstrap: str, uri: str, digest: str, count: str) -> None:
    """Commit, one group after the other, and die."""
    Dying.left = int(count)
    groups._IN_FLIGHT = 1
    with KafkaCluster({"bootstrap.servers": bootstrap}) as cluster:
        cluster.groups.__class__ = Dying
        commit_translation(FailoverDirectory(uri), Clusters(None, cluster), digest=digest)


if __name__ == "__main__":
    main(*sys.argv[1:])

"""Reset a flow in a process that dies half-way.

``python -m tests.support.programs.reset_process RUN WORKSPACE WORKER SOURCE TARGET``

It is gone at once, as by SIGKILL, when the offset-syncs topic has been switched to a policy that lets records be
deleted: the offsets are written by then, and nothing is emptied.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

from airflow_provider_connect_offsets.kafka.cluster import KafkaCluster
from airflow_provider_connect_offsets.offsets.families import TopicPartition
from airflow_provider_connect_offsets.workspace.layout import ResetDirectory
from tests.support.flows.flow_changer import FlowChanger


class Deadly(KafkaCluster):
    """A client that kills the process where it would delete records."""

    def _delete(self, topic: str, ends: Mapping[TopicPartition, int]) -> None:
        del topic, ends
        os._exit(9)


if __name__ == "__main__":
    run, workspace, worker, source, target = sys.argv[1:]
    FlowChanger(workspace, worker, source, target, cluster=Deadly).apply(ResetDirectory(run))

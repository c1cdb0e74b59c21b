"""Journal entries of holders that are dead, and clocks for their leases."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace

from airflow_provider_connect_offsets.clock import Clock
from airflow_provider_connect_offsets.saga.journal import Journal
from airflow_provider_connect_offsets.saga.lease import Owner
from airflow_provider_connect_offsets.saga.record import Progress, SagaState, StageRecord
from airflow_provider_connect_offsets.workspace import files

ELSEWHERE = "another-host"
STAGE = StageRecord("stop", "a sink/ü", "c", {}, Progress.BEGUN, {"state": "PAUSED"})


class Time:
    """A wall clock that tests move, and a monotonic clock that advances by sleeping only."""

    def __init__(self) -> None:
        self.now = 1_000_000.0
        self.slept = 0.0

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept += seconds

    def age(self, uri: str) -> float:
        """Seconds since the lease was renewed, by the store's clock."""
        return self.now - float(files.read_json(uri)["heard_at"])

    @property
    def clock(self) -> Clock:
        return Clock(lambda: self.slept, self.sleep)


def dead_owner() -> Owner:
    """A process of this machine that has ended."""
    program = (
        "import dataclasses, json; from airflow_provider_connect_offsets.saga.lease import Owner; "
        "print(json.dumps(dataclasses.asdict(Owner.here(run='dag/dead', task='apply'))))"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    return Owner(**json.loads(ended.stdout))


def leave(journal: Journal, owner: Owner) -> None:
    """Leave what a killed process leaves: an unfinished journal entry, and a lease that nobody renews."""
    entry = journal._claim(owner, 0)
    entry.begin(owner, operation="a change", key="left", stages=())
    entry.write(replace(entry.record, state=SagaState.FORWARD, stages=(STAGE,)))

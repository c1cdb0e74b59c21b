"""Every call that a bounded replay makes is broken in turn; neither clone, group nor offsets are left in the end."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from airflow_provider_connect_offsets.cli import recovering
from airflow_provider_connect_offsets.operations.connector.plans import read_replay
from airflow_provider_connect_offsets.saga import Toward
from airflow_provider_connect_offsets.saga.lease import Owner
from airflow_provider_connect_offsets.workspace.layout import ReplayDirectory
from airflow_provider_connect_offsets.workspace.replay import ReplayResult
from tests.support.faults.faulty_clients import Faults
from tests.support.faults.matrix import GeneratedByPlan
from tests.support.faults.recovered_by import RecoveredBy
from tests.support.faults.rows import PlannedRow, owner
from tests.support.flows.flows import Changer
from tests.support.flows.replays import A_DAY, Replayed, name_of

pytestmark = [pytest.mark.faults, pytest.mark.timeout(3600)]
DAY = 4


@dataclass
class Replay(PlannedRow):
    """A day that a sink delivers once more."""

    sink: Replayed
    before: int = 0
    run: ReplayDirectory | None = None

    name = "bounded replay"
    share = 16
    successors = tuple(RecoveredBy)

    @classmethod
    @contextmanager
    def opened(cls, request: pytest.FixtureRequest) -> Iterator[Replay]:
        sandbox, folder = request.getfixturevalue("sandbox"), request.getfixturevalue("tmp_path")
        cluster, spark = str(sandbox.target.cluster_id()), request.getfixturevalue("spark")
        changer = Changer(spark, folder.as_uri(), sandbox.connect.url, sandbox.target, cluster, timeout=20)
        sink = Replayed.sink(sandbox, changer)
        yield cls(sink)
        for name in (*sink.left(), sink.name):
            if name in sandbox.connect.connectors():
                sandbox.connect.delete(name)

    def ready(self, turn: int) -> None:
        del turn
        self.before, self.run = self.delivered(), None

    def plan(self, by: Owner) -> ReplayDirectory:
        """Plan it; a replay belongs to its run, whose clone has a name of its own."""
        run, summary = self.sink.plan(self.sink.request(day=DAY, run=by.run))
        assert summary["errors"] == []
        return run

    def act(self, faults: Faults, by: Owner) -> None:
        self.run = self.run or self.plan(by)
        with self.sink.changer.clients() as clients:
            assert self.sink.replay(self.run, by, faults.clients(clients)).result is ReplayResult.DELIVERED

    def is_done(self) -> bool:
        assert self.sink.left() == []
        return self.delivered() - self.before >= A_DAY

    def check(self, error: BaseException | None) -> None:
        """The clone may be left, as the error says; whoever comes removes it."""

    def recover(self, by: Owner) -> None:
        systems = {"url": self.sink.changer.worker, "kafka": self.sink.changer.kafka.bootstrap}
        recovering.recover(self.sink.changer.workspace, self.clone, toward=Toward.BACK, run=by.run, **systems)

    def tear_down(self, by: Owner) -> None:
        assert self.run is not None
        self.sink.release(self.run, by)

    def come_next(self, by: Owner) -> None:
        other = owner()
        assert other.run != by.run
        self.sink.replay(self.plan(other), other)

    @property
    def clone(self) -> str:
        """Name of the clone."""
        assert self.run is not None
        return read_replay(self.run).request.clone

    def delivered(self) -> int:
        """How many records of the day the sink has delivered."""
        return self.sink.delivered()[name_of(DAY)]

    def change_theirs(self) -> None:
        """Someone creates a connector of the clone's name."""
        connect = self.sink.sandbox.connect
        settings = {**connect.config(self.sink.name), "name": self.clone}
        connect.create(self.clone, settings, initial_state="STOPPED")

    def observed(self) -> Any:
        return self.delivered(), sorted(self.sink.sandbox.connect.connectors())

    def reconfigure(self, by: Owner) -> None:
        self.run, connect = self.plan(by), self.sink.sandbox.connect
        connect.update_config(self.sink.name, {**connect.config(self.sink.name), "topics": "another"})


class TestReplays(GeneratedByPlan):
    """The interval is delivered in the end, and nothing is left, whoever ends what was begun."""

    rows = (Replay,)

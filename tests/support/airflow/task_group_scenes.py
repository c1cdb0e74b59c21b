"""Scenes for broken tasks of failovers, failbacks and orphan removals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any, Self
from uuid import uuid4

from airflow_provider_connect_offsets.offsets.families import TopicPartition
from airflow_provider_connect_offsets.workspace.files import list_names
from airflow_provider_connect_offsets.workspace.layout import FailoverDirectory
from sandbox import Broker, Sandbox
from tests.support.airflow.task_runs import Ended, Runs
from tests.support.airflow.task_scenes import InEffect, Scene
from tests.support.faults.orphan_cell import LINES, Cell
from tests.support.flows.failing_back import Leading, away_positions, merged, produce
from tests.support.flows.failing_over import Flowing, rows
from tests.support.flows.groups import Positions, commit_groups, committed

_GROUPS = 2


@dataclass
class Failovers(Scene):
    """A flow whose groups fail over to its target, two new groups per run."""

    # What is committed stays, whatever becomes of the run.
    after_death = InEffect.ALL
    writes = 1
    flowing: Flowing
    positions: Positions = field(default_factory=dict)

    @classmethod
    def start(cls, sandbox: Sandbox, runs: Runs) -> Self:
        del runs
        return cls(cls.flow(sandbox))

    @staticmethod
    def flow(sandbox: Sandbox) -> Flowing:
        """A flow that has replicated some records."""
        flowing = Flowing.start(sandbox, groups=1)  # without one, its MirrorCheckpoint has no task
        flowing.produce(40)
        flowing.wait_until_replicated()
        return flowing

    @property
    def connectors(self) -> list[str]:
        """The connectors that are stopped."""
        return [self.flowing.source_connector, self.flowing.checkpoint_connector]

    @property
    def leaves(self) -> Broker:
        """The cluster that the groups leave."""
        return self.flowing.sandbox.source

    @property
    def goes_to(self) -> Broker:
        """The cluster that the groups move to."""
        return self.flowing.sandbox.target

    @property
    def requested(self) -> dict[str, Any]:
        """The Params that select the flow."""
        return {
            "source_connector": self.flowing.source_connector,
            "checkpoint_connector": self.flowing.checkpoint_connector,
        }

    def somewhere(self) -> Positions:
        """Random positions of groups on the cluster that they leave."""
        return self.flowing.random_positions(_GROUPS, Random(uuid4().hex))

    def prepare(self) -> dict[str, Any]:
        connect = self.flowing.sandbox.connect
        for name in self.connectors:
            if connect.status(name)["connector"]["state"] == "STOPPED":
                connect.resume(name)
            connect.wait_state(name, "RUNNING", tasks=1)
        mark = f"{self.flowing.mark}-{uuid4().hex[:6]}"
        self.positions = {f"{mark}-{name}": one for name, one in self.somewhere().items()}
        commit_groups(self.leaves, self.positions)
        return {**self.requested, "groups": f"{mark}-.*"}

    def check(self, ended: Ended, in_effect: InEffect, params: Mapping[str, Any]) -> None:
        final = FailoverDirectory(ended.directory.uri).final_directory
        assert list_names(final.standby) == [], "a Spark driver still waits for a stop"
        moved: dict[str, dict[TopicPartition, int]] = {name: {} for name in self.positions}
        if in_effect is InEffect.ALL:
            for row in rows(final):
                moved[row["group"]][TopicPartition(row["target_topic"], row["kafka_partition"])] = row["downstream"]
            assert all(moved.values())
        assert committed(self.goes_to, self.positions) == moved
        assert committed(self.leaves, self.positions) == self.positions
        is_complete = _state_of(ended, "commit") == "success" and not params.get("resume_flow")
        for name in self.connectors:
            if is_complete:
                self.flowing.sandbox.connect.wait_state(name, "STOPPED")
            else:
                self.flowing.sandbox.connect.wait_state(name, "RUNNING", tasks=1)

    def close(self) -> None:
        self.flowing.close()


@dataclass
class Failbacks(Failovers):
    """Groups that fail back, while a second flow replicates the records produced on the target."""

    back: Leading | None = None

    @classmethod
    def start(cls, sandbox: Sandbox, runs: Runs) -> Self:
        del runs
        flowing = cls.flow(sandbox)
        sandbox.target.create_topic(flowing.topic, partitions=flowing.partitions)
        produce(sandbox.target, flowing.topic, 30, mark="there")
        back = Leading.start(flowing, flowing.topic)
        back.wait_until_replicated()
        return cls(flowing, back=back)

    @property
    def connectors(self) -> list[str]:
        return [self.flowing.source_connector, self._back.connector]

    @property
    def leaves(self) -> Broker:
        return self.flowing.sandbox.target

    @property
    def goes_to(self) -> Broker:
        return self.flowing.sandbox.source

    @property
    def requested(self) -> dict[str, Any]:
        return {"source_connector": self._back.connector, "forward_connector": self.flowing.source_connector}

    def somewhere(self) -> Positions:
        flowing, random = self.flowing, Random(uuid4().hex)
        topics = (flowing.target_topic, flowing.topic)
        return merged(*(away_positions(flowing, topic, _GROUPS, random) for topic in topics))

    def close(self) -> None:
        self._back.close()
        super().close()

    @property
    def _back(self) -> Leading:
        assert self.back is not None
        return self.back


@dataclass
class Orphans(Scene):
    """A Connect cluster of its own whose deleted connectors left offsets in its topic."""

    # A removal that was begun, after someone approved it, is finished.
    after_death = InEffect.ALL
    cell: Cell
    _before: dict[str, bytes] = field(default_factory=dict)

    @classmethod
    def start(cls, sandbox: Sandbox, runs: Runs) -> Self:
        name = f"orphans-{uuid4().hex[:6]}"
        sandbox.target.create_topic(f"{name}-lines")
        cell = Cell(sandbox, sandbox.another_cluster(name), name)
        cell.create("kept")
        host, _, port = cell.worker.url.removeprefix("http://").partition(":")
        connection = {"connection_id": name, "conn_type": "kafka_connect", "schema": "http"}
        runs.call("POST", "/connections", {**connection, "host": host, "port": int(port)})
        return cls(cell)

    def prepare(self) -> dict[str, Any]:
        if set(self.cell.live_offsets()) == {"kept"}:
            self.cell.gone(*(f"gone-{uuid4().hex[:6]}" for _ in range(2)))
        self._before = self.cell.live_offsets()
        where = {"connect_conn_id": self.cell.name, "kafka_conn_id": "kafka_target", "offsets_topic": self.cell.topic}
        return {**where, "remove": True}

    def check(self, ended: Ended, in_effect: InEffect, params: Mapping[str, Any]) -> None:
        del ended, params
        kept = {"kept": self._before["kept"]}
        assert self.cell.live_offsets() == (kept if in_effect is InEffect.ALL else self._before)
        assert self.cell.position("kept") == len(LINES)
        self.cell.worker.wait_state("kept", "RUNNING", tasks=1)

    def close(self) -> None:
        self.cell.worker.process.close()


def _state_of(ended: Ended, task: str) -> str:
    [state] = [state for name, state in ended.tasks.items() if name.rpartition(".")[2] == task]
    return state

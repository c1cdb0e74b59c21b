"""Scenes for broken tasks of poison records, copies, replays and changes of consumer groups."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Self
from uuid import uuid4

from sandbox import Sandbox, wait_for
from sandbox.connectors import file_sink_config
from tests.support.airflow.planted import without_planted
from tests.support.airflow.task_runs import Ended, Runs
from tests.support.airflow.task_scenes import InEffect, Scene
from tests.support.flows.flows import Changer
from tests.support.flows.group_changer import PlainGroup
from tests.support.flows.poisoned import CAST, GOOD, Poisoned
from tests.support.flows.replays import A_DAY, START, Replayed, name_of


def _changer(sandbox: Sandbox, runs: Runs) -> Changer:
    """Opens clients; plans are made by the DAGs."""
    cluster = str(sandbox.target.cluster_id())
    spark: Any = None
    return Changer(spark, runs.workspace, sandbox.connect.url, sandbox.target, cluster, timeout=20)


@dataclass
class Poisons(Scene):
    """A FAILED sink whose poison record can be found only by polling one record at a time. Each run gets a new sink."""

    # Its search is what a teardown has most to restore of: the sink is stopped and has another configuration.
    dies = "poison.find"
    changer: Changer
    sandbox: Sandbox
    sink: Poisoned | None = None

    BEFORE, AFTER = tuple(str(number) for number in range(GOOD)), ("7", "8")

    @classmethod
    def start(cls, sandbox: Sandbox, runs: Runs) -> Self:
        return cls(_changer(sandbox, runs), sandbox)

    def prepare(self) -> dict[str, Any]:
        self.close()
        self.sink = Poisoned.start(self.sandbox, self.changer, [*self.BEFORE, "no number", *self.AFTER], CAST)
        return {"connector": self.sink.name, "kafka_conn_id": "kafka_target"}

    def check(self, ended: Ended, in_effect: InEffect, params: Mapping[str, Any]) -> None:
        del ended, params
        assert self.sink is not None
        if in_effect is InEffect.ALL:
            self.sandbox.connect.wait_state(self.sink.name, "RUNNING", tasks=1)
            self.sink.wait_until_delivered([*self.BEFORE, *self.AFTER])
        else:
            self.sandbox.connect.wait_state(self.sink.name, "FAILED", tasks=1)
            assert tuple(self.sink.delivered) == self.BEFORE[: len(self.sink.delivered)]
            assert (self.sink.position or 0) <= GOOD
        assert without_planted(self.sink.settings) == self.sink.config
        assert self.sink.state[0] == "RUNNING"

    def close(self) -> None:
        if self.sink is not None:
            self.sink.remove()
            self.sink = None


@dataclass
class Copies(Scene):
    """A sink that the runs rename, so that the next run begins with the name that the last one gave it."""

    # The copy is created, the original is stopped, and the copy has its offsets.
    writes = 3
    sandbox: Sandbox
    topic: str
    name: str
    renamed: str = ""

    RECORDS = 20

    @classmethod
    def start(cls, sandbox: Sandbox, runs: Runs) -> Self:
        del runs
        name = f"renamed-{uuid4().hex[:8]}"
        sandbox.target.create_topic(name)
        sandbox.target.produce(name, [str(number) for number in range(cls.RECORDS)])
        sandbox.connect.create(name, file_sink_config(name, sandbox.data / f"{name}.txt"))
        return cls(sandbox, name, name)

    def prepare(self) -> dict[str, Any]:
        if self.renamed in self.sandbox.connect.connectors():
            self.name = self.renamed
        self.renamed = f"{self.topic}-{uuid4().hex[:4]}"
        self._wait_until_caught_up(self.name)
        given = {"connector": self.name, "new_name": self.renamed, "rename": True}
        return {**given, "kafka_conn_id": "kafka_target"}

    def check(self, ended: Ended, in_effect: InEffect, params: Mapping[str, Any]) -> None:
        del ended, params
        one, other = (self.renamed, self.name) if in_effect is InEffect.ALL else (self.name, self.renamed)
        assert other not in self.sandbox.connect.connectors()
        self._wait_until_caught_up(one)
        lines = (self.sandbox.data / f"{self.topic}.txt").read_text().splitlines()
        assert lines == [str(number) for number in range(self.RECORDS)], "a record was delivered again, or never"

    def close(self) -> None:
        for name in {self.name, self.renamed} & set(self.sandbox.connect.connectors()):
            self.sandbox.connect.delete(name)

    def _wait_until_caught_up(self, name: str) -> None:
        connect = self.sandbox.connect
        connect.wait_state(name, "RUNNING", tasks=1)
        late = f"{name} has not caught up"
        wait_for(
            lambda: connect.stored_offsets(name), [{"kafka_offset": self.RECORDS}], 60, late, progress=connect.work
        )


@dataclass
class Replays(Scene):
    """A sink whose last day the runs deliver once more, by a clone."""

    # A clone that was delivering may have delivered the day.
    after_death = InEffect.EITHER
    # The clone is created, has its offsets, and delivers.
    writes = 3
    sink: Replayed
    _delivered: Counter[str] = field(default_factory=Counter)

    DAY = 4

    @classmethod
    def start(cls, sandbox: Sandbox, runs: Runs) -> Self:
        return cls(Replayed.sink(sandbox, _changer(sandbox, runs)))

    def prepare(self) -> dict[str, Any]:
        self._delivered = self.sink.delivered()
        begins = START + timedelta(days=self.DAY)
        interval = {"begins": begins.isoformat(), "ends": (begins + timedelta(days=1)).isoformat()}
        return {"connector": self.sink.name, **interval, "kafka_conn_id": "kafka_target"}

    def check(self, ended: Ended, in_effect: InEffect, params: Mapping[str, Any]) -> None:
        del ended, params
        assert self.sink.left() == []
        self.sink.sandbox.connect.wait_state(self.sink.name, "RUNNING", tasks=1)
        again = self.sink.delivered() - self._delivered
        assert set(again) <= {name_of(self.DAY)}
        count = again[name_of(self.DAY)]
        assert {InEffect.ALL: count >= A_DAY, InEffect.NONE: count == 0, InEffect.EITHER: True}[in_effect], count

    def close(self) -> None:
        for name in (*self.sink.left(), self.sink.name):
            if name in self.sink.sandbox.connect.connectors():
                self.sink.sandbox.connect.delete(name)


@dataclass
class Groups(Scene):
    """A consumer group of a plain application whose offsets the runs change."""

    after_death = InEffect.EITHER
    writes = 1
    group: PlainGroup

    PRIOR, PLANNED = {0: 60, 1: 20}, {0: 5, 1: 5, 2: 5}

    @classmethod
    def start(cls, sandbox: Sandbox, runs: Runs) -> Self:
        del runs
        return cls(PlainGroup.start(sandbox.target))

    def prepare(self) -> dict[str, Any]:
        self.group.commit()
        resume_at = {"to": "offset", "value": "5", "topics": self.group.topic}
        return {"groups": self.group.name, **resume_at, "kafka_conn_id": "kafka_target"}

    def check(self, ended: Ended, in_effect: InEffect, params: Mapping[str, Any]) -> None:
        del ended, params
        allowed = [
            one for one, unless in ((self.PLANNED, InEffect.NONE), (self.PRIOR, InEffect.ALL)) if in_effect != unless
        ]
        assert dict(self.group.offsets) in allowed
        assert self.group.aside is not None
        assert self.group.aside.offset == 7

    def close(self) -> None:
        """The sandbox goes with the group."""

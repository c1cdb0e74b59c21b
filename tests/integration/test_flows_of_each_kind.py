"""Failovers and failbacks of flows that are not as usual, compared record by record."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest
from confluent_kafka import Producer
from pyspark.sql import SparkSession

from airflow_provider_connect_offsets.operations.connector import stopped
from sandbox import Broker, Sandbox, wait_until
from tests.support.flows.failing_back import FailingBack, away_positions
from tests.support.flows.failing_over import FailingOver, Flowing, rows
from tests.support.flows.groups import Positions, commit_groups
from tests.support.flows.readiness import look_at

pytestmark = pytest.mark.mirror

GROUPS = 12
COMMITTED = {"consumer.isolation.level": "read_committed"}
Log = Mapping[int, bytes]


def in_transactions(flowing: Flowing) -> None:
    """Every third transaction is aborted; the last records, which have none, end each log with a record."""
    producer = Producer({"bootstrap.servers": flowing.sandbox.source.bootstrap, "transactional.id": flowing.mark})
    producer.init_transactions(60)
    for number in range(9):
        producer.begin_transaction()
        for partition in range(flowing.partitions):
            for record in range(7):
                producer.produce(flowing.topic, f"{partition}:{number}:{record}", partition=partition)
        producer.flush(60)
        if number % 3 == 1:
            producer.abort_transaction(60)
        else:
            producer.commit_transaction(60)
    flowing.produce(3)
    flowing.wait_until_replicated()


def rewound(flowing: Flowing) -> None:
    """A restart of its task, and a rewind."""
    flowing.live_through(60, restart_with=40, rewind_to=70, more=30)


def killed_again_and_again(flowing: Flowing) -> None:
    """Each worker dies before the offsets of what it has replicated are stored, or while they are."""
    for _ in range(4):
        before = replicated(flowing)
        flowing.produce(150)
        wait_until(partial(has_replicated_more, flowing, before), 60, "nothing is replicated")
        flowing.sandbox.connect.process.kill()
        flowing.sandbox.connect.process.start()
    flowing.wait_until_replicated()


def some_records(flowing: Flowing) -> None:
    """A rewind of all partitions."""
    flowing.live_through(8, rewind_to=5, more=4)


@dataclass(frozen=True)
class Kind:
    """A kind of flow.

    happened: what has happened to it; isolation: of its consumer, and of the groups; consumed: how many partitions are;
    by_ledger: the share of exact offsets once the source is lost.
    """

    happened: Callable[[Flowing], None]
    overrides: Mapping[str, str] = field(default_factory=dict)
    worker: Mapping[str, str] = field(default_factory=dict)
    partitions: int = 3
    consumed: int = 3
    by_ledger: float = 0.9

    @property
    def isolation(self) -> str:
        return self.overrides.get("consumer.isolation.level", "read_uncommitted")

    def positions(self, flowing: Flowing, random: Random) -> Positions:
        """A random position of each group in each partition that is consumed."""
        return {
            name: {where: position for where, position in offsets.items() if where.partition < self.consumed}
            for name, offsets in flowing.random_positions(GROUPS, random).items()
        }


KINDS = {
    # Without the source nobody knows whether an offset without a copy was a marker's or a record's.
    "transactions": Kind(in_transactions, by_ledger=0),
    "transactions whose aborted records are left out": Kind(in_transactions, COMMITTED, by_ledger=0),
    "an exactly-once source": Kind(rewound, COMMITTED, {"exactly.once.source.support": "enabled"}),
    "topics that keep their names": Kind(
        rewound, {"replication.policy.class": "org.apache.kafka.connect.mirror.IdentityReplicationPolicy"}
    ),
    "a worker that is killed again and again": Kind(killed_again_and_again),
    "200 partitions, some of them never consumed": Kind(some_records, partitions=200, consumed=140),
}


@dataclass(frozen=True)
class Both:
    """The values in both logs of a topic, by partition and offset."""

    here: Mapping[int, Log]
    there: Mapping[int, Log]

    @classmethod
    def read(cls, flowing: Flowing, isolation: str) -> Both:
        """Read what consumers of that isolation read."""
        source, target = flowing.sandbox.source, flowing.sandbox.target
        return cls(contents(source, flowing.topic, isolation), contents(target, flowing.target_topic, isolation))

    def reversed(self) -> Both:
        """The same for a failback."""
        return Both(self.there, self.here)

    def errors_in(self, translated: list[dict[str, Any]]) -> list[str]:
        """Errors of the groups that move; empty if none misses a record, and what is said of each is true."""
        return [error for row in translated if row["action"] == "commit" for error in self._errors(row)]

    def _errors(self, row: Mapping[str, Any]) -> Iterator[str]:
        here, there = self.here[row["kafka_partition"]], self.there[row["kafka_partition"]]
        read = {value for offset, value in here.items() if offset < row["upstream"]}
        # After a rewind a group may have read another copy of what is to come.
        unread = {value for offset, value in here.items() if offset >= row["upstream"]} - read
        to_come = [value for offset, value in sorted(there.items()) if offset >= row["downstream"]]
        missed = (unread & set(there.values())) - set(to_come)
        again = sum(value in read for value in to_come)
        if missed:
            yield f"{row} misses {sorted(missed)[:3]}"
        if row["max_rereads"] is not None and again > row["max_rereads"]:
            yield f"{row} reads {again} records again"
        if row["exact"] and (again or unread - set(there.values())):
            yield f"{row} is not exact"


def contents(broker: Broker, topic: str, isolation: str) -> dict[int, dict[int, bytes]]:
    """The values of a topic."""
    found: dict[int, dict[int, bytes]] = {number: {} for number in broker.log_bounds(topic)}
    for record in broker.consume(topic, isolation=isolation):
        assert record.value is not None
        found[record.partition][record.offset] = record.value
    return found


def has_gaps(logs: Mapping[int, Log]) -> bool:
    """Whether offsets between records have none, as those of transactions' markers."""
    return any(len(log) <= max(log, default=-1) for log in logs.values())


def replicated(flowing: Flowing) -> int:
    """How many records the remote topic has."""
    if flowing.target_topic not in flowing.sandbox.target.topics():
        return 0
    return sum(end for _start, end in flowing.sandbox.target.log_bounds(flowing.target_topic).values())


def has_replicated_more(flowing: Flowing, before: int) -> bool:
    """Whether it has more than ``before`` records."""
    return replicated(flowing) > before


@dataclass(frozen=True)
class Case:
    """A flow of one kind, where its groups are, and the workspace in which its readiness is looked at."""

    kind: Kind
    flowing: Flowing
    positions: Positions
    looks: str
    spark: SparkSession

    @property
    def requested(self) -> dict[str, Any]:
        """What each failover requests; its groups have positions of an earlier one, and may go back."""
        return {"reads_committed": self.kind.isolation == "read_committed", "rewind": f"{self.flowing.mark}-.*"}

    @property
    def lost(self) -> dict[str, Any]:
        """What a failover requests once the source is lost."""
        return {**self.requested, "planned": False, "source_connector": ""}

    def moving(self, workspace: str) -> FailingOver:
        return FailingOver(self.spark, workspace, self.flowing)

    def resume_flow(self, moving: FailingOver) -> None:
        """Undo the stops of a run, so that the flow goes on."""
        names = self.flowing.source_connector, self.flowing.checkpoint_connector
        with moving.clients() as clients:
            stopped.restore([(clients, name) for name in names], moving.owner())


@pytest.fixture(scope="module", params=KINDS, ids=str)
def case(
    request: pytest.FixtureRequest, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Case]:
    """All has happened, and the groups have read on."""
    kind = KINDS[request.param]
    with Sandbox(worker_properties=kind.worker) as sandbox:
        flowing = Flowing.start(sandbox, partitions=kind.partitions, overrides=kind.overrides, groups=GROUPS)
        kind.happened(flowing)
        positions = kind.positions(flowing, Random(request.param))
        commit_groups(sandbox.source, positions)
        yield Case(kind, flowing, positions, tmp_path_factory.mktemp("looks").as_uri(), spark)


@pytest.fixture(scope="module")
def lost(case: Case) -> Both:
    """What was in both logs when the source was killed, after a look at the readiness. For the last tests of a case."""
    sandbox, flowing = case.flowing.sandbox, case.flowing
    sandbox.connect.stop(flowing.checkpoint_connector)  # or checkpoints would be newer than the ledger
    look_at(flowing, case.spark, case.looks)
    logs = Both.read(flowing, case.kind.isolation)
    sandbox.source.process.kill()
    sandbox.connect.stop(flowing.source_connector)
    return logs


def test_planned(case: Case, tmp_path: Path) -> None:
    """All groups move, nearly all exactly."""
    moving = case.moving(tmp_path.as_uri())

    directory, summary = moving.translate(**case.requested)
    moved = moving.commit(directory, summary["digest"])

    assert (summary["errors"], moved.groups, dict(moved.left)) == ([], GROUPS, {})
    logs = Both.read(case.flowing, case.kind.isolation)
    assert has_gaps(logs.here) == (case.kind.happened is in_transactions)
    assert has_gaps(logs.there) == bool(case.kind.worker)
    assert logs.errors_in(rows(directory)) == []
    assert summary["exact"] >= 0.95 * sum(map(len, case.positions.values()))
    case.resume_flow(moving)


def test_failback(case: Case, tmp_path: Path) -> None:
    """Groups anywhere in the remote topic go home, nearly all exactly."""
    flowing = case.flowing
    positions = away_positions(flowing, flowing.target_topic, GROUPS, Random(case.looks))
    commit_groups(flowing.sandbox.target, positions)
    moving = case.moving(tmp_path.as_uri())
    failing_back = FailingBack(moving, None)

    directory, summary = failing_back.translate(**case.requested)
    moved = failing_back.commit(directory, summary["digest"])

    assert (summary["errors"], moved.groups, dict(moved.left)) == ([], GROUPS, {})
    assert Both.read(flowing, case.kind.isolation).reversed().errors_in(rows(directory)) == []
    assert summary["exact"] >= 0.95 * sum(map(len, positions.values()))
    case.resume_flow(moving)


def test_unplanned(case: Case, lost: Both, tmp_path: Path) -> None:
    """Offsets are translated from checkpoints and offset syncs alone, and no unread record is lost."""
    directory, summary = case.moving(tmp_path.as_uri()).preview(min_coverage=0, **case.lost)

    assert (summary["errors"], summary["by_ledger"]) == ([], 0)
    assert lost.errors_in(rows(directory)) == []
    assert summary["covered"] > 0


def test_unplanned_with_a_ledger(case: Case, lost: Both) -> None:
    """From where the readiness run has observed the groups, nearly all exactly, where offsets have no gaps."""
    directory, summary = case.moving(case.looks).preview(min_coverage=0, **case.lost)

    assert (summary["errors"], summary["by_ledger"] > 0) == ([], True)
    assert lost.errors_in(rows(directory)) == []
    assert summary["covered"] >= 0.9 * sum(map(len, case.positions.values()))
    assert summary["exact"] >= case.kind.by_ledger * summary["covered"]

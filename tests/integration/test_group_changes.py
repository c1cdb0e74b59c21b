"""The offsets of consumer groups of plain applications, changed on a real broker."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from uuid import uuid4

import pytest
from pyspark.sql import SparkSession

from airflow_provider_connect_offsets.connect.protocols import OffsetStore, WriteReply
from airflow_provider_connect_offsets.exceptions import Drift, NotApplied, NotStopped, UnknownConnector
from airflow_provider_connect_offsets.kafka.groups import Committed
from airflow_provider_connect_offsets.offsets.document import Offsets
from airflow_provider_connect_offsets.operations.connector.apply import apply_plan
from airflow_provider_connect_offsets.operations.connector.plans import read_plan
from airflow_provider_connect_offsets.saga.lease import Owner
from airflow_provider_connect_offsets.workspace.outcome import Result
from sandbox import Sandbox
from tests.support.faults.faulty_clients import Fault, Faults, Killed
from tests.support.flows.group_changer import GroupChanger, PlainGroup
from tests.support.flows.groups import member

pytestmark = pytest.mark.jobs
OWN = Committed(7, "own")


@pytest.fixture
def group(sandbox: Sandbox) -> PlainGroup:
    """A group without members."""
    return PlainGroup.start(sandbox.target)


@pytest.fixture
def changer(spark: SparkSession, sandbox: Sandbox, tmp_path: Path) -> GroupChanger:
    """Changes groups on the sandbox's target."""
    return GroupChanger.of(spark, tmp_path.as_uri(), sandbox.target)


def test_every_request_moves_the_partitions_that_it_names_and_no_other(
    changer: GroupChanger, group: PlainGroup
) -> None:
    """All partitions of a topic with an offset are moved, as by kafka-consumer-groups; another topic keeps its own."""
    for to, value, after in (
        ("earliest", "", {0: 0, 1: 0, 2: 0}),
        ("latest", "", {0: 100, 1: 100, 2: 100}),
        ("shift", "-30", {0: 70, 1: 70, 2: 70}),
        ("skip", "5", {0: 75, 1: 75, 2: 75}),
        ("offset", "12", {0: 12, 1: 12, 2: 12}),
    ):
        outcome = changer.change(group.name, to, value, topics=group.topic)

        assert (outcome.result, dict(group.offsets)) == (Result.APPLIED, after)
    assert group.aside == OWN


def test_a_removed_offset_leaves_all_others_with_their_metadata(changer: GroupChanger, group: PlainGroup) -> None:
    """Kafka deletes the group for it; what stays is committed again. Without any offset left, the group is gone."""
    changer.change(group.name, "clear", topics=group.topic, partitions="1")

    assert (dict(group.offsets), group.aside) == ({0: 60}, OWN)

    changer.change(group.name, "clear")

    assert (dict(group.offsets), group.aside) == ({}, None)
    with changer.clients() as clients, pytest.raises(UnknownConnector, match=group.name):
        clients.control.info(group.name)


def test_a_group_takes_the_offsets_of_another(changer: GroupChanger, group: PlainGroup) -> None:
    """With to=connector, the value names a group; its offset of a topic that is new to the group is taken too."""
    other = PlainGroup(group.broker, f"audit-{uuid4().hex[:8]}", group.topic, group.other)
    group.broker.commit_group(other.name, group.topic, {2: 33})

    outcome = changer.change(group.name, "connector", other.name)

    assert (outcome.result, dict(group.offsets)) == (Result.APPLIED, {0: 60, 1: 20, 2: 33})


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_group_with_members_is_refused_by_plan_and_commit(
    changer: GroupChanger, group: PlainGroup, protocol: str
) -> None:
    """With either protocol the plan has an error, and a plan made before is refused with nothing written."""
    run, _ = changer.plan(group.name, "earliest", topics=group.topic)
    with member(group.broker, group.name, group.topic, protocol=protocol):
        _, summary = changer.plan(group.name, "earliest", topics=group.topic)
        with pytest.raises(NotStopped, match=r"Nothing was written.*members"):
            changer.apply(run)

    assert any("has members" in message for message in summary["errors"])
    assert dict(group.offsets) == {0: 60, 1: 20}


def test_a_member_that_joins_right_before_the_commit_wins(changer: GroupChanger, group: PlainGroup) -> None:
    """Kafka refuses the commit: nothing is written, and the message says that the group has members."""
    plan = read_plan(changer.plan(group.name, "earliest", topics=group.topic)[0])
    owner = Owner.here(run="test/joined", task="apply")
    with ExitStack() as joined, changer.clients() as clients:

        def join() -> None:
            joined.enter_context(member(group.broker, group.name, group.topic))

        late = replace(clients, offsets=_Joined(clients.offsets, join))
        with pytest.raises(NotApplied, match=r"Nothing was written.*members.*prior offsets were read back"):
            apply_plan(plan, late, owner)

    assert dict(group.offsets) == {0: 60, 1: 20}


def test_offsets_that_an_application_has_moved_since_the_plan_are_drift(
    changer: GroupChanger, group: PlainGroup
) -> None:
    """The group ran and was stopped again: nothing is written, and the message names the partition."""
    run, _ = changer.plan(group.name, "earliest", topics=group.topic)
    group.broker.commit_group(group.name, group.topic, {0: 90})

    with pytest.raises(Drift, match="90"):
        changer.apply(run)

    assert dict(group.offsets) == {0: 90, 1: 20}


def test_what_an_application_commits_after_a_dead_change_is_not_undone(
    changer: GroupChanger, group: PlainGroup
) -> None:
    """The change died after its commit, and the group ran before anyone recovered it: recovery gives the change up."""
    run, _ = changer.plan(group.name, "earliest", topics=group.topic)
    plan, owner = read_plan(run), Owner.here(run="test/dead", task="apply")
    faults = Faults(Fault.KILLED)
    with changer.clients() as clients:
        dying = replace(faults.clients(clients), offsets=_DiesAfterWriting(clients.offsets, faults))
        with pytest.raises(Killed):
            apply_plan(plan, dying, owner)
    group.broker.commit_group(group.name, group.topic, {0: 44})

    outcome = changer.take_back(run, name=owner.run)

    assert outcome is not None
    assert outcome.result is Result.UNKNOWN
    assert "committed offsets of their own" in outcome.message
    assert dict(group.offsets) == {0: 44, 1: 0, 2: 0}
    assert changer.change(group.name, "latest", topics=group.topic).result is Result.APPLIED


@dataclass
class _DiesAfterWriting:
    """A store, after whose first write the process is killed."""

    store: OffsetStore
    faults: Faults

    def write_offsets(self, group: str, changes: Offsets) -> WriteReply:
        self.store.write_offsets(group, changes)
        self.faults.dead = True
        raise Killed

    def read_offsets(self, group: str) -> Offsets:
        self.faults.refuse_dead()
        return self.store.read_offsets(group)

    def reset_offsets(self, group: str) -> WriteReply:
        return self.store.reset_offsets(group)


@dataclass
class _Joined:
    """A store, before whose first write a member joins the group."""

    store: OffsetStore
    join: Callable[[], None]

    def write_offsets(self, group: str, changes: Offsets) -> WriteReply:
        self.join()
        return self.store.write_offsets(group, changes)

    def read_offsets(self, group: str) -> Offsets:
        return self.store.read_offsets(group)

    def reset_offsets(self, group: str) -> WriteReply:
        return self.store.reset_offsets(group)

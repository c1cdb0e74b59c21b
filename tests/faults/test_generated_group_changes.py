"""Every call that a change of a consumer group makes is broken in turn; a group is never left deleted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import pytest

from airflow_provider_connect_offsets.cli import recovering
from airflow_provider_connect_offsets.kafka.cluster import KafkaCluster
from airflow_provider_connect_offsets.offsets.plan import OffsetPlan
from airflow_provider_connect_offsets.operations.connector import stepwise
from airflow_provider_connect_offsets.operations.connector.apply import apply_plan
from airflow_provider_connect_offsets.operations.connector.plans import read_plan
from airflow_provider_connect_offsets.operations.groups.group_clients import group_clients
from airflow_provider_connect_offsets.operations.registry import make_registry
from airflow_provider_connect_offsets.saga import Toward
from airflow_provider_connect_offsets.saga.lease import Owner
from tests.support.faults.faulty_clients import Fault, Faults
from tests.support.faults.matrix import Generated
from tests.support.faults.recovered_by import RecoveredBy
from tests.support.faults.rows import FAULTS, Row
from tests.support.flows.group_changer import GroupChanger, PlainGroup
from tests.support.flows.groups import commit_groups

pytestmark = [pytest.mark.faults, pytest.mark.timeout(3600)]


@dataclass
class GroupChange(Row):
    """A change of the offsets of a group that has also committed an offset of another topic."""

    changer: GroupChanger
    group: PlainGroup
    plan: OffsetPlan

    kind = "group"
    share = 5
    # None comes late: a broker carries out what has reached it in the order in which it came.
    faults = tuple(fault for fault in FAULTS if fault is not Fault.LATE)
    successors = (RecoveredBy.RETRY, RecoveredBy.TEARDOWN, RecoveredBy.PERSON)
    prior: ClassVar[Mapping[int, int]] = {0: 60, 1: 20}
    goal: ClassVar[Mapping[int, int]]
    requested: ClassVar[tuple[str, str, dict[str, str]]]

    @classmethod
    @contextmanager
    def opened(cls, request: pytest.FixtureRequest) -> Iterator[GroupChange]:
        sandbox, folder = request.getfixturevalue("sandbox"), request.getfixturevalue("tmp_path")
        changer = GroupChanger.of(request.getfixturevalue("spark"), folder.as_uri(), sandbox.target)
        group, (to, value, selection) = PlainGroup.start(changer.kafka), cls.requested
        plan = read_plan(changer.plan(group.name, to, value, topics=group.topic, **selection)[0])
        yield cls(changer, group, plan)

    def ready(self, turn: int) -> None:
        del turn
        self.group.commit()

    def act(self, faults: Faults, by: Owner) -> None:
        """With the fault behind the store: each request for groups and logs is a call of its own."""
        with KafkaCluster({"bootstrap.servers": self.changer.kafka.bootstrap}) as opened:
            faults.registry = make_registry(group_clients(opened, self.changer.workspace, timeout=self.changer.timeout))
            clients = group_clients(faults.around(opened), self.changer.workspace, timeout=self.changer.timeout)
            apply_plan(self.plan, clients, by)

    def is_done(self) -> bool:
        assert self.group.aside is not None
        assert self.group.aside.offset == 7
        found = dict(self.group.offsets)
        assert found in (self.prior, self.goal)
        return found == self.goal

    def recover(self, by: Owner) -> None:
        where = {"workspace": self.changer.workspace, "group": self.group.name}
        recovering.recover_group(**where, kafka=self.changer.kafka.bootstrap, toward=Toward.BACK, run=by.run)

    def tear_down(self, by: Owner) -> None:
        with self.changer.clients() as clients:
            stepwise.undo(self.plan, clients, replace(by, task="restore"))

    def change_theirs(self) -> None:
        commit_groups(self.changer.kafka, {self.group.name: {self.group.at(0): 33}})

    def observed(self) -> Any:
        return dict(self.group.offsets), self.group.aside


class Commit(GroupChange):
    """All its offsets of a topic are set."""

    name = "commit of a group's offsets"
    goal: ClassVar[Mapping[int, int]] = {0: 5, 1: 5, 2: 5}
    requested = ("offset", "5", {})


class Removal(GroupChange):
    """One of its offsets is removed, which takes the group's deletion."""

    name = "removal of one of a group's offsets"
    goal: ClassVar[Mapping[int, int]] = {0: 60}
    requested = ("clear", "", {"partitions": "1"})


class TestGroupChanges(Generated):
    """The group has the plan's offsets or its prior ones, and never loses those of other topics."""

    rows = (Commit, Removal)

"""Each call to Kafka that a change of a consumer group's offsets makes is broken in turn."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from enum import StrEnum
from itertools import product
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from airflow_provider_connect_offsets.cli import recovering
from airflow_provider_connect_offsets.exceptions import ConnectOffsetsError
from airflow_provider_connect_offsets.kafka.cluster import KafkaCluster
from airflow_provider_connect_offsets.observe.clients import Clients
from airflow_provider_connect_offsets.offsets.plan import OffsetPlan
from airflow_provider_connect_offsets.operations.connector import stepwise
from airflow_provider_connect_offsets.operations.connector.apply import apply_plan
from airflow_provider_connect_offsets.operations.connector.plans import read_plan
from airflow_provider_connect_offsets.operations.groups.group_clients import group_clients
from airflow_provider_connect_offsets.operations.registry import reached
from airflow_provider_connect_offsets.saga import Toward
from airflow_provider_connect_offsets.saga.lease import Owner
from sandbox import Sandbox
from tests.support.faults.fault_table import Ending, Note
from tests.support.faults.faulty_clients import Fault, Faults, Killed
from tests.support.faults.moments import each_call
from tests.support.faults.recovered_by import RecoveredBy
from tests.support.flows.existence import owner
from tests.support.flows.group_changer import GroupChanger, PlainGroup

pytestmark = [pytest.mark.faults, pytest.mark.timeout(3600)]
# None comes late: a broker carries out what has reached it in the order in which it came.
FAULTS = [fault for fault in Fault if fault not in {Fault.THEIRS, Fault.LATE}]
PRIOR = {0: 60, 1: 20}
SETTLING = (RecoveredBy.RETRY, RecoveredBy.TEARDOWN, RecoveredBy.PERSON)


class Action(StrEnum):
    """What is broken."""

    MOVE = "commit of a group's offsets"
    CLEAR = "removal of one of a group's offsets"


REQUESTS = {Action.MOVE: ("offset", "5", {}), Action.CLEAR: ("clear", "", {"partitions": "1"})}
GOALS = {Action.MOVE: {0: 5, 1: 5, 2: 5}, Action.CLEAR: {0: 60}}
CELLS: list[tuple[Action, Fault]] = list(product(Action, FAULTS))
# Of the calls one in so many, another one in each run.
SHARE = 5


@pytest.fixture
def changer(spark: SparkSession, sandbox: Sandbox, tmp_path: Path) -> GroupChanger:
    """Changes groups on the sandbox's target."""
    return GroupChanger.of(spark, tmp_path.as_uri(), sandbox.target)


@pytest.mark.parametrize(("action", "fault"), CELLS)
@pytest.mark.parametrize("whole", [False, pytest.param(True, marks=pytest.mark.long)])
def test_broken_at_each_call(
    changer: GroupChanger,
    note_generated: Note,
    monkeypatch: pytest.MonkeyPatch,
    *,
    action: Action,
    fault: Fault,
    whole: bool,
) -> None:
    """The group has the plan's offsets or its prior ones, whoever recovers it; the next attempt applies the plan."""
    group, nth = PlainGroup.start(changer.kafka), CELLS.index((action, fault))
    to, value, selection = REQUESTS[action]
    plan = read_plan(changer.plan(group.name, to, value, topics=group.topic, **selection)[0])
    counted = Faults()
    _apply(changer, plan, counted, owner())
    endings: set[Ending] = set()
    share = 1 if whole else SHARE
    for faults, successor in each_call(fault, counted, index=nth, share=share, successors=SETTLING):
        group.commit()
        with faults.naming(action, successor), faults.files(monkeypatch):
            endings |= _cell(changer, group, plan, action, faults, successor)
    for ending in sorted(endings):
        note_generated(fault, action, "group", ending)


def _cell(
    changer: GroupChanger, group: PlainGroup, plan: OffsetPlan, action: Action, faults: Faults, successor: RecoveredBy
) -> set[Ending]:
    by, error = owner(), None
    try:
        _apply(changer, plan, faults, by)
    except (Killed, SystemExit, ConnectOffsetsError) as raised:
        error = raised
    faults.mend()
    if not faults.happened:
        return set()
    if not isinstance(error, Killed):
        _in_order(group, action)
    if successor is RecoveredBy.PERSON:
        bootstrap = changer.kafka.bootstrap
        recovering.recover_group(changer.workspace, group.name, bootstrap, toward=Toward.BACK, run=by.run)
        _in_order(group, action)
    elif successor is RecoveredBy.TEARDOWN:
        with changer.clients() as clients:
            stepwise.undo(plan, clients, replace(by, task="restore"))
        _in_order(group, action)
    ended = dict(group.offsets) == GOALS[action]
    _apply(changer, plan, Faults(), by)
    assert dict(group.offsets) == GOALS[action]
    assert group.aside is not None
    assert group.aside.offset == 7
    return {Ending.APPLIED if error is None else Ending.NEXT if ended else Ending.RESTORED}


def _in_order(group: PlainGroup, action: Action) -> None:
    """Its offsets are all the prior ones, or all as planned; the other topic's is as it was."""
    assert dict(group.offsets) in (PRIOR, GOALS[action])
    assert group.aside is not None
    assert group.aside.offset == 7


def _apply(changer: GroupChanger, plan: OffsetPlan, faults: Faults, by: Owner) -> None:
    with _broken(changer, faults) as clients:
        apply_plan(plan, clients, by)


@contextmanager
def _broken(changer: GroupChanger, faults: Faults) -> Iterator[Clients]:
    """Clients with the fault behind the store: each request for groups and logs is a call of its own."""
    with KafkaCluster({"bootstrap.servers": changer.kafka.bootstrap}) as opened:
        faults.registry = reached(group_clients(opened, changer.workspace, timeout=changer.timeout))
        yield group_clients(faults.around(opened), changer.workspace, timeout=changer.timeout)

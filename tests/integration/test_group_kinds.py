"""Groups that aren't consumer groups, on a real broker: they are named and left alone, never taken for stopped ones."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from airflow_provider_connect_offsets.exceptions import GroupsNotMoved, InvalidRequest, StoreError, UnknownConnector
from airflow_provider_connect_offsets.kafka.groups import GroupState
from airflow_provider_connect_offsets.observe.flow.observed_groups import groups_named, lost_positions
from airflow_provider_connect_offsets.observe.waiting import observe_group
from airflow_provider_connect_offsets.offsets.families import TopicPartition
from airflow_provider_connect_offsets.operations.fleet import select
from airflow_provider_connect_offsets.operations.groups.group_clients import unlisted_groups
from airflow_provider_connect_offsets.workspace.outcome import Result
from sandbox import Sandbox
from tests.support.flows.group_changer import GroupChanger, PlainGroup
from tests.support.flows.groups import cluster, commit_groups, committed, member
from tests.support.flows.made_up_failover import MadeUpFailover
from tests.support.programs.other_groups import OtherGroups

pytestmark = pytest.mark.jobs
UNNAMED = "a share group (KIP-932) or a streams group (KIP-1071)"
OF_WORKERS = "a group of type 'connect'"


@pytest.fixture(scope="module")
def others(sandbox: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> OtherGroups:
    """One group of each kind on the sandbox's target."""
    sandbox.target.create_topic("of-other-groups")
    return OtherGroups.start(sandbox.target, "of-other-groups", tmp_path_factory.mktemp("java"))


@pytest.fixture
def changer(spark: SparkSession, sandbox: Sandbox, tmp_path: Path) -> GroupChanger:
    """Changes groups on the sandbox's target."""
    return GroupChanger.of(spark, tmp_path.as_uri(), sandbox.target)


def test_groups_of_other_kinds_are_told_from_consumer_groups(sandbox: Sandbox, others: OtherGroups) -> None:
    """Kafka lists them apart; described, they aren't empty, and no client of ours commits in them or deletes them."""
    kinds = {others.share: UNNAMED, others.streams: UNNAMED, others.connect: OF_WORKERS}
    with cluster(sandbox.target) as target:
        groups = target.groups
        mark = others.share.partition("-")[2]
        assert groups.list_groups(f".*-{mark}") == [others.classic_streams]
        assert groups.other_kinds(f".*-{mark}") == kinds

        states = groups.states([*kinds, others.classic_streams, "absent"])
        assert {name: states[name].kind for name in kinds} == kinds
        assert {states[name].state for name in kinds} == {GroupState.OTHER_KIND}
        assert not any(states[name].inactive for name in kinds)
        assert states[others.classic_streams].inactive
        assert states["absent"].inactive

        refused = groups.commit({name: {TopicPartition("of-other-groups", 0): 0} for name in kinds})
        assert refused == {
            name: f"{name!r} isn't a consumer group but {kinds[name]}, so it is left alone." for name in kinds
        }
        for name in kinds:
            with pytest.raises(StoreError, match=f"Nothing was deleted: '{name}' isn't a consumer group"):
                groups.delete(name)
        assert groups.other_kinds(f".*-{mark}") == kinds


def test_a_change_names_them_and_leaves_them_alone(
    changer: GroupChanger, others: OtherGroups, caplog: pytest.LogCaptureFixture
) -> None:
    """A pattern that also matches others warns of them; one that matches nothing else is refused, and names them."""
    with changer.clients() as clients:
        known, unlisted = clients.control.connectors(), unlisted_groups(clients)
        mark = others.share.partition("-")[2]
        with caplog.at_level(logging.WARNING):
            assert select(known, f".*-{mark}", noun=clients.noun, unlisted=unlisted) == [others.classic_streams]
        assert f"'{others.share}' isn't a consumer group but {UNNAMED}, so it is left alone." in caplog.text
        with pytest.raises(InvalidRequest, match=f"matches none .*'{others.streams}' isn't a consumer group"):
            select(known, others.streams, noun=clients.noun, unlisted=unlisted)

    for name in (others.share, others.streams, others.connect):
        with pytest.raises(UnknownConnector, match=f"'{name}' isn't a consumer group but a "):
            changer.plan(name, "earliest")
        with changer.clients() as clients:
            for call in (clients.control.status, clients.control.stop, clients.offsets.read_offsets):
                with pytest.raises(UnknownConnector, match="isn't a consumer group"):
                    call(name)


def test_a_sensor_does_not_take_them_for_stopped(sandbox: Sandbox, others: OtherGroups) -> None:
    """Whether they have members is unknown: the wait fails."""
    with cluster(sandbox.target) as target:
        for name in (others.share, others.streams, others.connect):
            with pytest.raises(InvalidRequest, match=r"isn't a consumer group.*Its members are unknown"):
                observe_group(target.groups, name)
        assert observe_group(target.groups, others.classic_streams).reached


def test_a_failover_leaves_them_alone_and_moves_the_others(
    sandbox: Sandbox, others: OtherGroups, tmp_path: Path
) -> None:
    """On the target, a group of the name is of another kind: it is named, and all others are moved and restored."""
    made_up = MadeUpFailover.start(sandbox, tmp_path)
    moved = f"{made_up.topic}-moved"
    names = (others.share, others.streams, others.connect)
    digest = made_up.translate({name: {0: 30} for name in (moved, *names)})

    with pytest.raises(GroupsNotMoved, match=r"3 of 4 groups were not moved.*on the target it isn't a consumer group"):
        made_up.commit(digest)

    assert {where.partition: one.offset for where, one in made_up.on_target(moved)[moved].items()} == {0: 30}
    made_up.restore()
    assert made_up.on_target(moved) == {moved: {}}


def test_groups_whose_positions_no_failover_moves_are_observed(sandbox: Sandbox, others: OtherGroups) -> None:
    """Only groups that have positions are reported; a group of Connect's workers has none."""
    mark = others.share.partition("-")[2]
    with cluster(sandbox.target) as target:
        assert lost_positions(target, f".*-{mark}") == {others.share: UNNAMED, others.streams: UNNAMED}
        assert groups_named(target, [others.share])[others.share].kind == UNNAMED


@pytest.mark.parametrize("kind", ["KIP-848", "Kafka Streams"])
def test_a_stopped_group_of_another_protocol_is_changed_as_any_consumer_group(
    changer: GroupChanger, others: OtherGroups, kind: str
) -> None:
    """Offsets of a KIP-848 group, or a classic Kafka Streams group, without members are set, removed and read back."""
    group = PlainGroup.start(changer.kafka)
    if kind == "KIP-848":
        name = f"next-{group.name}"
        with member(group.broker, name, group.topic, protocol="consumer"):
            pass
    else:
        name = others.classic_streams
    commit_groups(group.broker, {name: {group.at(0): 60, group.at(1): 20}})

    outcome = changer.change(name, "offset", "12", topics=group.topic)

    assert outcome.result is Result.APPLIED
    assert committed(group.broker, [name])[name] == {group.at(number): 12 for number in range(3)}
    changer.change(name, "clear", topics=group.topic, partitions="1")
    assert committed(group.broker, [name])[name] == {group.at(0): 12, group.at(2): 12}

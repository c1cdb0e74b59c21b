"""Listing, describing and deleting consumer groups, on a real broker."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException

from airflow_provider_connect_offsets.exceptions import NotStopped, UnknownConnector
from airflow_provider_connect_offsets.offsets.document import canonical_json, load_json, parse_kip199
from airflow_provider_connect_offsets.operators import (
    DeleteConsumerGroupOperator,
    DescribeConsumerGroupOperator,
    ListConsumerGroupsOperator,
)
from sandbox import Sandbox, wait_until
from tests.support.flows.flows import world
from tests.support.flows.group_changer import PlainGroup
from tests.support.flows.groups import cluster, member

pytestmark = pytest.mark.usefixtures("connections")


@pytest.fixture
def group(sandbox: Sandbox) -> PlainGroup:
    """A group without members."""
    return PlainGroup.start(sandbox.target)


class Events(dict[Any, list[Any]]):
    """The events that a task adds."""

    def __missing__(self, key: Any) -> Any:
        return SimpleNamespace(add=lambda asset, extra: self.setdefault(asset.name, []).append(extra))


def run(step: Any, events: Events | None = None) -> Any:
    """Execute an operator outside of any DAG run."""
    ti = SimpleNamespace(dag_id="own", run_id="run", task_id=step.task_id, map_index=-1)
    context: Any = {"ti": ti, "outlet_events": Events() if events is None else events}
    return type(step).execute.__wrapped__(step, context)


def test_groups_are_listed_by_whole_name(group: PlainGroup) -> None:
    """Sorted, and ready for dynamic mapping."""
    assert run(ListConsumerGroupsOperator(task_id="list", groups=group.name)) == [group.name]
    assert run(ListConsumerGroupsOperator(task_id="list", groups=group.name[:-1])) == []
    assert group.name in run(ListConsumerGroupsOperator(task_id="list"))
    with pytest.raises(AirflowFailException, match=r"groups: '\('"):
        run(ListConsumerGroupsOperator(task_id="list", groups="("))


def test_a_group_is_described(group: PlainGroup) -> None:
    """Its members and its lag; a group that does not exist is an error."""
    described = run(DescribeConsumerGroupOperator(task_id="describe", group=group.name))

    counts = {"partitions": 3, "lag": 40 + 80 + 3, "gone": 0}
    assert described == {"group": group.name, "state": "Empty", "members": 0, **counts}
    with member(group.broker, group.name, group.topic):
        with_member = run(DescribeConsumerGroupOperator(task_id="describe", group=group.name))
    assert (with_member["state"], with_member["members"]) == ("Stable", 1)
    with pytest.raises((AirflowFailException, UnknownConnector), match="no consumer group 'no-such-group'"):
        run(DescribeConsumerGroupOperator(task_id="describe", group="no-such-group"))


def test_a_group_is_deleted_and_its_offsets_kept(group: PlainGroup) -> None:
    """The file has each offset; the event says where it is."""
    before, events = dict(group.offsets), Events()

    kept = run(DeleteConsumerGroupOperator(task_id="delete", group=group.name), events)

    with cluster(group.broker) as kafka:
        assert kafka.groups.list_groups(group.name) == []
    offsets = parse_kip199(load_json(Path(kept.removeprefix("file://")).read_text()))[group.name].by_partition()
    for partition, offset in before.items():
        where = canonical_json({"kafka_topic": group.topic, "kafka_partition": partition})
        assert load_json(offsets[where] or "") == {"kafka_offset": offset}
    [[event]] = events.values()
    assert (event["kind"], event["name"], event["offsets_uri"]) == ("group_deleted", group.name, kept)
    assert event["partitions"] == len(before) + 1
    with pytest.raises((AirflowFailException, UnknownConnector), match="no consumer group"):
        run(DeleteConsumerGroupOperator(task_id="delete", group=group.name))


def test_a_group_with_members_is_not_deleted(sandbox: Sandbox, group: PlainGroup) -> None:
    """The error says how many there are."""
    with member(group.broker, group.name, group.topic):
        before = world(sandbox)
        with pytest.raises(NotStopped, match=rf"Nothing was written: consumer group '{group.name}' .*members: 1"):
            run(DeleteConsumerGroupOperator(task_id="delete", group=group.name))
        before.assert_stands()


def test_a_group_without_offsets_is_deleted(group: PlainGroup) -> None:
    """Kafka keeps it for a while after its last member has left."""
    name = f"{group.name}-idle"
    with member(group.broker, name, group.topic):
        pass
    with cluster(group.broker) as kafka:
        wait_until(lambda: kafka.groups.state(name).inactive, 60, "its member stays")
        assert kafka.groups.list_groups(name) == [name]

    kept = run(DeleteConsumerGroupOperator(task_id="delete", group=name))

    assert load_json(Path(kept.removeprefix("file://")).read_text()) == {name: []}
    with cluster(group.broker) as kafka:
        assert kafka.groups.list_groups(name) == []

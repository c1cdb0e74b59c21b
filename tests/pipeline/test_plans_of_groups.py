"""Plans of the consumer groups of plain applications: which partitions they have, and what is refused."""

from __future__ import annotations

from dataclasses import replace

from airflow_provider_connect_offsets.offsets.families import ConnectorType
from airflow_provider_connect_offsets.offsets.verdicts import Rule
from tests.support.rows.planning import ERROR, ORDERS, WARNING, Connector, Log, Planner, Positions, at_sink, read

LOGS = {**ORDERS, ("payments", 0): Log(0, 50)}


def group(at: Positions, *, name: str = "billing", state: str = "STOPPED") -> Connector:
    """A group with these committed offsets; STOPPED: without members."""
    topics = ",".join(sorted({topic for topic, _ in at}))
    return Connector(name, ConnectorType.GROUP, "", {"topics": topics}, at, state=state)


def test_all_partitions_of_a_topic_with_an_offset_are_moved(planner: Planner) -> None:
    """As kafka-consumer-groups --topic does; a topic without any offset of the group is not selected."""
    plan = planner.plan(group({("orders", 0): 60}), logs=LOGS, to="earliest")

    assert [(row.partition, row.before, row.after) for row in plan.rows] == [
        (at_sink(0), read(60), read(0)),
        (at_sink(1), None, read(0)),
    ]
    assert plan.of(Rule.REWIND)[0].message == "`billing`, topic `orders`, partition 0: 60 records are delivered again."


def test_a_topic_that_the_group_has_no_offset_of_is_named_with_the_way_to_it(planner: Planner) -> None:
    """A group's subscription is unknown, so a pattern must not commit offsets of topics that it never reads."""
    plan = planner.plan(group({("orders", 0): 60}), logs=LOGS, to="earliest", topics="payments")

    (found,) = plan.verdicts
    assert (found.rule, found.severity) == (Rule.NOTHING_SELECTED, ERROR)
    assert "but the consumer group has no committed offset there" in found.message
    assert "to=file" in found.message


def test_another_groups_offsets_may_be_of_a_new_topic(planner: Planner) -> None:
    """Whoever names single partitions knows that the group will read them."""
    other = group({("payments", 0): 7}, name="audit")

    plan = planner.plan(group({("orders", 0): 60}), other, logs=LOGS, to="connector", value="audit")

    assert [(row.partition, row.after) for row in plan.rows] == [
        (at_sink(0), read(60)),
        (at_sink(0, "payments"), read(7)),
    ]
    assert not [found for found in plan.verdicts if found.severity == ERROR]


def test_without_an_offset_nothing_can_be_counted_from(planner: Planner) -> None:
    """auto.offset.reset is a setting of the group's applications, so shift and skip need a committed offset."""
    plan = planner.plan(group({("orders", 0): 60}), to="shift", value="-10")

    (found,) = plan.of(Rule.ASSUMED_POSITION)
    assert (found.severity, found.partition) == (ERROR, at_sink(1))
    assert "its auto.offset.reset is unknown here" in found.message


def test_who_decides_after_a_removal_is_said(planner: Planner) -> None:
    """No setting is made up."""
    plan = planner.plan(group({("orders", 0): 60}), to="clear")

    (found,) = plan.of(Rule.CLEAR_EFFECT)
    assert found.message.endswith(
        "its offset is removed: its auto.offset.reset, which is unknown here, decides where it resumes."
    )


def test_a_group_with_members_is_an_error_unless_nothing_changes(planner: Planner) -> None:
    """It may be shown with to=current."""
    active = group({("orders", 0): 60}, state="RUNNING")

    assert [found.severity for found in planner.plan(active, to="earliest").of(Rule.ACTIVE_GROUP)] == [ERROR]
    assert planner.plan(active, to="current").of(Rule.ACTIVE_GROUP) == []


def test_the_group_of_a_sink_is_left_to_its_connector(planner: Planner) -> None:
    """A warning, as an application's group may have such a name, too."""
    plan = planner.plan(replace(group({("orders", 0): 60}), name="connect-orders-sink"), to="earliest")

    (found,) = plan.of(Rule.CONNECTORS_GROUP)
    assert found.severity == WARNING
    assert "use connector_offsets_change" in found.message


def test_a_position_beyond_the_log_is_refused_in_the_groups_words(planner: Planner) -> None:
    """No message speaks of a connector."""
    plan = planner.plan(group({("orders", 0): 60, ("orders", 1): 60}), to="offset", value="101")

    assert {found.severity for found in plan.of(Rule.BEYOND_LOG_END)} == {ERROR}
    assert not [found.message for found in plan.verdicts if "onnector" in found.message]

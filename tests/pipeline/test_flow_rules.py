"""Verdicts on groups of a flow that aren't consumer groups."""

from __future__ import annotations

from airflow_provider_connect_offsets.offsets.families import ConnectorType, family_of
from airflow_provider_connect_offsets.offsets.verdicts import Rule, Severity
from airflow_provider_connect_offsets.pipeline.flow.flow_rules import kind_verdicts
from airflow_provider_connect_offsets.pipeline.plan.subjects import Subject

CLASS = "org.apache.kafka.connect.mirror.MirrorCheckpointConnector"
CHECKPOINT = Subject(
    "points", ConnectorType.SOURCE, CLASS, family_of(ConnectorType.SOURCE, CLASS), {}, "RUNNING", ("RUNNING",)
)
KIND = "a share group (KIP-932) or a streams group (KIP-1071)"


def test_groups_that_no_failover_moves_are_warned_of() -> None:
    """Those on the source that have positions, and names that are taken on the target."""
    found = kind_verdicts(CHECKPOINT, {"unmovable": {"clicks": KIND}, "taken_on_target": {"orders": KIND}})

    assert [(one.rule, one.severity, one.partition, one.message) for one in found] == [
        (
            Rule.UNMOVABLE_GROUP,
            Severity.WARNING,
            '{"group":"clicks"}',
            f"`points`, group `clicks`: it is {KIND}. A failover can move only consumer groups.",
        ),
        (
            Rule.TARGET_GROUP,
            Severity.WARNING,
            '{"group":"orders"}',
            (
                f"`points`, group `orders`: on the target it is {KIND}, so neither a failover nor "
                "MirrorMaker 2 can commit its offsets there."
            ),
        ),
    ]


def test_a_snapshot_of_an_earlier_version_names_none() -> None:
    """Without a checkpoint connector no group is judged either."""
    assert list(kind_verdicts(CHECKPOINT, {})) == []
    assert list(kind_verdicts(None, {"unmovable": {"clicks": KIND}})) == []

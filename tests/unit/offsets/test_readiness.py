"""Requests of a readiness run, and verdicts on the flow's configuration."""

from __future__ import annotations

import pytest

from airflow_provider_connect_offsets.exceptions import InvalidRequest
from airflow_provider_connect_offsets.offsets.advice import Advice, advise, mirrored_groups
from airflow_provider_connect_offsets.offsets.requests.readiness import ReadinessRequest, Thresholds
from airflow_provider_connect_offsets.offsets.verdicts import Rule, Severity


def test_a_request_is_written_and_read() -> None:
    """Thresholds may be texts, as a template makes them."""
    request = ReadinessRequest.parse(
        source_connector=" flow ",
        checkpoint_connector="",
        groups="a|b",
        thresholds={"max_lag_records": "5", "min_coverage": "0.5", "max_lag_seconds": 0},
    )

    assert request.source_connector == "flow"
    assert request.thresholds == Thresholds(max_lag_records=5, min_coverage=0.5, max_lag_seconds=0)
    assert ReadinessRequest.from_json(request.as_json()) == request


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ({"source_connector": " "}, "name the flow's MirrorSourceConnector"),
        ({"groups": "a("}, r"groups: 'a\(' is no regular expression"),
        ({"thresholds": {"max_lag_records": "-1"}}, "max_lag_records: '-1' is no whole number"),
        ({"thresholds": {"min_coverage": "90"}}, "min_coverage: '90' is no share between 0 and 1"),
        ({"thresholds": {"min_coverage": "nan"}}, "min_coverage: 'nan' is no share between 0 and 1"),
        ({"thresholds": {"max_delay": 1}}, "There is no threshold 'max_delay'; there are max_checkpoint_age"),
    ],
)
def test_what_makes_no_sense_is_one_sentence(asked: dict[str, object], sentence: str) -> None:
    """Before anything is looked at."""
    whole = {"source_connector": "flow", "checkpoint_connector": "", "groups": "", "thresholds": {}}

    with pytest.raises(InvalidRequest, match=sentence):
        ReadinessRequest.parse(**{**whole, **asked})  # type: ignore[arg-type]


def found(source: dict[str, str], checkpoint: dict[str, str] | None = None) -> dict[str, Advice]:
    """What is told, by property."""
    given = None if checkpoint is None else ("checkpoints", checkpoint)
    return {one.name: one for one in advise(("flow", source), given)}


def test_a_flow_as_it_comes_needs_no_advice() -> None:
    """All defaults are told with their values, and none is worse than info."""
    told = found({}, {})

    assert {one.severity for one in told.values()} == {Severity.INFO}
    assert {name: one.value for name, one in told.items() if not one.configured} == {
        "emit.offset-syncs.enabled": "true",
        "offset.lag.max": "100",
        "source.consumer.auto.offset.reset": "earliest",
        "exactly.once.support": "requested",
        "emit.checkpoints.enabled": "true",
        "emit.checkpoints.interval.seconds": "60",
        "sync.group.offsets.enabled": "false",
    }


@pytest.mark.parametrize(
    ("source", "checkpoint", "name", "severity", "rule"),
    [
        ({"emit.offset-syncs.enabled": "False"}, {}, "emit.offset-syncs.enabled", "error", Rule.FAILOVER_SETTING),
        ({"offset.lag.max": "101"}, {}, "offset.lag.max", "warning", Rule.FAILOVER_SETTING),
        (
            {"source.consumer.auto.offset.reset": "Latest"},
            {},
            "source.consumer.auto.offset.reset",
            "warning",
            Rule.FROM_LATEST,
        ),
        ({"consumer.auto.offset.reset": "none"}, {}, "consumer.auto.offset.reset", "warning", Rule.FAILOVER_SETTING),
        ({"exactly.once.support": "required"}, {}, "exactly.once.support", "warning", Rule.FAILOVER_SETTING),
        ({}, {"emit.checkpoints.enabled": "false"}, "emit.checkpoints.enabled", "error", Rule.FAILOVER_SETTING),
        ({}, {"emit.checkpoints.interval.seconds": "600"}, "emit.checkpoints.interval.seconds", "warning", None),
        ({}, {"sync.group.offsets.enabled": "true"}, "sync.group.offsets.enabled", "warning", None),
        ({"source.cluster.alias": "a"}, {"source.cluster.alias": "b"}, "source.cluster.alias", "error", None),
        (
            {"offset-syncs.topic.location": "target"},
            {},
            "offset-syncs.topic.location",
            "error",
            Rule.FLOW_MISMATCH,
        ),
    ],
)
def test_what_makes_a_failover_worse_is_told(
    source: dict[str, str], checkpoint: dict[str, str], name: str, severity: str, rule: Rule | None
) -> None:
    """With Kafka's own name of the property, the value found, and what to do."""
    told = found(source, checkpoint)[name]

    assert (told.severity, told.rule) == (severity, rule or told.rule)
    assert told.advice
    assert f"`{name}=" in told.message


def test_what_only_the_worker_can_resolve_is_not_judged() -> None:
    """It is told all the same."""
    told = found({"offset.lag.max": "${file:/flow.properties:lag}"})["offset.lag.max"]

    assert (told.severity, told.value) == (Severity.INFO, "${file:/flow.properties:lag}")


def test_groups_that_checkpoints_are_made_for() -> None:
    """As DefaultGroupFilter has it; with another filter nobody knows."""
    assert mirrored_groups({"groups": "a, b.*", "groups.exclude": ""}) == ("(?:a)|(?:b.*)", "(?!)")
    assert mirrored_groups({}) == ("(?:.*)", "(?:console-consumer-.*)|(?:connect-.*)|(?:__.*)")
    assert mirrored_groups({"group.filter.class": "com.example.Filter"}) is None
    assert mirrored_groups({"groups": "${env:GROUPS}"}) is None

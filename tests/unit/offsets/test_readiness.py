"""Requests for a readiness report, and advice on a flow's configuration."""

from __future__ import annotations

import pytest

from airflow_provider_connect_offsets.exceptions import InvalidRequest
from airflow_provider_connect_offsets.offsets.advice import Advice, advise, mirrored_groups
from airflow_provider_connect_offsets.offsets.requests.readiness import ReadinessRequest, Thresholds
from airflow_provider_connect_offsets.offsets.verdicts import Rule, Severity


def test_a_request_is_written_and_read() -> None:
    """Thresholds may be strings, as templates give them."""
    request = ReadinessRequest.parse(
        source_connector=" flow ",
        checkpoint_connector="",
        groups="a|b",
        thresholds={"max_lag_records": "5", "min_coverage": "0.5", "max_lag_seconds": 0},
    )

    assert request.source_connector == "flow"
    assert request.thresholds == Thresholds(max_lag_records=5, min_coverage=0.5, max_lag_seconds=0)
    assert ReadinessRequest.from_json(request.as_json()) == request
    assert request.as_json() == {
        "source_connector": "flow",
        "checkpoint_connector": "",
        "groups": "a|b",
        "thresholds": {
            "max_lag_records": 5,
            "max_lag_seconds": 0,
            "max_sync_age": 600,
            "max_checkpoint_age": 600,
            "stuck_after": 300,
            "min_coverage": 0.5,
            "max_rereads": 0,
        },
    }
    assert ReadinessRequest.from_json({"source_connector": "flow"}) == ReadinessRequest(source_connector="flow")


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"source_connector": " "}, "source_connector: ' ' names no connector"),
        ({"groups": "a("}, r"groups: 'a\(' is not a regular expression"),
        ({"thresholds": {"max_lag_records": "-1"}}, "max_lag_records: '-1' is not a whole number from 0 to"),
        ({"thresholds": {"min_coverage": "90"}}, "min_coverage: '90' is not a number from 0 to 1"),
        ({"thresholds": {"min_coverage": "nan"}}, "min_coverage: 'nan' is not a number from 0 to 1"),
        ({"thresholds": {"stuck_after": str(10**15)}}, "stuck_after: '1000000000000000' is not a whole number"),
        ({"thresholds": {"max_delay": 1}}, "There is no threshold 'max_delay'. The thresholds are max_checkpoint_age"),
    ],
)
def test_an_invalid_value_is_refused_in_one_sentence(values: dict[str, object], sentence: str) -> None:
    """Before anything is observed."""
    whole = {"source_connector": "flow", "checkpoint_connector": "", "groups": "", "thresholds": {}}

    with pytest.raises(InvalidRequest, match=sentence):
        ReadinessRequest.parse(**{**whole, **values})


def advice(source: dict[str, str], checkpoint: dict[str, str] | None = None) -> dict[str, Advice]:
    """Return the advice by property."""
    given = None if checkpoint is None else ("checkpoints", checkpoint)
    return {one.name: one for one in advise(("flow", source), given)}


def test_a_flow_with_defaults_needs_no_change() -> None:
    """Each default is listed with its value, with severity info."""
    listed = advice({}, {})

    assert {one.severity for one in listed.values()} == {Severity.INFO}
    assert {name: one.value for name, one in listed.items() if not one.configured} == {
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
        (
            {"source.consumer.auto.offset.reset": "by_duration:PT1H"},
            {},
            "source.consumer.auto.offset.reset",
            "warning",
            Rule.FAILOVER_SETTING,
        ),
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
def test_settings_that_make_a_failover_worse(
    source: dict[str, str], checkpoint: dict[str, str], name: str, severity: str, rule: Rule | None
) -> None:
    """Each is named by Kafka's own property, with its value and what to do."""
    one = advice(source, checkpoint)[name]

    assert (one.severity, one.rule) == (severity, rule or one.rule)
    assert one.advice
    assert f"`{name}=" in one.message


def test_a_value_that_only_the_worker_can_resolve_is_not_judged() -> None:
    """It is listed with severity info."""
    one = advice({"offset.lag.max": "${file:/flow.properties:lag}"})["offset.lag.max"]

    assert (one.severity, one.value) == (Severity.INFO, "${file:/flow.properties:lag}")


def test_groups_that_checkpoints_are_made_for() -> None:
    """They are those of DefaultGroupFilter; with another filter they are unknown."""
    assert mirrored_groups({"groups": "a, b.*", "groups.exclude": ""}) == ("(?:a)|(?:b.*)", "(?!)")
    assert mirrored_groups({}) == ("(?:.*)", "(?:console-consumer-.*)|(?:connect-.*)|(?:__.*)")
    assert mirrored_groups({"group.filter.class": "com.example.Filter"}) is None
    assert mirrored_groups({"groups": "${env:GROUPS}"}) is None

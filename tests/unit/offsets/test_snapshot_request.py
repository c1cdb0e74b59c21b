"""The request for a snapshot: what can't be meant is refused in a sentence."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from airflow_provider_connect_offsets.exceptions import InvalidRequest
from airflow_provider_connect_offsets.offsets.requests.snapshots import SnapshotRequest
from airflow_provider_connect_offsets.offsets.verdicts import Rule, Severity
from airflow_provider_connect_offsets.parameters.snapshots import KeptSnapshotsParams

NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)


def test_texts_of_the_form_are_parsed() -> None:
    """Empty fields mean all connectors and no failing rule; a request is read as it was written."""
    empty = SnapshotRequest.parse(connectors="", max_jump="0", fail_on="")
    full = SnapshotRequest.parse(connectors="a-.*", max_jump="5", fail_on=" stuck,moved_back ,stuck")

    assert empty == SnapshotRequest(fail_on=())
    assert full == SnapshotRequest(connectors="a-.*", max_jump=5, fail_on=("stuck", "moved_back"))
    assert SnapshotRequest.from_json(full.as_json()) == full
    severities = [full.severity(rule) for rule in (Rule.STUCK, Rule.VANISHED, Rule.APPEARED)]
    assert severities == [Severity.ERROR, Severity.WARNING, Severity.INFO]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"fail_on": "moved-back"}, r"fail_on: 'moved-back' is none of vanished, moved_back,"),
        ({"connectors": "("}, "connectors: .* is not a regular expression"),
        ({"max_jump": "many"}, "max_jump: 'many' is not a whole number"),
    ],
)
def test_what_can_not_be_meant_is_refused(wrong: dict[str, str], message: str) -> None:
    """The message names the Param."""
    with pytest.raises(InvalidRequest, match=message):
        SnapshotRequest.parse(**{"connectors": "", "max_jump": "0", "fail_on": "", **wrong})


def test_how_long_snapshots_are_kept() -> None:
    """``keep_for`` is an ISO 8601 duration or empty."""
    assert KeptSnapshotsParams(keep_for="P30D").earliest_kept(now=NOW) == datetime(2026, 1, 1, 12, tzinfo=UTC)
    assert KeptSnapshotsParams(keep_for=" ").earliest_kept(now=NOW) is None
    with pytest.raises(InvalidRequest, match="keep_for: '30 days' is not an ISO 8601 duration"):
        KeptSnapshotsParams(keep_for="30 days").earliest_kept(now=NOW)

"""Requests to find orphaned offsets."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from airflow_provider_connect_offsets.exceptions import InvalidRequest
from airflow_provider_connect_offsets.offsets.requests.orphans import OrphanRequest, OrphanSearch

NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)


def requested(**typed: str) -> OrphanRequest:
    return OrphanRequest.of(OrphanSearch.parse(**typed), now=NOW)


def test_a_request_is_written_and_read() -> None:
    """With the moment that was resolved once, so that a retry finds the same."""
    request = requested(offsets_topic=" connect-offsets ", connectors="files-.*", older_than="P30D")

    assert (request.topic, request.written_before) == ("connect-offsets", NOW - timedelta(days=30))
    assert request.as_json() == {
        "topic": "connect-offsets",
        "connectors": "files-.*",
        "older_than": "P30D",
        "offsets_topic": " connect-offsets ",
        "written_before": "2026-01-01T12:00:00+00:00",
    }
    assert OrphanRequest.from_json(request.as_json()) == request


def test_empty_fields_select_all_of_any_age() -> None:
    """They are null in JSON."""
    request = requested(offsets_topic="t")

    earlier = OrphanRequest.from_json({"topic": "t", "connectors": None, "written_before": None})

    assert request == requested(offsets_topic="t", connectors=" ")
    assert (request.connectors, request.written_before) == (None, None)
    assert OrphanRequest.from_json(request.as_json()) == request
    assert (earlier.topic, earlier.connectors, earlier.written_before) == ("t", None, None)


@pytest.mark.parametrize("older_than", ["30", "a month", "P", "P999999999D"])
def test_invalid_durations(older_than: str) -> None:
    """The sentence shows a valid one."""
    expected = f"older_than: '{older_than}' is not an ISO 8601 duration like P30D or PT12H"
    with pytest.raises(InvalidRequest, match=expected):
        requested(offsets_topic="t", older_than=older_than)


def test_a_topic_is_needed() -> None:
    """The sentence says which."""
    with pytest.raises(InvalidRequest, match=r"offsets_topic is empty\. Set it to the workers' offset\.storage\.topic"):
        requested(offsets_topic=" ")

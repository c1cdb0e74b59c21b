"""Requests to find orphaned offsets."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from airflow_provider_connect_offsets.exceptions import InvalidRequest
from airflow_provider_connect_offsets.offsets.requests.orphans import OrphanRequest

NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)


def test_a_request_is_written_and_read() -> None:
    """With the moment that was resolved once, so that a retry finds the same."""
    request = OrphanRequest.parse(topic=" connect-offsets ", connectors="files-.*", older_than="P30D", now=NOW)

    assert request == OrphanRequest("connect-offsets", "files-.*", NOW - timedelta(days=30))
    assert request.as_json() == {
        "topic": "connect-offsets",
        "connectors": "files-.*",
        "written_before": "2026-01-01T12:00:00+00:00",
    }
    assert OrphanRequest.from_json(request.as_json()) == request


def test_empty_fields_select_all_of_any_age() -> None:
    """They are null in JSON."""
    request = OrphanRequest.parse(topic="t", now=NOW)

    assert request == OrphanRequest("t", None, None) == OrphanRequest.parse(topic="t", connectors=" ", now=NOW)
    assert request.as_json() == {"topic": "t", "connectors": None, "written_before": None}
    assert OrphanRequest.from_json(request.as_json()) == request


@pytest.mark.parametrize("older_than", ["30", "a month", "P", "P999999999D"])
def test_invalid_durations(older_than: str) -> None:
    """The sentence shows a valid one."""
    with pytest.raises(InvalidRequest, match=f"older_than: '{older_than}' is no ISO 8601 duration, like P30D or PT12H"):
        OrphanRequest.parse(topic="t", older_than=older_than, now=NOW)


def test_a_topic_is_needed() -> None:
    """The sentence says which."""
    with pytest.raises(InvalidRequest, match=r"name the worker's offset\.storage\.topic"):
        OrphanRequest.parse(topic=" ", now=NOW)

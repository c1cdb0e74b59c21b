"""Requests of a removal of orphaned offsets."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from airflow_provider_connect_offsets.exceptions import InvalidRequest
from airflow_provider_connect_offsets.offsets.requests.orphans import OrphanRequest

NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)


def test_it_is_read_as_it_was_written() -> None:
    """A retry asks the same: the moment is resolved once."""
    request = OrphanRequest.parse(topic=" connect-offsets ", connectors="files-.*", older_than="P30D", now=NOW)

    assert request == OrphanRequest("connect-offsets", "files-.*", NOW - timedelta(days=30))
    assert OrphanRequest.from_json(request.as_json()) == request


def test_all_of_any_age() -> None:
    """That is what nothing means."""
    request = OrphanRequest.parse(topic="t", now=NOW)

    assert request == OrphanRequest("t", None, None)
    assert OrphanRequest.from_json(request.as_json()) == request


@pytest.mark.parametrize("older_than", ["30", "a month", "P", "P999999999D"])
def test_durations_that_are_none(older_than: str) -> None:
    """The sentence shows one that is."""
    with pytest.raises(InvalidRequest, match=f"older_than: '{older_than}' is no ISO 8601 duration, like P30D or PT12H"):
        OrphanRequest.parse(topic="t", older_than=older_than, now=NOW)


def test_a_topic_is_needed() -> None:
    """The sentence says which."""
    with pytest.raises(InvalidRequest, match=r"name the worker's offset\.storage\.topic"):
        OrphanRequest.parse(topic=" ", now=NOW)

"""Values of forms, templates and connections."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from airflow_provider_connect_offsets.exceptions import InvalidInput, InvalidRequest
from airflow_provider_connect_offsets.offsets.requests.values import (
    MAX_COUNT,
    ago,
    count,
    is_true,
    optional_count,
    share,
)


def test_flags() -> None:
    """A flag may be a boolean or a string; the string ``false`` is false."""
    assert [is_true(value) for value in (True, "true", " True ")] == [True] * 3
    assert [is_true(value) for value in (False, "false", None, "None", "", " ")] == [False] * 6
    with pytest.raises(InvalidInput, match="'yes' is neither true nor false"):
        is_true("yes")


def test_counts() -> None:
    """A count may be a number or a string; only an optional count may be empty."""
    assert [count(value, param="keep") for value in (0, " 7 ", 2**63 - 1)] == [0, 7, 2**63 - 1]
    assert [optional_count(value, param="keep") for value in (None, "", " ", "0")] == [None, None, None, 0]


@pytest.mark.parametrize("value", ["", "-1", "1.5", "1e3", "٣", 2**63, "9" * 5000, None])
def test_invalid_counts(value: object) -> None:
    """The sentence names the parameter and the value."""
    with pytest.raises(InvalidRequest) as caught:
        count(value, param="keep")

    assert str(caught.value) == f"keep: {value!r} is not a whole number from 0 to {2**63 - 1}."


def test_a_count_may_have_a_maximum() -> None:
    """One more is refused."""
    assert count(MAX_COUNT, param="keep", most=MAX_COUNT) == MAX_COUNT
    with pytest.raises(InvalidRequest, match="keep: 1000000000000000 is not a whole number from 0 to 999999999999999"):
        optional_count(MAX_COUNT + 1, param="keep", most=MAX_COUNT)


def test_shares() -> None:
    """A share is a number from 0 to 1, or a string with such a number."""
    assert [share(value, param="coverage") for value in (0, "0.95", 1)] == [0.0, 0.95, 1.0]
    for value in ("", "all", "nan", -0.1, 90):
        with pytest.raises(InvalidRequest, match=r"coverage: .* is not a number from 0 to 1\."):
            share(value, param="coverage")


def test_a_duration_before_now() -> None:
    """The moment is in UTC; a moment before the year 1 can't be computed."""
    now = datetime.fromisoformat("2026-01-31T03:00:00+01:00")

    assert ago("PT2H", now=now) == datetime(2026, 1, 31, tzinfo=UTC)
    assert ago("P1D", now=now).tzinfo is UTC
    for text in ("2h", "P", "P9999999D", "P999999999D"):
        with pytest.raises(ValueError, match=r"."):
            ago(text, now=now)

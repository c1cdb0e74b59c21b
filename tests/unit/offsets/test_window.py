"""A window of the day is by the clocks on the walls of its zone, also past midnight and when clocks are set."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from airflow_provider_connect_offsets.exceptions import InvalidRequest
from airflow_provider_connect_offsets.offsets.requests.window import Window


def window(text: str) -> Window:
    """A window that is not empty."""
    parsed = Window.parse(text)
    assert parsed is not None
    return parsed


def at(text: str) -> datetime:
    """A moment in UTC."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "moment", "inside"),
    [
        ("08:00-12:00", "2026-05-01T08:00", True),
        ("08:00-12:00", "2026-05-01T12:00", False),
        ("22:00-06:00", "2026-05-01T23:30", True),
        ("22:00-06:00", "2026-05-01T05:59", True),
        ("22:00-06:00", "2026-05-01T06:00", False),
        # In summer Berlin is two hours ahead of UTC, in winter one.
        ("22:00-06:00 Europe/Berlin", "2026-07-01T20:00", True),
        ("22:00-06:00 Europe/Berlin", "2026-01-01T20:00", False),
        # On 2026-03-29 clocks go from 02:00 to 03:00 at 01:00 UTC; on 2026-10-25 back from 03:00 to 02:00.
        ("22:00-03:30 Europe/Berlin", "2026-03-29T01:15", True),
        ("22:00-03:30 Europe/Berlin", "2026-03-29T01:30", False),
        ("02:00-03:00 Europe/Berlin", "2026-10-25T00:30", True),
        ("02:00-03:00 Europe/Berlin", "2026-10-25T01:30", True),
        ("02:00-03:00 Europe/Berlin", "2026-10-25T02:00", False),
    ],
)
def test_it_has_the_moments_between_its_ends(text: str, moment: str, *, inside: bool) -> None:
    """The first minute is part of it, the last is not."""
    assert window(text).has(at(moment)) is inside


@pytest.mark.parametrize(
    ("text", "moment", "opens"),
    [
        ("22:00-06:00", "2026-05-01T12:00", "2026-05-01T22:00"),
        ("22:00-06:00", "2026-05-01T23:00", "2026-05-02T22:00"),
        ("22:00-06:00 Europe/Berlin", "2026-03-28T12:00", "2026-03-28T21:00"),
        ("22:00-06:00 Europe/Berlin", "2026-03-29T12:00", "2026-03-29T20:00"),
        ("02:30-04:00 Europe/Berlin", "2026-03-28T12:00", "2026-03-29T01:30"),  # there is no 02:30 on that day
    ],
)
def test_it_opens_once_a_day(text: str, moment: str, opens: str) -> None:
    """When it opens next, it has that moment."""
    assert window(text).opens_after(at(moment)) == at(opens)
    assert window(text).has(at(opens))


def test_without_one_any_time_will_do() -> None:
    """An empty text."""
    assert Window.parse(" ") is None


@pytest.mark.parametrize("text", ["22-06", "22:00-22:00", "25:00-06:00", "22:00-06:00 Europe/Nowhere", "22:00 ../etc"])
def test_what_is_no_window_is_refused(text: str) -> None:
    """With an example."""
    with pytest.raises(InvalidRequest, match=r"is no part of the day, like 22:00-06:00 Europe/Berlin"):
        Window.parse(text)


def test_a_moment_outside_is_refused_in_its_own_time() -> None:
    """The sentence says what to do."""
    with pytest.raises(InvalidRequest, match=r"it is 14:00 in Europe/Berlin.*22:00-06:00 Europe/Berlin. Clear the run"):
        window("22:00-06:00 Europe/Berlin").refuse_outside(at("2026-07-01T12:00"))

"""A window of the day is by the clocks on the walls of its zone, also past midnight and when clocks are set."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from random import Random

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
        ("02:30-04:00 Europe/Berlin", "2026-03-28T12:00", "2026-03-29T01:00"),  # there is no 02:30 on that day
        ("02:10-02:50 Europe/Berlin", "2026-03-28T12:00", "2026-03-30T00:10"),  # and nothing of this window
    ],
)
def test_it_opens_next(text: str, moment: str, opens: str) -> None:
    """When it opens next, it has that moment."""
    assert window(text).opens_after(at(moment)) == at(opens)
    assert window(text).has(at(opens))


def test_without_one_any_time_will_do() -> None:
    """An empty string means no window."""
    assert Window.parse(" ") is None


@pytest.mark.parametrize("text", ["22-06", "22:00-22:00", "25:00-06:00", "22:00-06:00 Europe/Nowhere", "22:00 ../etc"])
def test_what_is_no_window_is_refused(text: str) -> None:
    """The error gives an example."""
    with pytest.raises(InvalidRequest, match=r"is not a time window like 22:00-06:00 Europe/Berlin"):
        Window.parse(text)


def test_a_moment_outside_is_refused_in_its_own_time() -> None:
    """The sentence says what to do."""
    with pytest.raises(
        InvalidRequest, match=r"it is 14:00 in Europe/Berlin.*22:00-06:00 Europe/Berlin. Clear this run"
    ):
        window("22:00-06:00 Europe/Berlin").refuse_outside(at("2026-07-01T12:00"))


ZONES = {
    "Europe/Berlin": ("2026-03-28", "2026-10-24"),
    "America/New_York": ("2026-03-07", "2026-10-31"),
    "Australia/Lord_Howe": ("2026-04-04", "2026-10-03"),  # half an hour
    "Pacific/Apia": ("2011-12-29",),  # had no 30 December
    "Asia/Kathmandu": ("2026-05-01",),
}


@pytest.mark.parametrize(("zone", "day"), [(zone, day) for zone, days in ZONES.items() for day in days])
def test_it_opens_when_the_clocks_on_the_wall_say_so(zone: str, day: str) -> None:
    """As somebody who looks at them each minute sees it, on days on which they are set."""
    rng = Random(zone + day)
    for _ in range(12):
        begins, ends = (f"{rng.randrange(4):02d}:{rng.choice((0, 10, 30, 50)):02d}" for _ in "12")
        if begins == ends:
            continue
        one = window(f"{begins}-{ends} {zone}")
        moment = at(f"{day}T00:00") + timedelta(minutes=rng.randrange(24 * 60))
        minutes = (moment + timedelta(minutes=minute) for minute in range(1, 3 * 24 * 60))
        seen = next(m for m in minutes if one.has(m) and not one.has(m - timedelta(minutes=1)))
        assert one.opens_after(moment) == seen, (str(one), moment)

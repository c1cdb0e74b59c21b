"""The part of the day in which a change may begin."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from airflow_provider_connect_offsets.exceptions import InvalidRequest

_WINDOW = re.compile(r"(\d\d:\d\d)\s*-\s*(\d\d:\d\d)(?:\s+(\S+))?")
# A window opens within this many days, even if a clock change skips it on one of them.
_DAYS = 3


@dataclass(frozen=True, slots=True)
class Window:
    """A part of each day, in the local time of a time zone; it may go past midnight.

    On the days on which clocks are set forward or back, the window is an hour shorter or longer if it has that hour.

    Attributes:
        opens: When it begins.
        closes: When it ends; earlier than ``opens``: on the next day.
        zone: Its time zone.
    """

    opens: time
    closes: time
    zone: ZoneInfo

    @classmethod
    def parse(cls, text: str) -> Window | None:
        """Parse ``22:00-06:00 Europe/Berlin``, without a zone in UTC; None if it is empty: any time will do.

        Raises :class:`InvalidRequest`.
        """
        if not text.strip():
            return None
        match = _WINDOW.fullmatch(text.strip())
        try:
            window = match and cls(
                time.fromisoformat(match[1]), time.fromisoformat(match[2]), ZoneInfo(match[3] or "UTC")
            )
        except (ValueError, ZoneInfoNotFoundError, OSError) as error:
            raise _no_window(text, str(error)) from error
        if not window or window.opens == window.closes:
            raise _no_window(text, "it begins and ends at the same time" if window else "it has another form")
        return window

    def has(self, moment: datetime) -> bool:
        """Whether a moment is in the window."""
        at = moment.astimezone(self.zone).time()
        if self.opens < self.closes:
            return self.opens <= at < self.closes
        return at >= self.opens or at < self.closes

    def opens_after(self, moment: datetime) -> datetime:
        """Return when the window opens next after ``moment``, in UTC.

        On a day on which clocks change, it may open when they change, twice, or not at all.
        """
        today = moment.astimezone(self.zone).date()
        days = (today + timedelta(days=days) for days in range(_DAYS))
        openings = (
            datetime.combine(day, self.opens.replace(fold=fold), tzinfo=self.zone).astimezone(UTC)
            for day in days
            for fold in (0, 1)
        )
        candidates = sorted(one for one in (*openings, *self._clocks_set(moment)) if one > moment)
        return next(one for one in candidates if self.has(one) and not self.has(one - timedelta(microseconds=1)))

    def _clocks_set(self, moment: datetime) -> Iterator[datetime]:
        """Yield the times at which clocks change in the days after a moment, in UTC and whole minutes."""
        begins = moment.astimezone(UTC).replace(second=0, microsecond=0)
        for before, after in pairwise(begins + timedelta(hours=hour) for hour in range(24 * _DAYS)):
            if self._offset_from_utc(before) != self._offset_from_utc(after):
                minutes = (before + timedelta(minutes=minute) for minute in range(1, 61))
                yield next(
                    minute for minute in minutes if self._offset_from_utc(minute) == self._offset_from_utc(after)
                )

    def _offset_from_utc(self, moment: datetime) -> timedelta | None:
        """Return how far the zone's clocks are ahead of UTC."""
        return moment.astimezone(self.zone).utcoffset()

    def refuse_outside(self, moment: datetime) -> None:
        """Raise :class:`InvalidRequest` for a moment that is not in the window."""
        if not self.has(moment):
            raise InvalidRequest(
                f"Nothing was changed: it is {moment.astimezone(self.zone):%H:%M} in {self.zone.key}, but changes may "
                f"begin only in the window {self}. Clear this run's task `turn`: the run then waits until the "
                "window opens, and plans again."
            )

    def __str__(self) -> str:
        """Return the window in the form that a Param takes."""
        return f"{self.opens:%H:%M}-{self.closes:%H:%M} {self.zone.key}"


def _no_window(text: str, why: str) -> InvalidRequest:
    return InvalidRequest(f"window: {text!r} is not a time window like 22:00-06:00 Europe/Berlin ({why}).")

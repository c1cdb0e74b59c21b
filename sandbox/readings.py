"""The demo's data: Seattle's hourly temperature in 2010, from the package vega_datasets."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from zoneinfo import ZoneInfo

SEATTLE = ZoneInfo("America/Los_Angeles")


@dataclass(frozen=True, slots=True)
class Reading:
    """A temperature at a moment."""

    at: datetime
    fahrenheit: float

    @property
    def key(self) -> str:
        """Its day, so that a day's readings stay together in one partition, in order."""
        return self.at.date().isoformat()

    @property
    def value(self) -> str:
        """The reading as JSON."""
        return json.dumps({"city": "Seattle", "at": self.at.isoformat(), "fahrenheit": self.fahrenheit})

    @property
    def timestamp_ms(self) -> int:
        """When it was taken: the record's own timestamp."""
        return int(self.at.timestamp() * 1000)


def seattle_2010() -> list[Reading]:
    """All hours of the year, in order; the one that summer time skips is missing."""
    # Imported here, as it imports pandas.
    from vega_datasets import local_data  # noqa: PLC0415

    frame = local_data.seattle_temps()
    return [
        Reading(moment.to_pydatetime().replace(tzinfo=SEATTLE), float(fahrenheit))
        for moment, fahrenheit in zip(frame["date"], frame["temp"], strict=True)
    ]

"""A row of the benchmarks' table: two ways to the same result, which ran in turn in the same run."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Row:
    """Seconds of both ways.

    Attributes:
        name: what is measured; ``make bench ROW=…`` selects by it
        ours: seconds of each run
        against: what ours is compared with
        theirs: seconds of each of its runs
        goal: the ratio that ours should not exceed; None: no goal
        shows: what the profile of a row that misses its goal shows, and other figures of the same runs
    """

    name: str
    ours: Sequence[float]
    against: str
    theirs: Sequence[float]
    goal: float | None = None
    shows: str = ""

    @property
    def ratio(self) -> float:
        """Ours by theirs, of the medians."""
        return statistics.median(self.ours) / statistics.median(self.theirs)

    @property
    def holds(self) -> bool:
        """Whether the goal is reached."""
        return self.goal is None or self.ratio <= self.goal

    def cells(self) -> dict[str, str]:
        """Return the columns of the table."""
        return {
            "what": self.name,
            "ours": _seconds(self.ours),
            "compared with": self.against,
            "theirs": _seconds(self.theirs),
            "ratio": f"{self.ratio:.3g}",
            "goal": "" if self.goal is None else f"{'✓' if self.holds else '✗'} ≤ {self.goal:.3g}",
            "shows": self.shows,
        }


def _seconds(runs: Sequence[float]) -> str:
    """Write the median, and from least to most if there are several."""
    least, middle, most = (_short(one) for one in (min(runs), statistics.median(runs), max(runs)))
    return f"{middle} s ({least} to {most})" if len(runs) > 1 else f"{middle} s"


def _short(seconds: float) -> str:
    return f"{seconds:,.0f}" if seconds >= 100 else f"{seconds:.3g}"

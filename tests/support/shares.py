"""A share of a suite, drawn anew each time, for a run that has to end in time."""

from __future__ import annotations

import math
import os
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self, TypeVar

T = TypeVar("T")

SHARE, SEED, ENDS = "SUITE_SHARE", "SUITE_SEED", "SUITE_ENDS"


@dataclass(frozen=True, slots=True)
class Share:
    """Every ``every``-th test; ``seed`` says from which one on. None starts after ``ends`` (in seconds since 1970)."""

    every: int
    seed: int
    ends: float = math.inf

    @classmethod
    def of_environment(cls) -> Self:
        """The share that ``SUITE_SHARE=3`` requests; a missing ``SUITE_SEED`` is drawn, for child processes as well.

        With ``SUITE_ENDS=1790000000``, tests that start later are skipped.
        """
        os.environ.setdefault(SEED, str(random.SystemRandom().randrange(10**6)))
        ends = float(os.environ.get(ENDS, "inf"))
        return cls(every=int(os.environ.get(SHARE, "1")), seed=int(os.environ[SEED]), ends=ends)

    @property
    def is_over(self) -> bool:
        """Whether it is too late for another test."""
        return time.time() > self.ends

    def split(self, tests: Sequence[T]) -> tuple[list[T], list[T]]:
        """The tests that are run, and those that are not."""
        runs = [(index + self.seed) % self.every == 0 for index in range(len(tests))]
        kept = [test for test, is_run in zip(tests, runs, strict=True) if is_run]
        return kept, [test for test, is_run in zip(tests, runs, strict=True) if not is_run]

    def __str__(self) -> str:
        return f"one test in {self.every}: {SHARE}={self.every} {SEED}={self.seed}"

"""A share of a suite, drawn anew each time, for a run that has to end in time."""

from __future__ import annotations

import os
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self, TypeVar

T = TypeVar("T")

SHARE, SEED = "SUITE_SHARE", "SUITE_SEED"


@dataclass(frozen=True, slots=True)
class Share:
    """Every ``every``-th test; ``seed`` says from which one on."""

    every: int
    seed: int

    @classmethod
    def of_environment(cls) -> Self:
        """The share that ``SUITE_SHARE=3`` requests; a missing ``SUITE_SEED`` is drawn, for child processes as well."""
        os.environ.setdefault(SEED, str(random.SystemRandom().randrange(10**6)))
        return cls(every=int(os.environ.get(SHARE, "1")), seed=int(os.environ[SEED]))

    def split(self, tests: Sequence[T]) -> tuple[list[T], list[T]]:
        """The tests that are run, and those that are not."""
        runs = [(index + self.seed) % self.every == 0 for index in range(len(tests))]
        kept = [test for test, is_run in zip(tests, runs, strict=True) if is_run]
        return kept, [test for test, is_run in zip(tests, runs, strict=True) if not is_run]

    def __str__(self) -> str:
        return f"one test in {self.every}: {SHARE}={self.every} {SEED}={self.seed}"

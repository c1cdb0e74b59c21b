"""A worker or a broker goes away around each change that an operation makes, and comes back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest
from pyspark.sql import SparkSession

from sandbox import Sandbox
from tests.support.faults.broken_sink import OPERATIONS, SinkCase
from tests.support.faults.matrix import Broken
from tests.support.faults.outages import Outages, two_workers
from tests.support.faults.rows import InOutage

pytestmark = [pytest.mark.faults, pytest.mark.timeout(3600)]


@pytest.fixture(scope="module")
def outages(sandbox: Sandbox) -> Iterator[Outages]:
    """Two workers for all cells of this module."""
    with two_workers(sandbox) as opened:
        yield opened


@pytest.fixture(scope="module")
def case(
    sandbox: Sandbox, outages: Outages, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SinkCase]:
    """One sink for all cells of this module."""
    with SinkCase.started(sandbox, spark, tmp_path_factory.mktemp("outages"), timeout=120) as opened:
        yield opened
        outages.wait()


class _InOutage(InOutage):
    """Also before the second read after each such call; at one moment of each cell."""

    share = 10**6

    @classmethod
    def moments(cls, calls: Sequence[str]) -> list[tuple[int, bool]]:
        later = [(number + 2, False) for number, _after in super().moments(calls) if number + 2 < len(calls)]
        return [*super().moments(calls), *dict.fromkeys(later)]


class TestOutages(Broken):
    """All of it or nothing, in the state it had; the next attempt completes it."""

    rows = tuple(type(f"{row.__name__}InOutage", (_InOutage, row), {}) for row in OPERATIONS)

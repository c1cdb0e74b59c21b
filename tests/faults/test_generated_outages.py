"""A worker or a broker goes away around each change that an operation makes, and comes back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest
from pyspark.sql import SparkSession

from sandbox import Sandbox
from tests.support.faults.broken_sink import OPERATIONS, SinkCase, SinkRow
from tests.support.faults.faulty_clients import CHANGES, Fault, Outage
from tests.support.faults.matrix import Broken
from tests.support.faults.outages import Outages, two_workers

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


class _InOutage(SinkRow):
    """Broken by outages, at one moment of each cell."""

    share = 10**6
    faults = tuple(Outage)

    @classmethod
    def moments(cls, calls: Sequence[str]) -> list[tuple[int, bool]]:
        """Before and after each call that changes something, and before the second read after it."""
        changes = [number for number, name in enumerate(calls) if name in CHANGES]
        around = [moment for number in changes for moment in ((number, False), (number, True), (number + 2, False))]
        return [moment for moment in around if moment[0] < len(calls)]

    @classmethod
    @contextmanager
    def opened(cls, request: pytest.FixtureRequest) -> Iterator[SinkRow]:
        with super().opened(request) as one:
            one.outages = request.getfixturevalue("outages")
            yield one

    def world(self, fault: Fault | Outage) -> None:
        assert self.outages is not None
        self.outages.begin(Outage(fault))

    def over(self) -> None:
        assert self.outages is not None
        self.outages.wait()


class TestOutages(Broken):
    """All of it or nothing, in the state it had; the next attempt completes it."""

    rows = tuple(type(f"{row.__name__}InOutage", (_InOutage, row), {}) for row in OPERATIONS)

"""A worker or broker fails at each change of an operation and comes back; the operation ends whole."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import product

import pytest
from pyspark.sql import SparkSession

from sandbox import Sandbox
from tests.support.faults.broken_sink import OPERATIONS, SinkCase, SinkCell, calls_of
from tests.support.faults.fault_table import Ending, Note
from tests.support.faults.faulty_clients import CHANGES, Faults, Outage
from tests.support.faults.outages import Outages, two_workers

pytestmark = [pytest.mark.faults, pytest.mark.timeout(3600)]
CELLS = list(product(OPERATIONS, Outage))


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


def moments_of(calls: list[str]) -> list[tuple[int, bool]]:
    """Before and after each call that changes something, and before the second read after it."""
    changes = [number for number, name in enumerate(calls) if name in CHANGES]
    around = [moment for number in changes for moment in ((number, False), (number, True), (number + 2, False))]
    return [moment for moment in around if moment[0] < len(calls)]


@pytest.mark.parametrize(("name", "outage"), CELLS)
@pytest.mark.parametrize("whole", [False, pytest.param(True, marks=pytest.mark.long)])
def test_outage_at_each_change(
    case: SinkCase, outages: Outages, note_generated: Note, name: str, outage: Outage, *, whole: bool
) -> None:
    """All of it or nothing, in the state it had; the next attempt completes it.

    ``whole``: each moment, else one, which ``FAULT_SEED`` draws. Prior states and successors take turns.
    """
    broken, nth = OPERATIONS[name], CELLS.index((name, outage))
    turns, endings = list(product(broken.states, broken.successors)), set[Ending | None]()
    with case.changer.clients() as clients:
        moments = list(enumerate(moments_of(calls_of(case, broken, clients))))
        if not whole:
            moments = [moments[(nth + int(os.environ["FAULT_SEED"])) % len(moments)]]
        for number, (at, after) in moments:
            state, successor = turns[(number + nth) % len(turns)]
            faults = Faults(outage, at, after, world=lambda: outages.begin(outage))
            with faults.naming(f"{name} of one that is {state}", successor):
                endings.add(SinkCell(case, clients, broken, faults, state, successor, over=outages.wait).run())
    for ending in sorted(ending for ending in endings if ending is not None):
        note_generated(outage, name, "sink", ending)

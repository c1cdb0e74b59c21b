"""Each call of an operation is broken in each way; the next one completes or undoes the operation.

The cells are made from a clean run of the operation, so that an operation, or a call, that is added later is in them.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import pytest
from pyspark.sql import SparkSession

from sandbox import Sandbox
from tests.support.faults.broken_sink import OPERATIONS, SinkCase, SinkCell, calls_of
from tests.support.faults.fault_table import Ending, Note
from tests.support.faults.faulty_clients import Fault, Faults

pytestmark = pytest.mark.faults

CELLS = [(name, fault) for name in OPERATIONS for fault in Fault]


@pytest.fixture(scope="module")
def case(sandbox: Sandbox, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SinkCase]:
    """One sink for all cells of this module."""
    with SinkCase.started(sandbox, spark, tmp_path_factory.mktemp("generated"), timeout=15) as opened:
        yield opened


@pytest.mark.parametrize(("name", "fault"), CELLS)
@pytest.mark.parametrize("every", [10, pytest.param(1, marks=pytest.mark.long)])
def test_broken_at_each_call(
    case: SinkCase, note_generated: Note, monkeypatch: pytest.MonkeyPatch, name: str, fault: Fault, every: int
) -> None:
    """All of it or nothing, in the state it had; the next attempt completes it.

    Prior states and successors take turns, so that each meets each other one. ``every``: which share of the cells.
    """
    broken = OPERATIONS[name]
    turns = list(product(broken.states, broken.successors))
    with case.changer.clients() as clients:
        moments = list(product(range(len(calls_of(case, broken, clients))), (False, True)))
        first = CELLS.index((name, fault)) % every
        endings: set[Ending | None] = set()
        for number, (at, after) in list(enumerate(moments))[first::every]:
            state, successor = turns[(number + first) % len(turns)]
            faults = Faults(fault, at, after, world=case.resume)
            with faults.naming(f"{name} of one that is {state}", successor), faults.files(monkeypatch):
                endings.add(SinkCell(case, clients, broken, faults, state, successor).run())
    for ending in sorted(ending for ending in endings if ending is not None):
        note_generated(fault, name, "sink", ending)

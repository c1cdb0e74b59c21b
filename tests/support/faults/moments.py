"""At which calls of an operation a fault is put, and who comes afterwards."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from itertools import product

from tests.support.faults.faulty_clients import Fault, Faults
from tests.support.faults.recovered_by import RecoveredBy


def each_call(
    fault: Fault,
    counted: Faults,
    *,
    index: int,
    share: int,
    successors: Sequence[RecoveredBy] = (RecoveredBy.RETRY, RecoveredBy.PERSON),
) -> Iterator[tuple[Faults, RecoveredBy]]:
    """Yield the fault before and after each call; with ``share`` only one in so many, another one in each run.

    Args:
        fault: The fault.
        counted: Without a fault; it has counted the calls.
        index: The number of the matrix's cell; others draw other calls.
        share: 1: all calls.
        successors: Who comes afterwards, in turns.
    """
    moments = list(product(range(len(counted.calls)), (False, True)))
    for number, (at, after) in enumerate(moments[(index + int(os.environ["FAULT_SEED"])) % share :: share]):
        yield Faults(fault, at, after), successors[(number + index) % len(successors)]

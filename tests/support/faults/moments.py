"""At which calls of an operation a fault is put, and who comes afterwards."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import product

from tests.support.faults.faulty_clients import Fault, Faults
from tests.support.faults.recovered_by import RecoveredBy


def each_call(fault: Fault, counted: Faults, *, place: int, share: int) -> Iterator[tuple[Faults, RecoveredBy]]:
    """Yield the fault before and after each call; with ``share`` only one in so many, another one in each run.

    Args:
        fault: The fault.
        counted: Without a fault; it has counted the calls.
        place: The number of the matrix's cell; others draw other calls.
        share: 1: all calls.
    """
    moments = list(product(range(len(counted.calls)), (False, True)))
    for number, (at, after) in enumerate(moments[(place + int(os.environ["FAULT_SEED"])) % share :: share]):
        yield Faults(fault, at, after), (RecoveredBy.RETRY, RecoveredBy.PERSON)[(number + place) % 2]

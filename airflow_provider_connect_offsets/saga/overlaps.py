"""What is said to whoever wants a resource that another run has; none of these has done anything."""

from __future__ import annotations

from airflow_provider_connect_offsets.exceptions import Overlap
from airflow_provider_connect_offsets.saga.record import SagaRecord


def under_way(connector: str, *, holder: str) -> Overlap:
    """Another run is at it."""
    return Overlap(f"Nothing was done: {connector!r} is being changed by {holder}. Try again when that has ended.")


def taken_over(connector: str, *, holder: str) -> Overlap:
    """Another run took it between two tasks of this one."""
    return Overlap(f"Nothing was done: {connector!r} is not held by this run any more, but by {holder}. Begin again.")


def part_of_another(connector: str, record: SagaRecord) -> Overlap:
    """It is one of several resources of a saga that nobody has settled."""
    return Overlap(
        f"Nothing was done: {record.operation} by run {record.owner.run!r} ended before its time, and {connector!r} "
        "belongs to what it has left. Run it once more with the same parameters (a dry run does not do it), which "
        "finishes or restores it; then try again."
    )

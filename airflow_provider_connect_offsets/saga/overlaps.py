"""Errors for a run that needs a resource of another run; they are raised before anything was done."""

from __future__ import annotations

from airflow_provider_connect_offsets.exceptions import Overlap
from airflow_provider_connect_offsets.saga.record import SagaRecord


def under_way(resource: str, *, holder: str) -> Overlap:
    """Return the error for a resource that another run is changing."""
    return Overlap(f"Nothing was done: {resource!r} is being changed by {holder}. Try again when that run has ended.")


def taken_over(resource: str, *, holder: str) -> Overlap:
    """Return the error for a resource that another run took between two tasks of this run."""
    return Overlap(
        f"Nothing was done: this run no longer has the lease of {resource!r}, which belongs to {holder}. Begin again."
    )


def part_of_another(resource: str, record: SagaRecord) -> Overlap:
    """Return the error for a resource of an unfinished saga that has several resources."""
    return Overlap(
        f"Nothing was done: {record.operation} by run {record.owner.run!r} ended unfinished, and {resource!r} is "
        "part of what it left unfinished. Run it again with the same parameters to finish or restore it (a dry run "
        "does not do this). Then try again."
    )

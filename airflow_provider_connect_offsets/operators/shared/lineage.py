"""What OpenLineage's events say of changes and jobs. Only OpenLineage's provider imports this module."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from airflow.providers.common.compat.openlineage.facet import RunFacet
from airflow.providers.openlineage.extractors import OperatorLineage
from attrs import define

#: Most changes that a facet lists: backends limit the size of an event, often to 1 MiB.
MOST_CHANGES = 200


@define
class OffsetChangesRunFacet(RunFacet):
    """Run facet ``connectOffsets_changes``: the changes that a task has applied.

    Attributes:
        changes: Of each, what its asset event has as ``extra``; the first ``MOST_CHANGES``.
        more: How many more there are.
    """

    changes: list[dict[str, Any]]
    more: int


@define
class OffsetsJobRunFacet(RunFacet):
    """Run facet ``connectOffsets_job``: what a Spark job has found.

    Attributes:
        job: The job's name, such as ``plan``.
        summary: What its task returns: digest, counts, worst verdict; where its datasets and its report are.
    """

    job: str
    summary: dict[str, Any]


def lineage_of_changes(extras: Sequence[Mapping[str, Any]]) -> OperatorLineage[Any, Any]:
    """Return the lineage of a task that has applied changes; ``extras``: the extras of their asset events."""
    if not extras:
        return OperatorLineage()
    shown = [dict(one) for one in extras[:MOST_CHANGES]]
    return OperatorLineage(
        run_facets={"connectOffsets_changes": OffsetChangesRunFacet(changes=shown, more=len(extras) - len(shown))}
    )


def lineage_of_job(job: str, found: Mapping[str, Any] | None) -> OperatorLineage[Any, Any]:
    """Return the lineage of a task that has run a Spark job; ``found``: what it returns, None if it has failed."""
    if found is None:
        return OperatorLineage()
    return OperatorLineage(run_facets={"connectOffsets_job": OffsetsJobRunFacet(job=job, summary=dict(found))})

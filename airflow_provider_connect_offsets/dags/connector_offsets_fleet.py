"""Change where many connectors resume: planned and approved together, and only so many down at once."""

from __future__ import annotations

from typing import Any

from airflow_provider_connect_offsets import task_groups
from airflow_provider_connect_offsets.dags.ready import ready_dag
from airflow_provider_connect_offsets.task_groups.changes import FLEET


@ready_dag(*FLEET, description="Change where many connectors resume", hours=2, max_active_runs=4)
def connector_offsets_fleet(**values: Any) -> None:
    """### Change where many connectors resume

    The same change as `connector_offsets_change`, for every connector whose whole name matches `connectors` (a regular
    expression). `to`, `value`, `topics` and `partitions` mean what they mean there.

    **What happens**: a snapshot is taken of all connectors; one Spark application plans and checks the change of each;
    an error in any of the plans refuses them all; someone approves them once (Required Actions). Only then are they
    changed, `max_down` at a time, each stopped, altered, read back and resumed by itself. One that fails is
    restored, and the others go on, unless `max_failures` have failed: then no further one is stopped. The run fails if
    any connector was not changed; its report names them, worst first.
    """
    task_groups.guarded_fleet_change(**values)

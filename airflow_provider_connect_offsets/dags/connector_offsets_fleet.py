"""Change where many connectors resume: plan and approve them together, and stop only a few at a time."""

from __future__ import annotations

from typing import Any

from airflow_provider_connect_offsets import task_groups
from airflow_provider_connect_offsets.dags.ready import ready_dag
from airflow_provider_connect_offsets.task_groups.changes import FLEET


@ready_dag(*FLEET, description="Change where many connectors resume", hours=2, max_active_runs=4)
def connector_offsets_fleet(**values: Any) -> None:
    """### Change where many connectors resume

    The same change as `connector_offsets_change`, for every connector whose whole name matches `connectors` (a regular
    expression). `to`, `value`, `topics` and `partitions` have the same meaning.

    **What happens**: Airflow takes a snapshot of all these connectors, and one Spark application plans and checks the
    change of each. An error in any plan refuses them all. Someone approves them once (Required Actions). Only then are
    they changed, `max_down` at a time; each is stopped, altered, read back and resumed by itself. If one fails, it is
    restored and the others continue, until `max_failures` have failed: then no further one is stopped. The run fails if
    any connector was not changed, and its report lists them, worst first.
    """
    task_groups.guarded_fleet_change(**values)

"""Change where many connectors resume: planned and approved together, and only so many down at once."""

from __future__ import annotations

from typing import Any

from airflow.sdk import DAG

from airflow_provider_connect_offsets import task_groups
from airflow_provider_connect_offsets.dags.ready import ready_dag
from airflow_provider_connect_offsets.task_groups.form import as_arguments
from airflow_provider_connect_offsets.task_groups.params import fleet_params

DOC = """
### Change where many connectors resume

The same change as `connector_offsets_change`, for every connector whose whole name matches `connectors` (a regular
expression). `to`, `value`, `topics` and `partitions` mean what they mean there.

**What happens**: all connectors are looked at; one Spark application plans and checks the change of each; an error in
any of the plans refuses them all; someone approves them once (Required Actions). Only then are they changed,
`max_down` at a time, each stopped, altered, read back and given its state again by itself. One that fails is put back
as it was, and the others go on, unless `max_failures` have failed: then no further one is stopped. The run fails where
any connector was not changed; its page says which, worst first.
"""


def connector_offsets_fleet(**given: Any) -> DAG:
    """Make the DAG; ``given`` are arguments of ``airflow.sdk.DAG`` that replace the defaults, ``params`` by name."""
    params = fleet_params()
    with ready_dag(
        "connector_offsets_fleet",
        description="Change where many connectors resume",
        doc=DOC,
        params=params,
        given=given,
        hours=2,
        max_active_runs=4,
    ) as dag:
        task_groups.guarded_fleet_change(**as_arguments(params))
    return dag

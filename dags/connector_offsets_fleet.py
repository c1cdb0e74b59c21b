"""Change where many connectors resume: planned and approved together, and only so many down at once."""

from __future__ import annotations

from datetime import timedelta

from airflow.sdk import DAG

from airflow_provider_connect_offsets.task_groups import guarded_fleet_change
from airflow_provider_connect_offsets.task_groups.params import as_arguments, fleet_params

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

with DAG(
    dag_id="connector_offsets_fleet",
    description="Change where many connectors resume",
    doc_md=DOC,
    schedule=None,
    catchup=False,
    max_active_runs=4,
    default_args={"owner": "connect-offsets", "execution_timeout": timedelta(hours=2)},
    params=fleet_params(),
    render_template_as_native_obj=False,
    tags=["kafka-connect", "offsets"],
) as dag:
    guarded_fleet_change(**as_arguments(fleet_params()))

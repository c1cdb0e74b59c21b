"""Bring consumer groups home after a failover, each to the exact record where that can be proved."""

from __future__ import annotations

from datetime import timedelta

from airflow.sdk import DAG

from airflow_provider_connect_offsets.task_groups import mirror_failback
from airflow_provider_connect_offsets.task_groups.failover_params import failback_params
from airflow_provider_connect_offsets.task_groups.params import as_arguments

DOC = """
### Consumer groups go home

After a failover, groups read replicas, and what has been produced beside them since. This run brings them back:

- what a group has read of a **replica** is placed in the topic that it was made from, by the offsets and the records of
  the flow that made it (`forward_connector`); records at home that were never replicated are not skipped;
- what was **produced meanwhile** goes by the flow that leads back (`source_connector`), if one runs. Where none does, a
  group that has not read it all stays where it is, and is named: nothing is skipped silently.

Stop the consumers and the producers, then run it. A preview is shown to whoever approves; then the flow that leads back
is waited for until nothing is left, both are stopped, all is translated once more from what stands then, checked,
committed, and read back. The connectors stay STOPPED unless `resume_flow`; when anything goes wrong, they get the state
that they had. What stood at home before is kept: `mirror_failover_restore` puts it back.
"""

with DAG(
    dag_id="mirror_failback",
    description="Bring consumer groups home after a failover",
    doc_md=DOC,
    schedule=None,
    catchup=False,
    max_active_runs=1,
    default_args={"owner": "connect-offsets", "execution_timeout": timedelta(hours=1)},
    params=failback_params(),
    render_template_as_native_obj=False,
    tags=["kafka-connect", "mirrormaker", "offsets"],
) as dag:
    mirror_failback(**as_arguments(failback_params()))

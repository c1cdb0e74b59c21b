"""Bring consumer groups home after a failover, each to the exact record where that can be proved."""

from __future__ import annotations

from typing import Any

from airflow_provider_connect_offsets import task_groups
from airflow_provider_connect_offsets.dags.ready import ready_dag
from airflow_provider_connect_offsets.task_groups.failover import FAILBACK


@ready_dag(
    *FAILBACK,
    description="Bring consumer groups home after a failover",
    max_active_runs=1,
    tags=["mirrormaker2"],
)
def mirror_failback(**values: Any) -> None:
    """### Consumer groups go home

    After a failover, groups read remote topics, and what has been produced beside them since. This run brings them
    back:

    - what a group has read of a **remote topic** is placed in the topic that it was made from, by the offsets and the
    records of
      the flow that made it (`forward_connector`); records at home that were never replicated are not skipped;
    - what was **produced meanwhile** goes by the flow that leads back (`source_connector`), if one runs. Where none
    does, a
      group that has not read it all stays where it is, and is named: nothing is skipped silently.

    Stop the consumers and the producers, then run it. A preview is shown to whoever approves; then the flow that leads
    back is waited for until nothing is left, both are stopped, all is translated once more from what stands then,
    checked, committed, and read back. The connectors stay STOPPED unless `resume_flow`; when anything goes wrong, they
    get the state that they had. What stood at home before is kept: `mirror_failover_restore` puts it back.
    """
    task_groups.mirror_failback(**values)

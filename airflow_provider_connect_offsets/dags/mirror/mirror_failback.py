"""Return consumer groups home after a failover, each to the exact record if that can be proved."""

from __future__ import annotations

from typing import Any

from airflow_provider_connect_offsets import task_groups
from airflow_provider_connect_offsets.dags.ready import ready_dag
from airflow_provider_connect_offsets.task_groups.failover import FAILBACK


@ready_dag(
    *FAILBACK,
    description="Return consumer groups to their home cluster after a failover",
    max_active_runs=1,
    tags=["mirrormaker2"],
)
def mirror_failback(**values: Any) -> None:
    """### Return consumer groups to their home cluster

    After a failover, groups read remote topics, and records that were produced on the cluster they moved to. This run
    returns them to their home cluster:

    - The position in a **remote topic** is translated to the topic that it was replicated from, by the offsets and
      records of the flow that replicated it (`forward_connector`). Records at home that were never replicated are not
      skipped.
    - The position in a topic that was **produced there** is translated by the flow that leads back
      (`source_connector`), if there is one. If there is none, a group that has not read all of the topic is not moved,
      and the report names it: nothing is skipped silently.

    Stop the consumers and the producers, then start the run. Someone approves a preview. Then the run waits until the
    flow that leads back has replicated everything, stops both flows, translates the final positions, checks and commits
    them, and reads them back. The connectors stay STOPPED unless you set `resume_flow`; if anything fails, their prior
    states are restored. The prior offsets of the groups are stored, and `mirror_failover_restore` restores them.
    """
    task_groups.mirror_failback(**values)

"""Move consumer groups to the target of a MirrorMaker 2 flow, each to the exact record if that can be proved."""

from __future__ import annotations

from typing import Any

from airflow_provider_connect_offsets import task_groups
from airflow_provider_connect_offsets.dags.ready import ready_dag
from airflow_provider_connect_offsets.task_groups.failover import FAILOVER


@ready_dag(
    *FAILOVER,
    description="Move consumer groups to the target of a MirrorMaker 2 flow",
    max_active_runs=1,
    tags=["mirrormaker2"],
)
def mirror_failover(**values: Any) -> None:
    """### Move consumer groups to the other cluster

    MirrorMaker 2's own checkpoints are coarse: a group that is far behind the end reads thousands of records again.
    This run translates the position of each group in each partition exactly, if that can be proved: by known offset
    mappings with no gap between them, or by comparing the records of both clusters. Otherwise the group resumes at
    or before the exact position, and the report says how many records it reads again at most.

    **Planned** (the source is alive): stop the consumers and the producers, then start the run. Someone approves a
    preview. Then the run waits until everything is replicated, stops the flow's connectors, translates the final
    positions, checks and commits them, and reads them back. The connectors stay STOPPED unless you set `resume_flow`;
    if anything fails, their prior states are restored.

    **Unplanned** (the source is gone): the positions come from the checkpoints on the target. No record that was
    replicated is skipped; what a group read after its last checkpoint, it reads again.

    A group with members on either cluster is not moved, and the report names it. A group that is further ahead on the
    target is moved back only if `rewind` matches its name. If less than `min_coverage` can be translated, nothing is
    committed. The prior offsets on the target are stored, and `mirror_failover_restore` restores them.
    """
    task_groups.mirror_failover(**values)

"""Move consumer groups to the target of a MirrorMaker 2 flow, each to the exact record where that can be proved."""

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
    """### Consumer groups go to the other cluster

    MirrorMaker 2's own checkpoints are coarse: groups that are far behind the end read thousands of records again.
    This run translates the position of each group in each partition exactly, where that can be proved: by pairs of
    offsets that leave no room for a gap between them, and by the records themselves, which are compared on either
    side. Where it can't be proved, the group begins at or before its place, and the page says how many records it
    reads again at most.

    **Planned** (the source is alive): stop the consumers and the producers, then run it. A preview is shown to whoever
    approves; then replication is waited for until nothing is left, the flow's connectors are stopped, all is translated
    once more from what stands then, checked, committed, and read back. The connectors stay STOPPED unless
    `resume_flow`; when anything goes wrong, they get the state that they had.

    **Unplanned** (the source is gone): the checkpoints on the target tell where the groups were. No record that was
    replicated is skipped; what a group read after its last checkpoint, it reads again.

    Groups with members are left alone and named, on either side; a group that stands further on the target is not set
    back unless `rewind` names it. With less than `min_coverage` nothing is committed. What stood there before is kept:
    `mirror_failover_restore` puts it back.
    """
    task_groups.mirror_failover(**values)

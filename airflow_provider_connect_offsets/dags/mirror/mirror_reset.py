"""Reset a MirrorMaker 2 flow: offsets, offset syncs and checkpoints, by one plan."""

from __future__ import annotations

from typing import Any

from airflow_provider_connect_offsets import task_groups
from airflow_provider_connect_offsets.dags.ready import ready_dag
from airflow_provider_connect_offsets.task_groups.changes import RESET


@ready_dag(
    *RESET,
    description="Reset a MirrorMaker 2 flow: offsets, offset syncs and checkpoints together",
    hours=0.5,
    max_active_runs=16,
    tags=["mirrormaker2"],
)
def mirror_reset(**values: Any) -> None:
    """### Reset a MirrorMaker 2 flow

    A flow stores its progress in two places: the offsets of its MirrorSource, and the offset syncs by which its
    MirrorCheckpoint translates consumer groups. If only one of them is reset, either nothing is replicated again, or
    groups are translated by outdated syncs. This run resets both by one plan, and the checkpoints too if you set
    `checkpoints`.

    `to`, `value`, `topics` and `partitions` say where the MirrorSource resumes, as in `connector_offsets_change`:
    `earliest` (the default) replicates everything again, `file` gives each partition its own position, and `current`
    leaves the offsets unchanged and renews only the syncs.

    **What happens**: Airflow takes a snapshot of everything that could be changed. A Spark job plans the reset, and
    predicts which records are duplicated on the target. Someone approves the plan (Required Actions). Then both
    connectors are stopped, the offsets are written and read back, the flow's offset-syncs topic is emptied (its
    `cleanup.policy` is changed for that and restored in any case), and both connectors are started. The run ends when
    new syncs prove that the flow resumed at its new positions. If anything fails before the topic is emptied, prior
    offsets and states are restored and the run fails. After that the syncs can't be restored, so the reset continues;
    MirrorMaker 2 writes new syncs, and a copy of the deleted ones is in the run's directory.

    All flows with the same aliases share the offset-syncs topic, and it can only be emptied as a whole: the plan lists
    whose syncs are deleted. Set `checkpoints` if remote topics were deleted or created again: MirrorCheckpoint writes
    no lower checkpoint as long as it finds an old one.

    To reset a dedicated MirrorMaker 2, set `control` to `storage`, stop the process before you approve, and start it
    after the run.
    """
    task_groups.mirror_reset(**values)

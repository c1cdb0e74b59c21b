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

    A flow keeps what it has done in two places: its MirrorSource's offsets, and the offset syncs by which its
    MirrorCheckpoint translates consumer groups. If only one of them is reset, either nothing is replicated again or
    groups are translated by syncs of another time. This run resets both by one plan, and checkpoints where that is
    asked.

    `to`, `value`, `topics` and `partitions` say where the MirrorSource resumes, as in `connector_offsets_change`:
    `earliest` (the default) replicates everything again, `to=file` gives each partition a position of its own, and
    `current` leaves offsets as they are and renews the syncs alone.

    **What happens**: a snapshot is taken of everything that could be changed; a Spark job plans, and predicts what
    will be duplicated on the target; someone approves (Required Actions). Then both connectors are stopped, offsets
    written and read back, the flow's offset-syncs topic emptied (its `cleanup.policy` is switched for that, and
    restored whatever happens), and both connectors started. The run ends when new syncs show that the flow resumed
    where it should. If anything fails before the topic is emptied, prior offsets and states are restored and the run
    fails. After that nothing brings the syncs back, so the reset goes on; they are kept in the run's directory, and
    MirrorMaker 2 writes new ones.

    The offset-syncs topic is shared by all flows with the same aliases, and can only be emptied whole: the plan says
    whose syncs go. Set `checkpoints` where remote topics were deleted or made anew: MirrorCheckpoint emits no lower
    checkpoint while it finds an old one.

    Of a dedicated MirrorMaker 2, stop the process before you approve, set `control` to storage, and start it
    afterwards.
    """
    task_groups.mirror_reset(**values)

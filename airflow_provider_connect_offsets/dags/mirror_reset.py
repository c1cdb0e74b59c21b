"""Reset a MirrorMaker 2 flow: offsets, offset syncs and checkpoints, by one plan."""

from __future__ import annotations

from typing import Any

from airflow.sdk import DAG

from airflow_provider_connect_offsets import task_groups
from airflow_provider_connect_offsets.dags.ready import ready_dag
from airflow_provider_connect_offsets.task_groups.form import as_arguments
from airflow_provider_connect_offsets.task_groups.mirror_reset_params import mirror_reset_params

DOC = """
### Reset a MirrorMaker 2 flow

A flow keeps what it has done in two places: its MirrorSource's offsets, and the offset syncs by which its
MirrorCheckpoint translates consumer groups. Where only one of them is reset, either nothing is replicated again or
groups are translated by syncs of another time. This run resets both by one plan, and checkpoints where that is asked.

`to`, `value`, `topics` and `partitions` say where the MirrorSource resumes, as in `connector_offsets_change`:
`earliest` (the default) replicates everything again, `to=file` gives each partition a position of its own, and
`current` leaves offsets as they are and renews the syncs alone.

**What happens**: a snapshot is taken of everything that could be changed; a Spark job plans, and predicts what will be
duplicated on the target; someone approves (Required Actions). Then both connectors are stopped, offsets written and
read back, the flow's offset-syncs topic emptied (its `cleanup.policy` is switched for that, and put back whatever
happens), and both connectors started. The run ends when new syncs show that the flow goes on where it was put. Whatever
goes wrong before the topic is emptied, prior offsets and states are put back and the run fails. After that nothing
brings the syncs back, so the reset goes on; they are kept in the run's directory, and MirrorMaker 2 writes new ones.

The offset-syncs topic is shared by all flows with the same aliases, and can only be emptied whole: the plan says whose
syncs go. Set `checkpoints` where remote topics were deleted or made anew: MirrorCheckpoint emits no lower checkpoint
while an old one stands.

Of a dedicated MirrorMaker 2, stop the process before you approve, set `control` to storage, and start it afterwards.
"""


def mirror_reset(**given: Any) -> DAG:
    """Make the DAG; ``given`` are arguments of ``airflow.sdk.DAG`` that replace the defaults, ``params`` by name."""
    params = mirror_reset_params()
    with ready_dag(
        "mirror_reset",
        description="Reset a MirrorMaker 2 flow: offsets, offset syncs and checkpoints together",
        doc=DOC,
        params=params,
        given=given,
        hours=0.5,
        max_active_runs=16,
        tags=["mirrormaker2"],
    ) as dag:
        task_groups.mirror_reset(**as_arguments(params))
    return dag

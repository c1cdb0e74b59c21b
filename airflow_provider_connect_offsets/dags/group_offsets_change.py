"""Change where consumer groups of plain applications resume: plan, approve, apply, and undo on failure."""

from __future__ import annotations

from typing import Any

from airflow_provider_connect_offsets import task_groups
from airflow_provider_connect_offsets.dags.ready import ready_dag
from airflow_provider_connect_offsets.task_groups.changes import GROUPS


@ready_dag(*GROUPS, description="Change where consumer groups resume", hours=2, max_active_runs=4, tags=["groups"])
def group_offsets_change(**values: Any) -> None:
    """### Change where consumer groups resume

    For the consumer groups of plain applications whose whole name matches `groups` (a regular expression): what
    `kafka-consumer-groups --reset-offsets` does, but checked, approved and undone if anything fails. `to`, `value`,
    `topics` and `partitions` have the same meaning as in `connector_offsets_change`; with `to=connector`, `value` is
    the name of another consumer group.

    **What happens**: Airflow takes a snapshot of the groups, and one Spark application plans and checks the change of
    each. An error in any plan refuses them all; a group that has members is an error. Someone approves them once
    (Required Actions). Then their offsets are committed and read back, `max_down` groups at a time.

    **Before**: stop the applications of the groups. Nothing here stops or starts them. If a member joins before the
    offsets are committed, that group is left as it is, and the run fails with its name.

    **For sink connectors** use `connector_offsets_change`, which stops and resumes the connector.
    """
    task_groups.guarded_group_change(**values)

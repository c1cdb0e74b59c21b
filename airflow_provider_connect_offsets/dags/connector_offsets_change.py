"""Change where a connector resumes: plan on Spark, ask a person, apply in seconds, read back, undo when wrong."""

from __future__ import annotations

from typing import Any

from airflow_provider_connect_offsets import task_groups
from airflow_provider_connect_offsets.dags.ready import ready_dag
from airflow_provider_connect_offsets.task_groups.changes import CHANGE


@ready_dag(*CHANGE, description="Change where a connector resumes", hours=0.5, max_active_runs=16)
def connector_offsets_change(**values: Any) -> None:
    """### Change where a connector resumes

    | to | value | the connector resumes at |
    |---|---|---|
    | `earliest`, `latest` | | the first record that is there, or after the last |
    | `datetime` | `2026-01-31T03:00:00+01:00` | the first record at or after that moment |
    | `duration` | `PT2H` | the same, counted back from now |
    | `shift` | `-100` | so many records before or after its position |
    | `skip` | `1` | after so many records; for a poison record |
    | `offset` | `4711` | that very record |
    | `clear` | | whatever `auto.offset.reset` says, as nothing is stored any more |
    | `file` | a URI | what a KIP-199 JSON, REST JSON, CSV or Parquet file says |
    | `connector` | a name | the position of that other connector |
    | `current` | | where it is (shows positions and log bounds, changes nothing) |

    `topics` (a regular expression that matches whole names) and `partitions` (like `0,3-5`) narrow it down.

    **What happens**: a snapshot is taken; a Spark job plans and checks; someone approves (Required Actions); only then
    the connector is stopped, altered, read back and resumed in its prior state, which takes seconds. If
    anything fails, its prior offsets and state are restored, and the run fails. The report of each run is beside its
    datasets; the tasks' logs name it.
    """
    task_groups.guarded_offset_change(**values)

"""Change where a connector resumes: plan on Spark, ask a person, apply in seconds, read back, undo when wrong."""

from __future__ import annotations

from typing import Any

from airflow.sdk import DAG

from airflow_provider_connect_offsets import task_groups
from airflow_provider_connect_offsets.dags.ready import ready_dag
from airflow_provider_connect_offsets.task_groups.form import as_arguments
from airflow_provider_connect_offsets.task_groups.params import change_params

DOC = """
### Change where a connector resumes

| to | value | the connector resumes at |
|---|---|---|
| `earliest`, `latest` | | the first record that is there, or after the last |
| `datetime` | `2026-01-31T03:00:00+01:00` | the first record at or after that moment |
| `duration` | `PT2H` | the same, counted back from now |
| `shift` | `-100` | so many records before or after where it stands |
| `skip` | `1` | after so many records; for a poison record |
| `offset` | `4711` | that very record |
| `clear` | | whatever `auto.offset.reset` says, as nothing is stored any more |
| `file` | a URI | what a KIP-199 JSON, REST JSON, CSV or Parquet file says |
| `connector` | a name | where that other connector stands |
| `current` | | where it is (shows positions and log bounds, changes nothing) |

`topics` (a regular expression that matches whole names) and `partitions` (like `0,3-5`) narrow it down.

**What happens**: a snapshot is taken; a Spark job plans and checks; someone approves (Required Actions); only then the
connector is stopped, altered, read back and given its state again, which takes seconds. Whatever goes wrong on the way,
its prior offsets and state are put back, and the run fails. The page of each run lies beside its datasets; the tasks'
logs say where.
"""


def connector_offsets_change(**given: Any) -> DAG:
    """Make the DAG; ``given`` are arguments of ``airflow.sdk.DAG`` that replace the defaults, ``params`` by name."""
    params = change_params()
    with ready_dag(
        "connector_offsets_change",
        description="Change where a connector resumes",
        doc=DOC,
        params=params,
        given=given,
        hours=0.5,
        max_active_runs=16,
    ) as dag:
        task_groups.guarded_offset_change(**as_arguments(params))
    return dag

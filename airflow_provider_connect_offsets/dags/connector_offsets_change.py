"""Change where a connector resumes: plan on Spark, ask a person, apply in seconds, read back, undo on failure."""

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
    | `earliest`, `latest` | | the first record that is still there, or after the last one |
    | `datetime` | `2026-01-31T03:00:00+01:00` | the first record at or after that moment |
    | `duration` | `PT2H` | the same, counted back from now |
    | `shift` | `-100` | so many offsets before or after its position |
    | `skip` | `1` | after its next record, such as a poison record; if greater, after so many offsets from it on |
    | `offset` | `4711` | the record with that offset |
    | `clear` | | wherever `auto.offset.reset` says, as no offset is stored any more |
    | `file` | a URI | the positions in a KIP-199 JSON, REST JSON, JSON lines, CSV or Parquet file |
    | `query` | Spark SQL | the positions that a query returns, of tables that your configuration allows to read |
    | `connector` | a name | the position of that other connector |
    | `current` | | its position: nothing is changed, positions and log offsets are shown |

    `topics` (a regular expression that matches whole names) and `partitions` (like `0,3-5`) select some of its
    partitions; empty, they select all.

    **What happens**: Airflow takes a snapshot, and a Spark job plans and checks the change. Someone approves the plan
    (Required Actions). Only then is the connector stopped, altered, read back and resumed in its prior state, which
    takes seconds. If anything fails, its prior offsets and state are restored, and the run fails. Each run writes a
    report; the tasks' logs name it.
    """
    task_groups.guarded_offset_change(**values)

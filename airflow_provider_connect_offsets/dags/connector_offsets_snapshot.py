"""Keep snapshots of all connectors of a Connect cluster, and report what changed since the last one."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from airflow_provider_connect_offsets import task_groups
from airflow_provider_connect_offsets.dags.ready import ready_dag
from airflow_provider_connect_offsets.task_groups.snapshots import SNAPSHOT


@ready_dag(
    *SNAPSHOT,
    description="Keep snapshots of all connectors' offsets, and report what changed since the last one",
    schedule="@daily",
    start_date=datetime(2026, 1, 1, tzinfo=UTC),
    max_active_runs=1,
)
def connector_offsets_snapshot(**values: Any) -> None:
    """### Keep the offsets of all connectors, and see what changed

    Each run reads configuration, state and offsets of every connector whose whole name matches `connectors`, and the
    ends of the logs that they read, and keeps them. It changes nothing. A Spark job compares the snapshot with the one
    before:

    | rule | found if |
    |---|---|
    | `vanished` | an offset, or a whole connector, is gone |
    | `moved_back` | a position is before the earlier one |
    | `beyond_log_end` | a position is beyond the end of its log |
    | `jumped` | a position moved on by more than `max_jump` records |
    | `stuck` | a connector was RUNNING both times with records left to read, and did not move |
    | `unread` | offsets or log ends could not be read |
    | `appeared` | a partition has an offset for the first time |

    The run fails if a rule in `fail_on` has a finding, after the snapshot was kept and the report written. The last
    `keep` snapshots stay, and of those only the ones younger than `keep_for`. `connector_offsets_restore` restores one.
    """
    task_groups.connector_snapshot(**values)

"""Put consumer groups back to what they were before a failover committed."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from airflow.sdk import DAG

from airflow_provider_connect_offsets.dags.ready import ready_dag
from airflow_provider_connect_offsets.operators.groups import RestoreGroupOffsetsOperator
from airflow_provider_connect_offsets.task_groups.failover_params import restore_params
from airflow_provider_connect_offsets.task_groups.form import as_arguments

DOC = """
### The way back from a failover

Every group that the failover has moved gets the offsets that it had on the target before; one that had none loses them
again. All is read back. A group that anyone is in, or that has gone on since, is left as it is, and the run fails and
names it.
"""


def mirror_failover_restore(**given: Any) -> DAG:
    """Make the DAG; ``given`` are arguments of ``airflow.sdk.DAG`` that replace the defaults, ``params`` by name."""
    params = restore_params()
    with ready_dag(
        "mirror_failover_restore",
        description="Put consumer groups back to what they were before a failover",
        doc=DOC,
        params=params,
        given=given,
        max_active_runs=1,
        tags=["mirrormaker2"],
    ) as dag:
        RestoreGroupOffsetsOperator(
            task_id="restore",
            retries=2,
            retry_delay=timedelta(seconds=10),
            **as_arguments(params),
        )
    return dag

"""Put consumer groups back to what they were before a failover committed."""

from __future__ import annotations

from datetime import timedelta

from airflow.sdk import DAG, Param

from airflow_provider_connect_offsets.operators.groups import RestoreGroupOffsetsOperator
from airflow_provider_connect_offsets.task_groups.params import text

DOC = """
### The way back from a failover

Every group that the failover has moved gets the offsets that it had on the target before; one that had none loses them
again. All is read back. A group that anyone is in, or that has gone on since, is left as it is, and the run fails and
names it.
"""

with DAG(
    dag_id="mirror_failover_restore",
    description="Put consumer groups back to what they were before a failover",
    doc_md=DOC,
    schedule=None,
    catchup=False,
    max_active_runs=1,
    default_args={"owner": "connect-offsets", "execution_timeout": timedelta(hours=1)},
    params={
        "run_uri": Param(
            type="string",
            minLength=1,
            title="Run",
            description="Directory of the failover's final translation, as its message and its page name it (…/final).",
        ),
        "target_kafka_conn_id": text("Target", "Airflow connection of the target cluster.", default="kafka_target"),
    },
    render_template_as_native_obj=False,
    tags=["kafka-connect", "mirrormaker", "offsets"],
) as dag:
    RestoreGroupOffsetsOperator(
        task_id="restore",
        run_uri="{{ params.run_uri }}",
        target_kafka_conn_id="{{ params.target_kafka_conn_id }}",
        retries=2,
        retry_delay=timedelta(seconds=10),
    )

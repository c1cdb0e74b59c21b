"""Two of the provider's tasks: the run directory of the first has a report, that of the second has none."""

from __future__ import annotations

from datetime import UTC, datetime

from airflow.sdk import DAG, Param

from airflow_provider_connect_offsets.operators.readiness import RequireMirrorReadyOperator

with DAG(
    "report_links",
    start_date=datetime(2026, 1, 1, tzinfo=UTC),
    schedule=None,
    params={"run_uri": Param("", type="string")},
):
    for name in ("reported", "unreported"):
        uri = f"{{{{ params.run_uri }}}}/{name}"
        RequireMirrorReadyOperator(
            task_id=name, summary={"run_uri": uri, "report": f"{uri}/report.html", "ready": "yes"}
        )

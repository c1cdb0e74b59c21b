"""As in docs/use-cases/poison-record.md: a sink that fails starts the search for the record by itself."""

from __future__ import annotations

from typing import Any

from airflow.providers.standard.operators.trigger_dagrun import TriggerDagRunOperator
from airflow.sdk import DAG, Asset, AssetWatcher, task

from airflow_provider_connect_offsets.dags import connector_offsets_poison
from airflow_provider_connect_offsets.triggers.watching import ConnectorFailedTrigger

trigger = ConnectorFailedTrigger(connectors="poisoned-.*", every=1.0)
failed = Asset("failed_sinks", watchers=[AssetWatcher(name="failed_sinks", trigger=trigger)])

with DAG("search_poison_record", schedule=failed) as search:

    @task
    def requests(triggering_asset_events: Any = None) -> list[dict[str, str]]:
        """Return the Params of a run for each sink that has failed."""
        failures = [event.extra["payload"]["connector"] for event in triggering_asset_events[failed]]
        return [{"connector": name, "kafka_conn_id": "kafka_target"} for name in sorted(set(failures))]

    TriggerDagRunOperator.partial(task_id="search", trigger_dag_id="connector_offsets_poison").expand(conf=requests())

poison = connector_offsets_poison()

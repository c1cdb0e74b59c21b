import os
from typing import Any

from airflow.sdk import DAG, task

from airflow_provider_connect_offsets.assets import connector_asset

SINK = connector_asset(os.environ.get("CONNECT_CLUSTER", "MkU3OEVBNTcwNTJENDM2Qg"), "orders-sink")


with DAG("totals_again", schedule=[SINK]) as dag:

    @task.short_circuit
    def is_rewound(*, triggering_asset_events: Any = None) -> bool:
        """Go on only if some partition was moved back."""
        return any(event.extra["moved_back"] for event in triggering_asset_events[SINK])

    @task
    def aggregate(*, triggering_asset_events: Any = None) -> dict[str, int]:
        """Aggregate anew from the lowest position of each topic; here it only returns them."""
        change = triggering_asset_events[SINK][-1].extra
        return {topic: positions["lowest"] for topic, positions in change["after"].items()}

    is_rewound() >> aggregate()

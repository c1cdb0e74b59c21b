"""Asset events in the database of the Airflow that runs in this process."""

from __future__ import annotations

from typing import Any


def asset_events(run: str) -> dict[str, dict[str, Any]]:
    """The extra of each event that names this run, by the asset's URI; an asset has one at most."""
    from airflow.models.asset import AssetEvent
    from airflow.utils.session import create_session

    found: dict[str, dict[str, Any]] = {}
    with create_session() as session:
        for event in session.query(AssetEvent):
            if event.extra.get("run") == run:
                assert event.asset.uri not in found
                found[event.asset.uri] = event.extra
    return found

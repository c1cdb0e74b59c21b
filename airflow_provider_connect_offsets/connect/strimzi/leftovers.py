"""What a client has added to resources for a while, and removes at its end."""

from __future__ import annotations

import logging
from typing import Any

from airflow_provider_connect_offsets.connect.strimzi.config_maps import names_ours, own_fields
from airflow_provider_connect_offsets.connect.strimzi.kubernetes_api import KubernetesApi
from airflow_provider_connect_offsets.connect.strimzi.operation import OffsetOperations
from airflow_provider_connect_offsets.connect.strimzi.places import Place
from airflow_provider_connect_offsets.connect.strimzi.resources import NUDGE, REQUESTED_BY, pointer
from airflow_provider_connect_offsets.exceptions import StoreError, UnknownConnector

log = logging.getLogger(__name__)


class Leftovers:
    """The resources that a client has changed: its annotations, and its ConfigMaps with their names, are removed again.

    Args:
        api: The API server.
        operations: The client's operations.
    """

    def __init__(self, api: KubernetesApi, operations: OffsetOperations) -> None:
        self._api = api
        self._operations = operations
        self._connectors: set[str] = set()

    def expect(self, connector: str) -> None:
        """Remember the resource of a connector, to clean it up at the end."""
        self._connectors.add(connector)

    def forget(self, connector: str) -> None:
        """Leave the resource of a connector out, because it is deleted."""
        self._connectors.discard(connector)

    def remove(self) -> None:
        """Remove everything; log and leave what can't be removed, since the change itself is over."""
        self._operations.documents.restore()
        for connector in sorted(self._connectors):
            try:
                self._remove(connector)
            except UnknownConnector as error:
                log.info("%s There is nothing to remove.", error)
            except StoreError as error:
                log.warning(
                    "%s Added fields and annotations stay in the connector's resource until the next change.", error
                )
        self._connectors.clear()

    def _remove(self, connector: str) -> None:
        before = self._operations.patch(connector, _removals).resource
        if names_ours(before) and not names_ours(self._api.read(before.kind, before.name)):
            self._operations.await_passes(connector)  # a late listing would create our ConfigMap again
            self._operations.documents.remove(before)


def _removals(place: Place) -> list[dict[str, Any]]:
    """Return the JSON patch that removes our annotations, and our ConfigMaps' names from the connector's settings."""
    fields = [place.pointer(field) for field in own_fields(place)]
    ours = [name for name in (REQUESTED_BY, NUDGE) if name in place.resource.annotations]
    paths = [*fields, *(pointer("metadata", "annotations", name) for name in ours)]
    return [{"op": "remove", "path": path} for path in paths]

"""The ``KafkaConnect`` or ``KafkaMirrorMaker2`` that a client works on, and the places of its connectors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property

from airflow_provider_connect_offsets.clock import SYSTEM_CLOCK, Clock
from airflow_provider_connect_offsets.connect.rest.bodies import plugins_of
from airflow_provider_connect_offsets.connect.strimzi import preconditions
from airflow_provider_connect_offsets.connect.strimzi.kubernetes_api import KubernetesApi
from airflow_provider_connect_offsets.connect.strimzi.places import Place, find_place, places_in
from airflow_provider_connect_offsets.connect.strimzi.resources import (
    CLUSTER_LABEL,
    CustomResource,
    ResourceKind,
)
from airflow_provider_connect_offsets.connect.strimzi.watching import await_resource
from airflow_provider_connect_offsets.exceptions import AccessDenied, InvalidInput, UnknownConnector, Unsupported
from airflow_provider_connect_offsets.offsets.families import ConnectorType

# Seconds for which a resource that was seen is not read again. What the operator has observed may be far older.
_MOMENT = 0.5
_CLUSTERS = {one.title: one for one in (ResourceKind.CONNECT, ResourceKind.MIRROR_MAKER)}


class StrimziCluster:
    """A cluster of Connect workers, and the resources of its connectors.

    Args:
        api: The API server.
        name: Name of its resource, ``kind/name``, or empty for the only one of the namespace.
        clock: Measures how long ago a resource was seen.
    """

    def __init__(self, api: KubernetesApi, name: str, *, clock: Clock = SYSTEM_CLOCK) -> None:
        self._api = api
        self._name = name
        self._known: dict[str, Place] = {}
        self._clock = clock
        self._seen: dict[str, tuple[CustomResource, float]] = {}

    def remember(self, connector: str, resource: CustomResource) -> None:
        """Keep the resource as a patch or a watch of ours has just shown it."""
        self._seen[connector] = resource, self._clock.now()

    def forget(self, connector: str) -> None:
        """Read the resource again the next time."""
        self._seen.pop(connector, None)

    def latest_resource(self, connector: str) -> CustomResource:
        """Return the resource as it was seen a moment ago, from which it can be watched; else read it."""
        resource, at = self._seen.get(connector, (None, 0.0))
        if resource is None or self._clock.now() - at > _MOMENT:
            return self.locate(connector).resource
        return resource

    def await_resource(
        self,
        connector: str,
        until: Callable[[CustomResource], bool],
        *,
        timeout: float,
        clock: Clock,
        nudge: tuple[float, Callable[[CustomResource], object]] | None = None,
    ) -> CustomResource:
        """Watch the resource of a connector; arguments and errors as in :func:`watching.await_resource`."""

        def read() -> CustomResource:
            resource = self.latest_resource(connector)
            self.forget(connector)  # a watch that has ended says that it may have changed
            return resource

        resource = await_resource(self._api, read, until, timeout=timeout, clock=clock, nudge=nudge)
        self.remember(connector, resource)
        return resource

    def known_place(self, connector: str) -> Place | None:
        """Return the place of a connector as it was read last; None if it never was."""
        return self._known.get(connector)

    @cached_property
    def resource(self) -> CustomResource:
        """The cluster's resource as it was first read; raises :class:`InvalidInput` if none or several fit."""
        kind, _, name = self._name.rpartition("/")
        if kind and kind not in _CLUSTERS:
            raise InvalidInput(
                f"{self._name!r} can't be a cluster: the kind before '/' must be one of {', '.join(_CLUSTERS)}."
            )
        kinds = [_CLUSTERS[kind]] if kind else list(_CLUSTERS.values())
        try:
            named = [(one, name) for one in kinds] if name else self._used_clusters()
            found = [resource for one in named if (resource := self._api.find(*one)) is not None]
        except AccessDenied:
            preconditions.refuse_without(preconditions.offset_rights(ResourceKind.CONNECTOR), self._api)
            raise
        if len(found) == 1:
            return found[0]
        names = ", ".join(f"{one.kind.title}/{one.name}" for one in found)
        there_is = f"more than one cluster ({names})" if found else "no KafkaConnect and no KafkaMirrorMaker2"
        which = f"named {name!r}" if name else "with connectors"
        raise InvalidInput(
            f"In namespace {self._api.namespace!r} there is {there_is} {which}. "
            "Name the cluster in strimzi_cluster of the Connect connection, like my-connect or "
            "KafkaMirrorMaker2/my-mirror."
        )

    @property
    def connector_kind(self) -> ResourceKind:
        """Kind of the resources that define its connectors."""
        is_mirror_maker = self.resource.kind is ResourceKind.MIRROR_MAKER
        return ResourceKind.MIRROR_MAKER if is_mirror_maker else ResourceKind.CONNECTOR

    def locate(self, connector: str) -> Place:
        """Read the place of a connector; raises :class:`UnknownConnector`."""
        self._known[connector] = self._read(connector)
        self.remember(connector, self._known[connector].resource)
        return self._known[connector]

    def _read(self, connector: str) -> Place:
        if self.connector_kind is ResourceKind.MIRROR_MAKER:
            return find_place(self._api.read(ResourceKind.MIRROR_MAKER, self.resource.name), connector)
        resource = self._api.find(ResourceKind.CONNECTOR, connector)
        if resource is None:
            raise UnknownConnector(
                f"There is no KafkaConnector {connector!r} in namespace {self._api.namespace!r}. A connector without a "
                "resource can't be changed through Strimzi."
            )
        if resource.cluster and resource.cluster != self.resource.name:
            raise UnknownConnector(
                f"{resource} belongs to KafkaConnect {resource.cluster!r} according to its label {CLUSTER_LABEL}, not "
                f"to {self.resource.name!r}."
            )
        return find_place(resource, connector)

    def places(self) -> Iterator[Place]:
        """Read where each connector of the cluster is defined: its resource, and the path in it."""
        if self.connector_kind is ResourceKind.MIRROR_MAKER:
            yield from places_in(self._api.read(ResourceKind.MIRROR_MAKER, self.resource.name))
            return
        for resource in self._api.list(ResourceKind.CONNECTOR, cluster=self.resource.name):
            yield from places_in(resource)

    def plugins(self) -> dict[str, ConnectorType]:
        """Return the connector classes in the status of a ``KafkaConnect``, with their types."""
        resource = self._api.read(self.resource.kind, self.resource.name)
        return plugins_of(resource.status.get("connectorPlugins") or ())

    def require_kafka_connect(self, connector: str) -> None:
        """Raise :class:`Unsupported` for a ``KafkaMirrorMaker2``, which creates and deletes its connectors itself."""
        if self.resource.kind is not ResourceKind.CONNECT:
            raise Unsupported(
                f"Nothing was changed: connector {connector!r} is part of {self.resource}. Create or delete it there, "
                "under spec.mirrors."
            )

    def _used_clusters(self) -> list[tuple[ResourceKind, str]]:
        """Return the clusters of the namespace that have a connector; a Role need not allow to list KafkaConnects."""
        connects = {one.cluster for one in self._api.list(ResourceKind.CONNECTOR)} - {""}
        mirrors = [one.name for one in self._api.list(ResourceKind.MIRROR_MAKER)]
        return [
            *((ResourceKind.CONNECT, name) for name in sorted(connects)),
            *((ResourceKind.MIRROR_MAKER, name) for name in mirrors),
        ]

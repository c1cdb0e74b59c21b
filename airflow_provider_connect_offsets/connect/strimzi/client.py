"""A Connect cluster that Strimzi runs: its connectors and their offsets, by custom resources alone."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, Self

import tenacity

from airflow_provider_connect_offsets.clock import SYSTEM_CLOCK, Clock, retrying
from airflow_provider_connect_offsets.connect.protocols import (
    ConnectorInfo,
    ConnectorOverview,
    ConnectorStatus,
    State,
    StatusTest,
    WriteReply,
)
from airflow_provider_connect_offsets.connect.strimzi import preconditions
from airflow_provider_connect_offsets.connect.strimzi.by_hand import CommandsByHand
from airflow_provider_connect_offsets.connect.strimzi.clusters import StrimziCluster
from airflow_provider_connect_offsets.connect.strimzi.config_maps import names_ours
from airflow_provider_connect_offsets.connect.strimzi.kubernetes_api import KubernetesApi, Right
from airflow_provider_connect_offsets.connect.strimzi.leftovers import Leftovers
from airflow_provider_connect_offsets.connect.strimzi.operation import OffsetOperations
from airflow_provider_connect_offsets.connect.strimzi.patches import created_resource, replaced_config, requesting
from airflow_provider_connect_offsets.connect.strimzi.places import Place, place_of
from airflow_provider_connect_offsets.connect.strimzi.refusals import is_refused
from airflow_provider_connect_offsets.connect.strimzi.resources import NUDGE, CustomResource, ResourceKind
from airflow_provider_connect_offsets.connect.strimzi.watching import awaited
from airflow_provider_connect_offsets.exceptions import Conflict, NotReconciled, Rejected, UnknownConnector
from airflow_provider_connect_offsets.offsets.document import Offsets
from airflow_provider_connect_offsets.offsets.families import ConnectorType

log = logging.getLogger(__name__)

# Seconds for which a state is awaited before the operator is made to look again; by itself it does every two minutes.
_LOOK_AGAIN = 3.0


class ConnectStrimzi(CommandsByHand):
    """The connectors of one ``KafkaConnect`` or ``KafkaMirrorMaker2``: an offset store, a control and a registry.

    Use it as a context manager: at the end it removes what it has added to resources, and its ConfigMaps. One thread
    uses it at a time.

    Args:
        api: ``kubernetes.client.ApiClient``; whoever opened it closes it.
        namespace: Namespace of the resources.
        cluster: Name of the resource, or ``KafkaMirrorMaker2/name`` where a ``KafkaConnect`` has the same name; empty:
            the only one of the namespace.
        timeout: Seconds to wait for each thing that the operator does. It acts within a second on most events, but
            looks by itself every two minutes only, so less than 300 may be too short.
        clock: Measures them.

    Raises:
        StoreError: From every method, by meaning: ``Unreachable``, ``AccessDenied``, ``UnknownConnector``,
            ``NotReconciled`` (the operator does nothing, and why), ``Rejected``, ``Unsupported``; from changing ones
            also ``NotStopped`` and ``OutcomeUnknown`` (read back then).
    """

    def __init__(
        self, api: Any, *, namespace: str, cluster: str = "", timeout: float = 300.0, clock: Clock = SYSTEM_CLOCK
    ) -> None:
        self._api = KubernetesApi(api, namespace)
        self._cluster = StrimziCluster(self._api, cluster)
        self._timeout = timeout
        self._clock = clock
        self._operations = OffsetOperations(self._api, self._cluster.locate, timeout=timeout, clock=clock)
        self._leftovers = Leftovers(self._api, self._operations)
        self._granted: set[Right] = set()
        super().__init__(self._cluster)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Remove what this client has added to resources; what can't be removed is logged, the next client does it."""
        self._leftovers.remove()

    @property
    def cluster_id(self) -> str:
        """What journals, datasets and assets name the Connect cluster by: name, namespace and part of its uid."""
        resource = self._cluster.resource
        return f"{resource.name}.{resource.namespace}.{resource.uid[:8]}"

    def describe(self) -> str:
        """Return a sentence about the cluster, for the test of a connection."""
        return (
            f"Strimzi's {self._cluster.resource}, resources of version {self._api.version}; connectors: "
            f"{len(self.connectors())}."
        )

    # Control.

    def require_offset_changes(self) -> None:
        """Raise :class:`AccessDenied` if the rights for offset operations are missing; names all that are."""
        self._require(preconditions.offset_rights(self._cluster.connector_kind))

    def require_state_changes(self) -> None:
        """Raise :class:`AccessDenied` if the rights to stop and resume connectors are missing."""
        self._require(preconditions.state_rights(self._cluster.connector_kind))

    def connectors(self) -> list[str]:
        """Return the names of all connectors that have a resource, sorted."""
        return sorted(place.connector for place in self._cluster.places())

    def overview(self) -> dict[str, ConnectorOverview]:
        """Return all connectors whose state and type the operator has observed."""
        observed = {place.connector: (place, place.status()) for place in self._cluster.places()}
        return {
            name: ConnectorOverview(place.info(self.plugins), status)
            for name, (place, status) in observed.items()
            if status is not None
        }

    def info(self, connector: str) -> ConnectorInfo:
        """Return type and configuration, as the resource has them; secrets in it are mostly references."""
        return self._cluster.locate(connector).info(self.plugins)

    def status(self, connector: str) -> ConnectorStatus:
        """Return the state that the operator has observed last; waits until it has acted on the resource as it is."""
        return self.await_status(connector, lambda _: True, timeout=self._timeout, clock=self._clock)

    def await_status(self, connector: str, until: StatusTest, *, timeout: float, clock: Clock) -> ConnectorStatus:
        """Watch the resource for a state; return the first that ``until`` accepts, or the last after ``timeout``.

        Raises:
            Rejected: The operator could not bring the resource into Connect; the message has its reason.
            NotReconciled: It has not acted on the resource at all.
        """

        def reached(resource: CustomResource) -> bool:
            status = _status_in(resource, connector)
            return is_refused(resource) if status is None else until(status)

        resource = awaited(
            self._api,
            lambda: self._cluster.locate(connector).resource,
            reached,
            timeout=timeout,
            clock=clock,
            nudge=(_LOOK_AGAIN, lambda one: self._look_again(connector, one)),
        )
        status = _status_in(resource, connector)
        if status is None:
            raise _no_status(resource, connector, timeout)
        return status

    def stop(self, connector: str) -> None:
        """Request STOPPED in the resource."""
        self._request(connector, State.STOPPED)

    def pause(self, connector: str) -> None:
        """Request PAUSED in the resource."""
        self._request(connector, State.PAUSED)

    def resume(self, connector: str) -> None:
        """Request RUNNING in the resource; a state that was not set before we set one is removed again."""
        self._request(connector, State.RUNNING)

    # Offsets.

    def read_offsets(self, connector: str) -> Offsets:
        """Return all offsets of a connector, by one offset operation."""
        self._begin_operation(connector)
        return self._operations.list(connector)

    def write_offsets(self, connector: str, changes: Offsets) -> WriteReply:
        """Overwrite the listed partitions (offset None removes) of a STOPPED connector. Does not read back."""
        self._begin_operation(connector)
        self._operations.alter(connector, changes)
        return WriteReply("")  # the operator does not pass on what Connect replies

    def reset_offsets(self, connector: str) -> WriteReply:
        """Remove all offsets of a STOPPED connector. Does not read back."""
        self._begin_operation(connector)
        self._operations.reset(connector)
        return WriteReply("")

    # Registry.

    def plugins(self) -> dict[str, ConnectorType]:
        """Return the connector classes that the operator has found on the workers, with their types."""
        return self._cluster.plugins()

    def create(self, name: str, config: Mapping[str, str], *, initial_state: State = State.RUNNING) -> ConnectorInfo:
        """Create a ``KafkaConnector``; if Connect refuses it, it is deleted again.

        Raises:
            InvalidInput: Kubernetes allows no resource of that name.
            Rejected: A connector of that name exists, or Connect refuses the configuration.
            Unsupported: The cluster is a ``KafkaMirrorMaker2``, whose connectors are parts of one resource.
        """
        self._require(preconditions.existence_rights())
        body = created_resource(name, config, cluster=self._cluster.for_creation(name), state=initial_state)
        try:
            self._api.create(ResourceKind.CONNECTOR, body)
        except Conflict as error:
            raise Rejected(f"Nothing was created: a KafkaConnector {name!r} exists. {error}") from error
        try:
            self.status(name)
        except Rejected:
            self._api.delete(ResourceKind.CONNECTOR, name)
            raise
        return self.info(name)

    def update_config(self, name: str, config: Mapping[str, str]) -> ConnectorInfo:
        """Replace the whole configuration in the resource, and wait until Connect has it; the state stays."""
        self._patched(name, lambda place: replaced_config(place, config))
        self.status(name)
        return self.info(name)

    def delete(self, name: str) -> None:
        """Delete the ``KafkaConnector``; the operator then deletes the connector. A source's offsets stay stored."""
        self._require(preconditions.existence_rights())
        place = self._operations.quiet(name)
        self._cluster.for_creation(name)
        self._leftovers.forget(name)
        if names_ours(place.resource):
            self._operations.remove_document(place.resource)
        self._api.delete(ResourceKind.CONNECTOR, name)

    def _begin_operation(self, connector: str) -> None:
        self.require_offset_changes()
        place = self._cluster.locate(connector)
        preconditions.refuse_idle(place.resource, self._api)
        self._leftovers.expect(connector)

    def _request(self, connector: str, state: State) -> None:
        self.require_state_changes()
        preconditions.refuse_idle(self._cluster.locate(connector).resource, self._api)
        self._leftovers.expect(connector)
        self._patched(connector, lambda place: requesting(place, state))

    def _patched(self, connector: str, changes: Callable[[Place], list[dict[str, Any]]]) -> None:
        """Apply a JSON patch that is made anew if the resource changed meanwhile; none while an operation stands."""

        def patch() -> None:
            place = self._operations.quiet(connector)
            operations = changes(place)
            if operations:
                self._api.patch(place.resource, [*place.guards(), *operations])

        retrying(tenacity.retry_if_exception_type(Conflict), timeout=self._timeout, clock=self._clock)(patch)

    def last_read(self, connector: str) -> CustomResource | None:
        """Return the resource of a connector as it was read last; None if it never was."""
        place = self._cluster.known(connector)
        return None if place is None else place.resource

    def look_again(self, connector: str) -> None:
        """Make the operator look at a resource that it has acted on: the state in Connect may have changed since."""
        self._look_again(connector, self._cluster.locate(connector).resource)

    def _look_again(self, connector: str, resource: CustomResource) -> None:
        if not resource.is_observed:
            return
        self._leftovers.expect(connector)
        try:
            self._api.annotate(resource, {NUDGE: str(round(self._clock.now() * 1000))})
        except Conflict as error:
            log.debug("%s It is looked at anyway.", error)

    def _require(self, rights: tuple[Right, ...]) -> None:
        preconditions.refuse_without(sorted(set(rights) - self._granted, key=rights.index), self._api)
        self._granted.update(rights)


def _status_in(resource: CustomResource, connector: str) -> ConnectorStatus | None:
    """Return the observed status; None as long as the operator has not acted on the resource as it is."""
    place = place_of(resource, connector)
    if place is None:
        raise UnknownConnector(f"{resource} has no connector {connector!r} any more.")
    return place.status() if resource.is_observed else None


def _no_status(resource: CustomResource, connector: str, timeout: float) -> Rejected | NotReconciled:
    if is_refused(resource):
        return Rejected(f"Strimzi could not bring connector {connector!r} into Connect.{resource.said()}")
    waited = f"in {timeout:g} s" if timeout else "yet"
    return NotReconciled(f"Strimzi's operator has not acted on {resource} {waited}.{resource.said()} Is it running?")

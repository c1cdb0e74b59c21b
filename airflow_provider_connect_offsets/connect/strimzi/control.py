"""The states of connectors that Strimzi runs: observed by watching their resources, and requested in them."""

from __future__ import annotations

import logging
from typing import Any, ClassVar

from airflow_provider_connect_offsets.clock import SYSTEM_CLOCK, Clock
from airflow_provider_connect_offsets.connect.protocols import (
    ConnectorInfo,
    ConnectorOverview,
    ConnectorStatus,
    State,
    StatusTest,
)
from airflow_provider_connect_offsets.connect.strimzi import preconditions
from airflow_provider_connect_offsets.connect.strimzi.clusters import StrimziCluster
from airflow_provider_connect_offsets.connect.strimzi.kubernetes_api import KubernetesApi, Right
from airflow_provider_connect_offsets.connect.strimzi.leftovers import Leftovers
from airflow_provider_connect_offsets.connect.strimzi.operation import OffsetOperations
from airflow_provider_connect_offsets.connect.strimzi.patches import state_patch
from airflow_provider_connect_offsets.connect.strimzi.places import find_place, place_of
from airflow_provider_connect_offsets.connect.strimzi.refusals import is_refused
from airflow_provider_connect_offsets.connect.strimzi.resources import NUDGE, CustomResource
from airflow_provider_connect_offsets.exceptions import (
    Conflict,
    NotReconciled,
    OutcomeUnknown,
    Rejected,
    UnknownConnector,
    Unreachable,
)
from airflow_provider_connect_offsets.offsets.families import ConnectorType

log = logging.getLogger(__name__)

# Seconds for which a state is awaited before the operator is first made to check again; by itself it does so every two
# minutes. After a resume it often writes the old state once more, while the connector is not counted as up.
_LOOK_AGAIN = 0.5


class StrimziControl:
    """Observes connectors by their resources, and requests their states.

    Args:
        api: ``kubernetes.client.ApiClient``; whoever opened it closes it.
        namespace: Namespace of the resources.
        cluster: Name of the cluster's resource.
        timeout: Seconds to wait for each thing that the operator does.
        clock: Measures the timeout.
    """

    by_resource: ClassVar[bool] = True

    def __init__(
        self, api: Any, *, namespace: str, cluster: str = "", timeout: float = 300.0, clock: Clock = SYSTEM_CLOCK
    ) -> None:
        self._opened, self._named = api, cluster
        self._api = KubernetesApi(api, namespace)
        self._cluster = StrimziCluster(self._api, cluster, clock=clock)
        self._timeout = timeout
        self._clock = clock
        self._operations = OffsetOperations(self._api, self._cluster, timeout=timeout, clock=clock)
        self._leftovers = Leftovers(self._api, self._operations)
        self._granted: set[Right] = set()
        self._acted_on: set[str] = set()

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

    def plugins(self) -> dict[str, ConnectorType]:
        """Return the connector classes that the operator has found on the workers, with their types."""
        return self._cluster.plugins()

    def info(self, connector: str) -> ConnectorInfo:
        """Return type and configuration from the resource; secrets in it are mostly references."""
        return find_place(self._cluster.latest_resource(connector), connector).info(self.plugins)

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

        nudge = (_LOOK_AGAIN, lambda one: self._look_again(connector, one))
        resource = self._cluster.await_resource(connector, reached, timeout=timeout, clock=clock, nudge=nudge)
        status = _status_in(resource, connector)
        if status is None:
            raise _refusal_without_status(resource, connector, timeout)
        return status

    def stop(self, connector: str) -> None:
        """Request STOPPED in the resource."""
        self._request(connector, State.STOPPED)

    def pause(self, connector: str) -> None:
        """Request PAUSED in the resource."""
        self._request(connector, State.PAUSED)

    def resume(self, connector: str) -> None:
        """Request RUNNING in the resource; if it had no state before we set one, remove the state again."""
        self._request(connector, State.RUNNING)

    def _request(self, connector: str, state: State) -> None:
        self.require_state_changes()
        self._require_operator(connector)
        self._leftovers.expect(connector)
        self._operations.patch(connector, lambda place: state_patch(place, state))

    def addresses(self, connector: str) -> frozenset[str]:
        """Return an empty set: the resource names the cluster in journals, and no other cluster has that name."""
        del connector
        return frozenset()

    def by_hand(self, connector: str, state: State) -> str:
        """Name the command that requests RUNNING, PAUSED or STOPPED, based on the resource as it was read last."""
        value, place = state.value.lower(), self._cluster.known_place(connector)
        if place is None:
            return f"set the state of connector {connector!r} to {value} in its resource"
        patch = f'[{{"op":"add","path":"{place.pointer("state")}","value":"{value}"}}]'
        return f"run {self._kubectl('patch', connector)} --type json -p '{patch}'"

    def configure_by_hand(self, name: str) -> str:
        """Name the command that changes a configuration."""
        return f"run {self._kubectl('edit', name)}"

    def delete_by_hand(self, name: str) -> str:
        """Name the command that deletes a connector."""
        return f"run {self._kubectl('delete', name)}"

    def _kubectl(self, verb: str, connector: str) -> str:
        place = self._cluster.known_place(connector)
        named = (
            f"kafkaconnector {connector}" if place is None else f"{place.resource.kind.plural} {place.resource.name}"
        )
        return f"kubectl {verb} -n {self._api.namespace} {named}"

    def last_resource(self, connector: str) -> CustomResource | None:
        """Return the resource of a connector as it was read last; None if it never was."""
        place = self._cluster.known_place(connector)
        return None if place is None else place.resource

    def look_again(self, connector: str) -> None:
        """Make the operator check a resource again: the state in Connect may have changed since it acted on it."""
        self._look_again(connector, self._cluster.locate(connector).resource)

    def _look_again(self, connector: str, resource: CustomResource) -> None:
        if not resource.is_observed or resource.has_operation:
            return
        self._leftovers.expect(connector)
        try:
            self._api.annotate(resource, {NUDGE: str(round(self._clock.now() * 1000))})
        except (Conflict, Unreachable, OutcomeUnknown) as error:
            log.info("%s Still waiting.", error)

    def _require_operator(self, connector: str) -> None:
        """Refuse a resource that the operator does not act on; check only once, so not while the connector is down."""
        if connector not in self._acted_on:
            preconditions.refuse_idle(self._cluster.locate(connector).resource, self._api)
            self._acted_on.add(connector)

    def _require(self, rights: tuple[Right, ...]) -> None:
        preconditions.refuse_without([right for right in rights if right not in self._granted], self._api)
        self._granted.update(rights)


def _status_in(resource: CustomResource, connector: str) -> ConnectorStatus | None:
    """Return the observed status; None as long as the operator has not acted on the resource as it is."""
    place = place_of(resource, connector)
    if place is None:
        raise UnknownConnector(f"{resource} no longer has a connector {connector!r}.")
    return place.status() if resource.is_observed else None


def _refusal_without_status(resource: CustomResource, connector: str, timeout: float) -> Rejected | NotReconciled:
    if is_refused(resource):
        text = f"Strimzi could not apply the resource of connector {connector!r} to Kafka Connect."
        return Rejected(f"{text}{resource.describe_conditions()}")
    waited = f"in {timeout:g} s" if timeout else "yet"
    said = f"{resource} {waited}.{resource.describe_conditions()}"
    return NotReconciled(f"Strimzi's operator has not acted on {said} Is the operator running?")

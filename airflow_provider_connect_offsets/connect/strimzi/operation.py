"""Offset operations of Strimzi: an annotation requests an operation, its removal or a condition is the answer.

The order is Strimzi's contract (``AbstractConnectOperator``; the wait for the removal, and why a failed one is
withdrawn, in docs/strimzi.md):

1. Wait until the operator has acted on the resource, no operation is pending, and no warning of an earlier one is left.
2. Let the resource name a ConfigMap, in a change of its own; wait again.
3. Annotate, on condition that the resource has not changed since. From then on, write nothing to it.
4. The annotation is gone: done, also if the status still says otherwise. There is a warning: failed.
"""

from __future__ import annotations

import json
import logging
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeVar

import tenacity

from airflow_provider_connect_offsets.clock import Clock, make_attempts
from airflow_provider_connect_offsets.connect.strimzi.clusters import StrimziCluster
from airflow_provider_connect_offsets.connect.strimzi.config_maps import Documents, naming_patch
from airflow_provider_connect_offsets.connect.strimzi.kubernetes_api import KubernetesApi
from airflow_provider_connect_offsets.connect.strimzi.patches import annotation_patch
from airflow_provider_connect_offsets.connect.strimzi.places import Place, find_place
from airflow_provider_connect_offsets.connect.strimzi.refusals import (
    NO_DOCUMENT,
    offset_failures,
    offset_warnings,
    refusal_of,
)
from airflow_provider_connect_offsets.connect.strimzi.resources import (
    OFFSETS,
    OFFSETS_OF,
    REQUESTED_BY,
    CustomResource,
    ResourceKind,
)
from airflow_provider_connect_offsets.exceptions import (
    Conflict,
    InvalidDocument,
    NotReconciled,
    OutcomeUnknown,
    Rejected,
    StoreError,
    Unreachable,
)
from airflow_provider_connect_offsets.offsets.document import Offsets, load_json, parse_rest
from airflow_provider_connect_offsets.offsets.json_codec import JsonRecord

log = logging.getLogger(__name__)
T = TypeVar("T")
# Seconds at the end of a task for passes that the operator still owes.
_LAST_PASSES = 10.0
_BETWEEN_ATTEMPTS = tenacity.wait_exponential(multiplier=0.05, max=1.0)


class OffsetOperation(StrEnum):
    """The operations, as the annotation names them."""

    LIST = "list"
    ALTER = "alter"
    RESET = "reset"


@dataclass(frozen=True, slots=True)
class Marker(JsonRecord):
    """Which client of ours has requested the pending operation of a resource."""

    client: str
    operation: OffsetOperation
    connector: str

    @classmethod
    def on(cls, resource: CustomResource) -> Marker | None:
        """Return the marker that belongs to the pending operation; None if that is someone else's."""
        annotations = resource.annotations
        try:
            marker = cls.from_json(json.loads(annotations.get(REQUESTED_BY, "")))
        except (ValueError, TypeError, AttributeError):
            return None
        pending = annotations.get(OFFSETS), annotations.get(OFFSETS_OF, marker.connector)
        return marker if pending == (marker.operation, marker.connector) else None


class OffsetOperations:
    """Carries out offset operations, one at a time.

    Args:
        api: The API server.
        cluster: The places of the connectors.
        timeout: Seconds to wait for each thing that the operator does.
        clock: Measures the timeout.

    Attributes:
        documents: The ConfigMaps that the operations read and write.
    """

    def __init__(self, api: KubernetesApi, cluster: StrimziCluster, *, timeout: float, clock: Clock) -> None:
        self._api = api
        self._cluster = cluster
        self._timeout = timeout
        self._clock = clock
        self._client = uuid.uuid4().hex
        self._unfinished = False
        self.documents = Documents(api)

    def list(self, connector: str) -> Offsets:
        """Return the offsets of a connector, whatever its state; raises :class:`NotReconciled` and store errors."""
        text = self._repeat(connector, OffsetOperation.LIST)
        try:
            return parse_rest(load_json(text))
        except (InvalidDocument, ValueError) as error:
            raise Rejected(
                f"Strimzi's list of the offsets of connector {connector!r} can't be read: {error}"
            ) from error

    def alter(self, connector: str, changes: Offsets) -> None:
        """Write offsets of a STOPPED connector; read back after any error but :class:`NotStopped`."""
        self._repeat(connector, OffsetOperation.ALTER, json.dumps(changes.as_json(), ensure_ascii=False))

    def reset(self, connector: str) -> None:
        """Remove all offsets of a STOPPED connector; read back after any error but :class:`NotStopped`."""
        self._repeat(connector, OffsetOperation.RESET)

    def await_quiet(self, connector: str) -> Place:
        """Wait until no operation of the resource is pending, so that it may be changed, and return the place.

        Raises:
            Rejected: An operation is pending that none of our clients has requested.
            NotReconciled: Operations of our other clients follow each other; the first was withdrawn at the timeout.
        """
        return self._await_free(connector, lambda _: True)

    def patch(self, connector: str, changes: Callable[[Place], Sequence[Mapping[str, Any]]]) -> Place:
        """Apply a JSON patch once no operation is pending; make it again if the resource changed meanwhile.

        Raises as :meth:`await_quiet` does, and store errors.

        Returns:
            The place as it was before.
        """

        def patch_place() -> Place:
            place = self.await_quiet(connector)
            operations = changes(place)
            if operations:
                self._patch(place, operations)
            return place

        return self._unless_changed(patch_place)

    def await_passes(self, connector: str) -> None:
        """Wait, for a few seconds at most, until the operator has acted on the resource as it is."""
        seconds = min(self._timeout, _LAST_PASSES)
        self._await_resource(connector, lambda one: one.is_observed, timeout=seconds)

    def _repeat(self, connector: str, operation: OffsetOperation, text: str = "") -> str:
        """Carry out an operation; repeat it if someone changed the resource or deleted the ConfigMap meanwhile."""
        return self._unless_changed(lambda: self._carry_out_once(connector, operation, text))

    def _unless_changed(self, call: Callable[[], T]) -> T:
        """Repeat a call while it fails because someone changed the resource meanwhile."""
        changed = tenacity.retry_if_exception_type(Conflict)
        return make_attempts(changed, timeout=self._timeout, clock=self._clock, wait=_BETWEEN_ATTEMPTS)(call)

    def _carry_out_once(self, connector: str, operation: OffsetOperation, text: str) -> str:
        place = self._name_config_maps(connector, operation)
        if operation is OffsetOperation.ALTER:
            self.documents.write(place, text)
        elif operation is OffsetOperation.LIST:
            self.documents.prepare(place)
        else:
            self.documents.clear(place)
        self._annotate(place, operation)
        self._await(place, operation, text)
        listed = self.documents.listed_text(place) if operation is OffsetOperation.LIST else ""
        if listed is None:
            raise Conflict(f"The ConfigMap with the offsets of connector {connector!r} was deleted: list them again.")
        return listed

    def _name_config_maps(self, connector: str, operation: OffsetOperation) -> Place:
        """Let the resource name our ConfigMap where it names none, and return the place, ready to be annotated."""
        place = self._await_ready(connector)
        if operation is OffsetOperation.RESET:
            return place
        patch = naming_patch(place)
        if patch:
            self._patch(place, patch)
            place = self._await_ready(connector)
        return place

    def _patch(self, place: Place, operations: Sequence[Mapping[str, Any]]) -> CustomResource:
        self._cluster.forget(place.connector)
        patched = self._api.patch(place.resource, [*place.guards(), *operations])
        self._cluster.remember(place.connector, patched)
        return patched

    def _await_ready(self, connector: str) -> Place:
        def is_ready(resource: CustomResource) -> bool:
            return resource.is_observed and not offset_warnings(resource)

        place = self._await_free(connector, is_ready)
        if not is_ready(place.resource):
            raise NotReconciled(
                f"Strimzi's operator did not act on {place.resource} in {self._timeout:g} s, so no offset operation "
                f"was requested.{place.resource.describe_conditions()} Is the operator running?"
            )
        return place

    def _await_free(self, connector: str, also: Callable[[CustomResource], bool]) -> Place:
        """Wait until no operation is pending and ``also`` holds; at the timeout, withdraw the pending operation."""
        if self._unfinished:  # interrupted while it waited
            self._withdraw(connector)
        resource = self._await_resource(connector, lambda one: _is_free(one) and also(one))
        if not _is_free(resource):
            if self._withdraw(connector):
                log.warning(
                    "%s: an operation of another client was still pending after %g s, and was withdrawn.",
                    resource,
                    self._timeout,
                )
            resource = self._await_resource(connector, lambda one: _is_free(one) and also(one))
            if not _is_free(resource):
                raise NotReconciled(
                    f"Nothing was done: other clients keep requesting offset operations of {resource}. Try again later."
                )
        return find_place(resource, connector)

    def _annotate(self, place: Place, operation: OffsetOperation) -> None:
        of = {} if place.resource.kind is ResourceKind.CONNECTOR else {OFFSETS_OF: place.connector}
        requested_by = json.dumps(Marker(self._client, operation, place.connector).as_json())
        self._unfinished = True
        annotated = self._patch(
            place, annotation_patch(place.resource, {OFFSETS: operation.value, **of, REQUESTED_BY: requested_by})
        )
        if offset_warnings(annotated):
            self._withdraw(place.connector)
            raise Conflict(f"{annotated} still had a warning of an earlier operation when an operation was requested.")

    def _await(self, place: Place, operation: OffsetOperation, text: str) -> None:
        """Wait for the answer to an operation; raises the error that it means."""
        purpose = f"{operation} the offsets of connector {place.connector!r}"
        lost: type[StoreError] = NotReconciled if operation is OffsetOperation.LIST else OutcomeUnknown
        try:
            resource = self._await_resource(
                place.connector, lambda one: not one.has_operation or bool(offset_failures(one, operation))
            )
            failures = offset_failures(resource, operation)
            if not resource.has_operation or not self._withdraw(place.connector):
                self._unfinished = False
                return
        except Unreachable as error:
            raise lost(f"{error} It is unknown whether Strimzi could {purpose}.") from error
        if not failures:
            raise lost(
                f"Strimzi's operator did not {purpose} in {self._timeout:g} s ({resource}). The request was withdrawn."
                f"{resource.describe_conditions()} Is the operator running?"
            )
        is_late = any(part in failures[0].message for part in NO_DOCUMENT)  # from a pass before the text was written
        if operation is OffsetOperation.ALTER and (is_late or not self.documents.is_written(place, text)):
            raise Conflict(
                f"The ConfigMap with the new offsets of connector {place.connector!r} was changed or deleted. "
                "Try again."
            )
        raise refusal_of(purpose, find_place(resource, place.connector), failures[0])

    def _withdraw(self, connector: str) -> bool:
        """Remove the pending operation; return False if it was done meanwhile."""

        def remove() -> bool:
            resource = self._cluster.locate(connector).resource
            if pending := resource.has_operation:
                self._api.annotate(resource, {OFFSETS: None, OFFSETS_OF: None, REQUESTED_BY: None})
            self._unfinished = False
            return pending

        return self._unless_changed(remove)

    def _await_resource(
        self, connector: str, until: Callable[[CustomResource], bool], *, timeout: float | None = None
    ) -> CustomResource:
        seconds = self._timeout if timeout is None else timeout
        return self._cluster.await_resource(connector, until, timeout=seconds, clock=self._clock)


def _is_free(resource: CustomResource) -> bool:
    """Whether no operation is pending; raises :class:`Rejected` for an operation that no client of ours requested."""
    if not resource.has_operation:
        return True
    if Marker.on(resource) is None:
        raise Rejected(f"Nothing was changed: {resource} already {resource.describe_foreign_request()}")
    return False

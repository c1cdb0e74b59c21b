"""Calls to a Kubernetes API server, with its errors by meaning; everything is in one namespace."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from kubernetes.client import AuthorizationV1Api, CoreV1Api, CustomObjectsApi
from kubernetes.client.exceptions import ApiException
from kubernetes.watch import Watch
from urllib3.exceptions import HTTPError, MaxRetryError, NewConnectionError, SSLError

from airflow_provider_connect_offsets import fencing
from airflow_provider_connect_offsets.connect.rest import bounded
from airflow_provider_connect_offsets.connect.strimzi.resources import (
    CLUSTER_LABEL,
    GROUP,
    VERSIONS,
    CustomResource,
    ResourceKind,
)
from airflow_provider_connect_offsets.exceptions import (
    AccessDenied,
    Conflict,
    ConnectionRefused,
    NotReady,
    OutcomeUnknown,
    Rejected,
    StoreError,
    UnknownConnector,
    Unreachable,
    Unsupported,
)
from airflow_provider_connect_offsets.masking import one_line

# Always named: the default differs between versions of the client, and between it and kubernetes_asyncio.
_MERGE, _JSON = "application/merge-patch+json", "application/json-patch+json"
# Seconds to connect, and to wait for an answer.
_TIMEOUT = (5.0, 30.0)
# Seconds that the end of a watch may be late.
_LATER = 5.0
# Bytes of an answer. A resource has 1.5 MiB at most, which is etcd's limit; a list of 500 connectors has some 10 MiB.
_LARGEST = 64 << 20
# Part of the API server's answer to a JSON patch of which a test failed.
_TEST_FAILED = "the server rejected our request"


@dataclass(frozen=True, slots=True)
class ConfigMap:
    """A ConfigMap: its name, texts and labels; ``owners``: uids of the resources with which it is deleted."""

    name: str
    data: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    owners: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Right:
    """A right in the namespace, like a rule of a Role: the verbs allowed on which resources of which API group."""

    verb: str
    plural: str
    group: str = GROUP


class KubernetesApi:
    """One namespace of a Kubernetes API server.

    Args:
        api: ``kubernetes.client.ApiClient``, with address and credentials; whoever opened it closes it.
        namespace: The namespace.

    Raises:
        StoreError: From every method, by meaning: ``Unreachable``, ``NotReady``, ``AccessDenied``; from changing ones
            also ``UnknownConnector`` (there is no such resource any more), ``Conflict``, ``Rejected`` and
            ``OutcomeUnknown``.
    """

    def __init__(self, api: Any, namespace: str) -> None:
        self.namespace = namespace
        bounded.limit_answers(api.rest_client.pool_manager, largest=_LARGEST)
        self._objects = CustomObjectsApi(api)
        self._core = CoreV1Api(api)
        self._authorization = AuthorizationV1Api(api)

    @cached_property
    def version(self) -> str:
        """The newest version of Strimzi's resources that the API server serves; raises :class:`Unsupported`."""
        with _guard_call(f"ask for the versions of {GROUP}"):
            for version in VERSIONS:
                if self._serves(version):
                    return version
        raise Unsupported(
            f"The Kubernetes API server does not serve {ResourceKind.CONNECTOR.title} of {GROUP} in any of the "
            f"versions {', '.join(VERSIONS)}. Strimzi 0.44 or later is not installed there."
        )

    def _serves(self, version: str) -> bool:
        served = _call_if_any(lambda: self._objects.get_api_resources(GROUP, version, _request_timeout=_TIMEOUT))
        return served is not None and any(one.name == ResourceKind.CONNECTOR.plural for one in served.resources)

    def find(self, kind: ResourceKind, name: str) -> CustomResource | None:
        """Return a resource; None if it does not exist."""
        with _guard_call(f"read {kind.title} {name!r} in namespace {self.namespace!r}"):
            get, where = self._objects.get_namespaced_custom_object, self._at(kind)
            body = _call_if_any(lambda: get(*where, name, _request_timeout=_TIMEOUT))
        return None if body is None else CustomResource(kind, body)

    def read(self, kind: ResourceKind, name: str) -> CustomResource:
        """Return a resource; raises :class:`UnknownConnector` if there is none of that name."""
        found = self.find(kind, name)
        if found is None:
            raise UnknownConnector(f"There is no {kind.title} {name!r} in namespace {self.namespace!r}.")
        return found

    def list(self, kind: ResourceKind, *, cluster: str = "") -> list[CustomResource]:
        """Return all resources of a kind, sorted by name; of one KafkaConnect only, if ``cluster`` names it."""
        labels = f"{CLUSTER_LABEL}={cluster}" if cluster else ""
        with _guard_call(f"list {kind.plural} in namespace {self.namespace!r}"):
            body = self._objects.list_namespaced_custom_object(
                *self._at(kind), label_selector=labels, _request_timeout=_TIMEOUT
            )
        return sorted((CustomResource(kind, one) for one in body["items"]), key=lambda one: one.name)

    def annotate(self, resource: CustomResource, annotations: Mapping[str, str | None]) -> CustomResource:
        """Set annotations (None removes); raises :class:`Conflict` if the resource changed since it was read."""
        metadata = {"resourceVersion": resource.resource_version, "annotations": dict(annotations)}
        return self._patch(resource, {"metadata": metadata}, _MERGE)

    def patch(self, resource: CustomResource, operations: Sequence[Mapping[str, Any]]) -> CustomResource:
        """Apply a JSON patch (RFC 6902); raises :class:`Conflict` if one of its tests fails."""
        return self._patch(resource, list(operations), _JSON)

    def create(self, kind: ResourceKind, body: Mapping[str, Any]) -> CustomResource:
        """Create a resource; raises :class:`Conflict` if that name exists."""
        name = body["metadata"]["name"]
        full = {**body, "apiVersion": f"{GROUP}/{self.version}", "kind": kind.title}
        with _guard_call(f"create {kind.title} {name!r} in namespace {self.namespace!r}", changes=True):
            created = self._objects.create_namespaced_custom_object(*self._at(kind), full, _request_timeout=_TIMEOUT)
        return CustomResource(kind, created)

    def delete(self, kind: ResourceKind, name: str) -> None:
        """Delete a resource."""
        with _guard_call(f"delete {kind.title} {name!r} in namespace {self.namespace!r}", changes=True):
            self._objects.delete_namespaced_custom_object(*self._at(kind), name, _request_timeout=_TIMEOUT)

    def changes_of(self, resource: CustomResource, *, seconds: float) -> Iterator[CustomResource]:
        """Watch a resource: yield it after each change since it was read, for a number of seconds at most.

        The watch may end earlier, even without a change: then read the resource again.

        Raises:
            UnknownConnector: The resource is deleted.
        """
        arguments = {
            "field_selector": f"metadata.name={resource.name}",
            "resource_version": resource.resource_version,
            "timeout_seconds": max(1, round(seconds)),
            "_request_timeout": (_TIMEOUT[0], max(1.0, seconds) + _LATER),
        }
        watch = Watch()
        with _guard_call(f"watch {resource}"):
            try:
                call = self._objects.list_namespaced_custom_object
                for event in watch.stream(call, *self._at(resource.kind), **arguments):
                    if event["type"] == "DELETED":
                        raise UnknownConnector(f"{resource} was deleted.")
                    if event["type"] in ("ADDED", "MODIFIED"):
                        yield CustomResource(resource.kind, event["object"])
            except ApiException as error:
                if error.status != 410:  # too old to continue from
                    raise
            finally:
                watch.stop()

    def config_map(self, name: str) -> ConfigMap | None:
        """Return a ConfigMap; None if it does not exist."""
        with _guard_call(f"read ConfigMap {name!r} in namespace {self.namespace!r}"):
            read = self._core.read_namespaced_config_map
            found = _call_if_any(lambda: read(name, self.namespace, _request_timeout=_TIMEOUT))
        if found is None:
            return None
        owners = frozenset(one.uid for one in found.metadata.owner_references or [])
        return ConfigMap(name, found.data or {}, found.metadata.labels or {}, owners)

    def create_config_map(self, config_map: ConfigMap) -> None:
        """Create a ConfigMap; raises :class:`Conflict` if that name exists."""
        body = {
            "metadata": {"name": config_map.name, "labels": dict(config_map.labels)},
            "data": dict(config_map.data),
        }
        with _guard_call(f"create ConfigMap {config_map.name!r} in namespace {self.namespace!r}", changes=True):
            self._core.create_namespaced_config_map(self.namespace, body, _request_timeout=_TIMEOUT)

    def write_texts(self, name: str, texts: Mapping[str, str | None]) -> None:
        """Write texts of a ConfigMap (None removes one); others stay."""
        with _guard_call(f"write ConfigMap {name!r} in namespace {self.namespace!r}", changes=True):
            self._core.patch_namespaced_config_map(
                name, self.namespace, {"data": dict(texts)}, _content_type=_MERGE, _request_timeout=_TIMEOUT
            )

    def delete_config_map(self, name: str) -> None:
        """Delete a ConfigMap, if it is there."""
        with _guard_call(f"delete ConfigMap {name!r} in namespace {self.namespace!r}", changes=True):
            delete = self._core.delete_namespaced_config_map
            _call_if_any(lambda: delete(name, self.namespace, _request_timeout=_TIMEOUT))

    def has(self, right: Right) -> bool:
        """Return whether the API server grants a right (``SelfSubjectAccessReview``)."""
        attributes = {
            "namespace": self.namespace,
            "verb": right.verb,
            "resource": right.plural,
            "group": right.group,
        }
        body = {"spec": {"resourceAttributes": attributes}}
        with _guard_call("check this user's rights"):
            review = self._authorization.create_self_subject_access_review(body, _request_timeout=_TIMEOUT)
        return bool(review.status.allowed)

    def _at(self, kind: ResourceKind) -> tuple[str, str, str, str]:
        return GROUP, self.version, self.namespace, kind.plural

    def _patch(self, resource: CustomResource, body: Any, content_type: str) -> CustomResource:
        kind = resource.kind
        with _guard_call(f"change {resource}", changes=True):
            patched = self._objects.patch_namespaced_custom_object(
                *self._at(kind), resource.name, body, _content_type=content_type, _request_timeout=_TIMEOUT
            )
        return CustomResource(kind, patched)


def _call_if_any(call: Callable[[], Any]) -> Any:
    """Return the result of a call; None if the API server answers 404."""
    try:
        return call()
    except ApiException as error:
        if error.status == 404:
            return None
        raise


@contextmanager
def _guard_call(purpose: str, *, changes: bool = False) -> Iterator[None]:
    """Raise the errors of the client by their meaning.

    ``changes``: whether a lost answer leaves the result unknown; then :mod:`~.fencing` is asked first.
    """
    if changes:
        fencing.ask()
    try:
        yield
    except ApiException as error:
        raise _meaning(f"Can't {purpose}: ", error, changes=changes) from error
    except HTTPError as error:
        refused = isinstance(error, MaxRetryError) and isinstance(error.reason, NewConnectionError | SSLError)
        lost = changes and not refused
        why = error.reason if isinstance(error, MaxRetryError) else error
        raise (OutcomeUnknown if lost else ConnectionRefused if refused else Unreachable)(
            f"Can't {purpose}: the Kubernetes API server "
            f"{'did not confirm the change, which may still happen' if lost else 'does not answer'} ({why})."
        ) from error


def _meaning(cannot: str, error: ApiException, *, changes: bool) -> StoreError:
    said = _message(error)
    by_status: dict[int, type[StoreError]] = {
        401: AccessDenied,
        403: AccessDenied,
        404: UnknownConnector,
        409: Conflict,
    }
    if error.status in by_status:
        return by_status[error.status](f"{cannot}{said}")
    if error.status in (400, 413, 422):
        return (Conflict if _TEST_FAILED in said else Rejected)(f"{cannot}{said}")
    return (OutcomeUnknown if changes and error.status != 429 else NotReady)(f"{cannot}{said}")


def _message(error: ApiException) -> str:
    """Return the message in the API server's answer, a ``Status``."""
    try:
        return one_line(str(json.loads(error.body)["message"]))
    except (ValueError, TypeError, KeyError):
        return f"HTTP {error.status} {error.reason}"

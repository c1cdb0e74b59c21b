"""Custom resources and ConfigMaps of one namespace, as parsed JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kubernetes.client import ApiClient, CoreV1Api, CustomObjectsApi
from kubernetes.client.exceptions import ApiException

from sandbox.kubernetes import GROUP, PLURALS

LABEL = "strimzi.io/cluster"
USE_RESOURCES = "strimzi.io/use-connector-resources"
PAUSED = "strimzi.io/pause-reconciliation"
OFFSETS = "strimzi.io/connector-offsets"
MIRROR_CONNECTOR = "strimzi.io/mirrormaker-connector"

_MERGE, _APPLY = "application/merge-patch+json", "application/apply-patch+yaml"
_UNKNOWN = 404

#: A custom resource or a ConfigMap.
Resource = dict[str, Any]


class Resources:
    """What one client may do with the resources of a namespace, in one version of Strimzi's API."""

    def __init__(self, client: ApiClient, *, namespace: str, version: str) -> None:
        self.namespace = namespace
        self.version = version
        self._client = client
        self._custom = CustomObjectsApi(client)
        self._core = CoreV1Api(client)

    def in_version(self, version: str) -> Resources:
        """The same resources in another version of the API."""
        return Resources(self._client, namespace=self.namespace, version=version)

    def list(self, kind: str) -> list[Resource]:
        """All resources of a kind."""
        items: list[Resource] = self._custom.list_namespaced_custom_object(*self._all(kind))["items"]
        return items

    def get(self, kind: str, name: str) -> Resource | None:
        """One resource; None if it is not there."""
        try:
            found: Resource = self._custom.get_namespaced_custom_object(*self._one(kind, name))
        except ApiException as error:
            if error.status != _UNKNOWN:
                raise
            return None
        return found

    def create(self, kind: str, resource: Mapping[str, Any]) -> Resource:
        """Create a resource from its metadata and spec."""
        body = {"apiVersion": f"{GROUP}/{self.version}", "kind": kind, **resource}
        created: Resource = self._custom.create_namespaced_custom_object(*self._all(kind), body)
        return created

    def merge(self, kind: str, name: str, patch: Mapping[str, Any]) -> Resource:
        """Change a resource by a merge patch; with ``metadata.resourceVersion`` only if nobody else changed it."""
        merged: Resource = self._custom.patch_namespaced_custom_object(
            *self._one(kind, name), dict(patch), _content_type=_MERGE
        )
        return merged

    def annotate(self, kind: str, name: str, annotations: Mapping[str, str | None]) -> Resource:
        """Set annotations; None removes one."""
        return self.merge(kind, name, {"metadata": {"annotations": dict(annotations)}})

    def put_status(self, kind: str, resource: Resource) -> None:
        """Replace the status of a resource, if nobody else changed the resource."""
        name = resource["metadata"]["name"]
        self._custom.replace_namespaced_custom_object_status(*self._one(kind, name), resource)

    def delete(self, kind: str, name: str) -> None:
        """Delete a resource, if it is there."""
        try:
            self._custom.delete_namespaced_custom_object(*self._one(kind, name))
        except ApiException as error:
            if error.status != _UNKNOWN:
                raise

    def watch_arguments(self, kind: str) -> tuple[Any, ...]:
        """The function that lists a kind, and its arguments, as a watch takes them."""
        return (self._custom.list_namespaced_custom_object, *self._all(kind))

    def config_map(self, name: str) -> Resource | None:
        """A ConfigMap; None if it is not there."""
        try:
            found = self._core.read_namespaced_config_map(name, self.namespace)
        except ApiException as error:
            if error.status != _UNKNOWN:
                raise
            return None
        as_json: Resource = self._core.api_client.sanitize_for_serialization(found)
        return as_json

    def create_config_map(self, config_map: Resource) -> None:
        """Create a ConfigMap."""
        self._core.create_namespaced_config_map(self.namespace, config_map)

    def replace_config_map(self, config_map: Resource) -> None:
        """Replace a ConfigMap, if nobody else changed it."""
        self._core.replace_namespaced_config_map(config_map["metadata"]["name"], self.namespace, config_map)

    def apply_config_map(self, config_map: Resource, manager: str) -> None:
        """Apply fields of a ConfigMap for their manager (server-side apply), also where someone else manages them."""
        body = {"apiVersion": "v1", "kind": "ConfigMap", **config_map}
        name = config_map["metadata"]["name"]
        self._core.patch_namespaced_config_map(
            name, self.namespace, body, field_manager=manager, force=True, _content_type=_APPLY
        )

    def delete_config_map(self, name: str) -> None:
        """Delete a ConfigMap, if it is there."""
        try:
            self._core.delete_namespaced_config_map(name, self.namespace)
        except ApiException as error:
            if error.status != _UNKNOWN:
                raise

    def _all(self, kind: str) -> tuple[str, str, str, str]:
        return (GROUP, self.version, self.namespace, PLURALS[kind])

    def _one(self, kind: str, name: str) -> tuple[str, str, str, str, str]:
        return (*self._all(kind), name)


def annotations_of(resource: Mapping[str, Any]) -> dict[str, str]:
    """The annotations of a resource."""
    return resource["metadata"].get("annotations") or {}


def cluster_of(connector: Mapping[str, Any]) -> str | None:
    """The KafkaConnect that a KafkaConnector is of, by its label."""
    name: str | None = (connector["metadata"].get("labels") or {}).get(LABEL)
    return name


def is_paused(resource: Mapping[str, Any]) -> bool:
    """Whether an annotation lets the operator leave a resource alone."""
    return annotations_of(resource).get(PAUSED) == "true"


def uses_resources(connect: Mapping[str, Any]) -> bool:
    """Whether the connectors of a KafkaConnect are managed by KafkaConnector resources."""
    return annotations_of(connect).get(USE_RESOURCES) == "true"

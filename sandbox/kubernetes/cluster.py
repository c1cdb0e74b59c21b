"""A client of a Kubernetes cluster, whoever runs it."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from pathlib import Path
from tempfile import gettempdir
from typing import Any
from uuid import uuid4

from kubernetes import config
from kubernetes.client import ApiClient, Configuration, CustomObjectsApi
from kubernetes.client.exceptions import ApiException
from kubernetes.dynamic import DynamicClient, ResourceInstance
from kubernetes.dynamic.exceptions import DynamicApiError

from sandbox.waiting import wait_until

#: A resource, as parsed JSON.
Manifest = Mapping[str, Any]

_OWNER = "sandbox"  # of the fields that are applied
_ESTABLISHED_WITHIN = 30.0


class Cluster:
    """What one user of a kubeconfig may do. ``close`` it to close its connections."""

    def __init__(self, kubeconfig: Path) -> None:
        self.kubeconfig = kubeconfig
        self.client = _client(kubeconfig)

    def apply(self, *manifests: Manifest) -> None:
        """Create these resources, or change them to what the manifests say (server-side apply)."""
        for manifest in manifests:
            self._kind_of(manifest).server_side_apply(
                body=dict(manifest), field_manager=_OWNER, force_conflicts=True, **_namespace_of(manifest)
            )

    def delete(self, *manifests: Manifest) -> None:
        """Delete these resources, as far as they are there."""
        for manifest in manifests:
            try:
                self._kind_of(manifest).delete(name=manifest["metadata"]["name"], **_namespace_of(manifest))
            except DynamicApiError as error:
                if error.status != 404:
                    raise

    def read(self, manifest: Manifest) -> dict[str, Any] | None:
        """The resource that the manifest names, as it is now; None if it is not there."""
        try:
            found: ResourceInstance = self._kind_of(manifest).get(
                name=manifest["metadata"]["name"], **_namespace_of(manifest)
            )
        except DynamicApiError as error:
            if error.status != 404:
                raise
            return None
        as_json: dict[str, Any] = found.to_dict()
        return as_json

    def install(self, definitions: Iterable[Manifest]) -> None:
        """Apply CustomResourceDefinitions and wait until their resources are served."""
        applied = list(definitions)
        self.apply(*applied)
        for definition in applied:
            name = definition["metadata"]["name"]
            wait_until(
                functools.partial(self._is_served, definition), _ESTABLISHED_WITHIN, f"{name} was not established"
            )

    def close(self) -> None:
        """Close its connections."""
        self.client.close()

    def _is_served(self, definition: Manifest) -> bool:
        found = self.read(definition) or {}
        states = {state["type"]: state["status"] for state in found.get("status", {}).get("conditions") or []}
        if states.get("Established") != "True":
            return False
        spec = definition["spec"]
        versions = [version["name"] for version in spec["versions"] if version["served"]]
        return all(self._is_listed(spec["group"], version, spec["names"]["plural"]) for version in versions)

    def _is_listed(self, group: str, version: str, plural: str) -> bool:
        """Whether a list of resources is answered, which it is a moment after the definition is established."""
        try:
            CustomObjectsApi(self.client).list_cluster_custom_object(group, version, plural)
        except ApiException as error:
            if error.status != 404:
                raise
            return False
        return True

    def _kind_of(self, manifest: Manifest) -> Any:
        return self._dynamic.resources.get(api_version=manifest["apiVersion"], kind=manifest["kind"])

    @functools.cached_property
    def _dynamic(self) -> DynamicClient:
        # The client keeps what the server serves in a file, for the next client of the same address. Here another
        # server may have the same address next time.
        return DynamicClient(self.client, cache_file=str(Path(gettempdir(), f"no-{uuid4().hex}", "discovery")))


def _client(kubeconfig: Path) -> ApiClient:
    settings = Configuration()
    settings.proxy = settings.no_proxy = None  # a proxy of the environment can't reach 127.0.0.1
    return config.new_client_from_config(str(kubeconfig), persist_config=False, client_configuration=settings)


def _namespace_of(manifest: Manifest) -> dict[str, str]:
    namespace = manifest["metadata"].get("namespace")
    return {"namespace": namespace} if namespace else {}

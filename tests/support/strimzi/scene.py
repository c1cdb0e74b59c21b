"""A namespace with Strimzi, for tests: what is there, how resources are made, and how to wait for the operator."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sandbox import Connect, wait_until
from tests.support.strimzi.conditions import Condition
from tests.support.strimzi.desired import Operation, connector_of, connectors_of
from tests.support.strimzi.reconciler import Reconciler
from tests.support.strimzi.resources import LABEL, MIRROR_CONNECTOR, OFFSETS, Resource, Resources, annotations_of

_WITHIN = 60.0
# A real operator passes over everything every two minutes, unless it is configured otherwise.
_WITHIN_REALLY = 300.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Strimzi:
    """A namespace with a KafkaConnect whose connectors are managed by resources."""

    resources: Resources
    """Of someone who may do everything there."""
    kubeconfig: Path
    """Of a user who may do there what ``examples/strimzi/role.yaml`` and ``role-create-delete.yaml`` allow."""
    connect_name: str
    bootstrap: str
    """Of the target cluster, as its workers reach it."""
    source_bootstrap: str
    connect: Connect | None
    """Its REST API; None if it is not reachable."""
    reconciler: Reconciler | None
    """The operator; None if it is the real one."""

    @property
    def namespace(self) -> str:
        """The namespace."""
        return self.resources.namespace

    @property
    def version(self) -> str:
        """The version of Strimzi's API that is used."""
        return self.resources.version

    def connector(
        self, name: str, class_name: str, config: Mapping[str, Any], *, spec: Mapping[str, Any] | None = None
    ) -> Resource:
        """Create a KafkaConnector of the KafkaConnect, and wait until the operator has passed over it."""
        body = {
            "metadata": {"name": name, "labels": {LABEL: self.connect_name}},
            "spec": {"class": class_name, "tasksMax": 1, "config": dict(config), **(spec or {})},
        }
        self.resources.create("KafkaConnector", body)
        return self.observed("KafkaConnector", name)

    def mirror_maker(self, name: str, mirror: Mapping[str, Any], *, source: str, target: str) -> Resource:
        """Create a KafkaMirrorMaker2 with one mirror from alias to alias, and wait until its connectors have a state.

        ``mirror`` has ``sourceConnector`` and so on, which are the same in all versions of the API.
        """
        clusters = {
            source: {"alias": source, "bootstrapServers": self.source_bootstrap},
            target: {"alias": target, "bootstrapServers": self.bootstrap},
        }
        spec: dict[str, Any] = {"replicas": 1}
        if self.version == "v1":
            topics = {f"{kind}StorageTopic": f"{name}-{kind}" for kind in ("config", "status", "offset")}
            spec |= {"target": {**clusters[target], "groupId": name, **topics}}
            spec |= {"mirrors": [{"source": clusters[source], **mirror}]}
        else:
            spec |= {"connectCluster": target, "clusters": list(clusters.values())}
            spec |= {"mirrors": [{"sourceCluster": source, "targetCluster": target, **mirror}]}
        self.resources.create("KafkaMirrorMaker2", {"metadata": {"name": name}, "spec": spec})
        return self.observed("KafkaMirrorMaker2", name)

    def delete(self, kind: str, name: str) -> None:
        """Delete a resource, and wait until its connectors are gone where that can be observed."""
        resource = self.resources.get(kind, name)
        self.resources.delete(kind, name)
        if self.connect is not None and resource is not None:
            connect = self.connect
            of_it = [connector_of(resource)] if kind == "KafkaConnector" else connectors_of(resource)
            names = {one.name for one in of_it}
            late = f"the connectors of {kind} {name} were not deleted"
            wait_until(lambda: names.isdisjoint(connect.connectors()), self._within, late)

    def observed(self, kind: str, name: str) -> Resource:
        """The resource, once the operator has passed over its current spec."""

        def observed() -> Resource | None:
            resource = self.read(kind, name)
            status = resource.get("status") or {}
            return resource if status.get("observedGeneration") == resource["metadata"]["generation"] else None

        return wait_until(observed, self._within, f"{kind} {name} was not observed") or {}

    def in_state(self, kind: str, name: str, connector: str, state: str) -> Resource:
        """The resource, once the status of one of its connectors has this state."""

        def in_state() -> Resource | None:
            resource = self.read(kind, name)
            return resource if state_of(resource, connector) == state else None

        late = f"{connector} of {kind} {name} did not become {state}"
        return wait_until(in_state, self._within, late) or {}

    def ask(self, kind: str, name: str, operation: Operation | str, connector: str) -> None:
        """Ask for an operation on the offsets of one of its connectors."""
        self.resources.annotate(kind, name, asking(kind, operation, connector))

    def done(self, kind: str, name: str) -> Resource:
        """The resource, once the annotation is removed: the operation has succeeded."""

        def done() -> Resource | None:
            resource = self.read(kind, name)
            return None if OFFSETS in annotations_of(resource) else resource

        return wait_until(done, self._within, f"the annotation of {kind} {name} was not removed") or {}

    def warned(self, kind: str, name: str, reason: str) -> Condition:
        """The Warning of this reason, once it is there."""
        late = f"{kind} {name} got no warning {reason}"
        return wait_until(lambda: warning_of(self.read(kind, name), reason), self._within, late) or {}

    def not_ready(self, kind: str, name: str) -> Condition:
        """The condition NotReady, once it is there."""

        def not_ready() -> Condition | None:
            return next((one for one in conditions_of(self.read(kind, name)) if one["type"] == "NotReady"), None)

        return wait_until(not_ready, self._within, f"{kind} {name} did not become NotReady") or {}

    def settled(self) -> None:
        """Return when the operator has done what it has to do now; only of the one in this process."""
        if self.reconciler is None:
            raise RuntimeError("When a real operator has nothing left to do, nobody knows.")
        self.reconciler.sweep()

    @contextmanager
    def without_intervals(self) -> Iterator[Reconciler]:
        """The operator passes over resources only after events, and when a test asks for it."""
        if self.reconciler is None:
            raise RuntimeError("The interval of a real operator is its own.")
        settings = self.reconciler.settings
        interval, settings.interval = settings.interval, None
        try:
            yield self.reconciler
        finally:
            settings.interval = interval

    def read(self, kind: str, name: str) -> Resource:
        """A resource that must be there."""
        resource = self.resources.get(kind, name)
        if resource is None:
            raise AssertionError(f"There is no {kind} {name}.")
        return resource

    def offsets_in(self, config_map: str, key: str) -> list[dict[str, Any]]:
        """The offsets in a ConfigMap."""
        found = self.resources.config_map(config_map)
        if found is None:
            raise AssertionError(f"There is no ConfigMap {config_map}.")
        offsets: list[dict[str, Any]] = json.loads(found["data"][key])["offsets"]
        return offsets

    @property
    def _within(self) -> float:
        return _WITHIN_REALLY if self.reconciler is None else _WITHIN


def asking(kind: str, operation: Operation | str, connector: str) -> dict[str, str]:
    """The annotations that ask for an operation."""
    mirrored = {MIRROR_CONNECTOR: connector} if kind == "KafkaMirrorMaker2" else {}
    return {OFFSETS: str(operation), **mirrored}


def state_of(resource: Resource, connector: str) -> str | None:
    """The state of a connector that the status of its resource has."""
    status = resource.get("status") or {}
    for one in (status.get("connectorStatus"), *status.get("connectors", [])):
        if one is not None and one["name"] == connector:
            return str(one["connector"]["state"])
    return None


def conditions_of(resource: Resource) -> list[Condition]:
    """The conditions of a resource."""
    conditions: list[Condition] = (resource.get("status") or {}).get("conditions", [])
    return conditions


def warning_of(resource: Resource, reason: str) -> Condition | None:
    """The Warning of this reason."""
    return next((one for one in conditions_of(resource) if one.get("reason") == reason), None)

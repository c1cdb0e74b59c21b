"""One pass over one resource: from its spec to Connect, and from Connect to its status."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from kubernetes.client.exceptions import ApiException

from sandbox import Connect
from tests.support.strimzi.conditions import Condition, Failed, Status, paused, ready, same
from tests.support.strimzi.connector_passes import ConnectorPasses, Passed
from tests.support.strimzi.desired import Described, connector_of, connectors_of, is_of_mirror
from tests.support.strimzi.offset_operations import OffsetOperations
from tests.support.strimzi.resources import (
    LABEL,
    USE_RESOURCES,
    Resource,
    Resources,
    cluster_of,
    is_paused,
    uses_resources,
)
from tests.support.strimzi.settings import Settings

_UNKNOWN = 404


class Passes:
    """What Strimzi's assembly operators do, for the KafkaConnects and KafkaMirrorMaker2s of one Connect worker.

    In a real cluster each of them has workers of its own. Here they share one, so that a KafkaConnect deletes only
    what is no connector of a mirror, and a KafkaMirrorMaker2 what it has described itself.
    """

    def __init__(
        self, resources: Resources, connect: Connect, settings: Settings, *, wait: Callable[[float], object]
    ) -> None:
        self.offsets = OffsetOperations(resources, connect)
        self._resources = resources
        self._connect = connect
        self._settings = settings
        self._wait = wait
        self._connectors = ConnectorPasses(resources, connect, self.offsets, settings)

    def over_connector(self, resource: Resource) -> None:
        """A pass over a KafkaConnector, as it was read or as an event had it."""
        refusal = self._refusal(resource)
        if refusal is None and is_paused(resource):
            self._write("KafkaConnector", resource, _paused(resource))
            return
        passed, failure = None, refusal
        if refusal is None:
            try:
                passed = self._connectors.over(connector_of(resource))
                failure = passed.failure
            except Failed as failed:
                failure = failed
        tasks = resource["spec"].get("tasksMax", len(passed.status["tasks"]) if passed else 0)
        status = _done(resource, failure, passed) | {"tasksMax": tasks}
        if passed is not None:
            status |= {"connectorStatus": passed.status, "topics": passed.topics}
            if passed.restarts is not None:
                status["autoRestart"] = passed.restarts
        self._write("KafkaConnector", resource, status)

    def over_deleted_connector(self, resource: Resource) -> None:
        """A KafkaConnector was deleted: its connector goes, if its KafkaConnect has its connectors managed."""
        if self._refusal(resource) is None:
            self._connectors.delete(resource["metadata"]["name"])

    def over_connect(self, resource: Resource) -> None:
        """A whole pass over a KafkaConnect, with all its connectors and those that nobody describes."""
        if is_paused(resource):
            self._write("KafkaConnect", resource, _paused(resource))
            return
        name, replicas = resource["metadata"]["name"], resource["spec"].get("replicas", 1)
        status = _done(resource, None) | {"replicas": replicas, "labelSelector": f"{LABEL}={name}"}
        if uses_resources(resource):
            if replicas:
                self._delete_unclaimed()
                status["connectorPlugins"] = self._plugins()
            for connector in self._connectors_of(name):
                self.over_connector(connector)
        self._write("KafkaConnect", resource, status)

    def over_deleted_connect(self, resource: Resource) -> None:
        """A KafkaConnect was deleted: its connectors say that it is not there."""
        for connector in self._connectors_of(resource["metadata"]["name"]):
            self.over_connector(connector)

    def over_mirror_maker(self, resource: Resource) -> None:
        """A whole pass over a KafkaMirrorMaker2, with all its connectors and those that it describes no more."""
        if is_paused(resource):
            self._write("KafkaMirrorMaker2", resource, _paused(resource))
            return
        self._wait(self._settings.mirror_cost)  # it has the pods and all the rest reconciled first
        replicas = resource["spec"].get("replicas", 1)
        passed: list[Passed] = []
        failure = None
        if replicas:
            try:
                described = connectors_of(resource)
                self._delete_mirrors(resource, but=described)
                passed = _over_all(self._connectors, described)
                if any(one.status["connector"]["state"] == "FAILED" for one in passed):
                    failure = Failed("Throwable", "One or more connectors are in FAILED state")
            except Failed as failed:
                failure = failed
        status = _done(resource, failure, *passed) | {"replicas": replicas}
        if passed:
            status["connectors"] = sorted((one.status for one in passed), key=lambda one: str(one["name"]))
        restarts = [one.restarts for one in passed if one.restarts is not None]
        if restarts:
            status["autoRestartStatuses"] = restarts
        self._write("KafkaMirrorMaker2", resource, status)

    def over_deleted_mirror_maker(self, resource: Resource) -> None:
        """A KafkaMirrorMaker2 was deleted, and its workers with it."""
        for one in connectors_of(resource):
            self._connectors.delete(one.name)
        self._delete_mirrors(resource, but=[])

    def _delete_mirrors(self, resource: Resource, *, but: Sequence[Described]) -> None:
        """Delete the connectors that a KafkaMirrorMaker2 had, by its status."""
        kept = {one.name for one in but}
        for one in (resource.get("status") or {}).get("connectors", []):
            if one["name"] not in kept:
                self._connectors.delete(one["name"])

    def _refusal(self, resource: Resource) -> Failed | None:
        """Why a KafkaConnector belongs to no KafkaConnect that runs it."""
        name = cluster_of(resource)
        namespace = self._resources.namespace
        if name is None:
            text = f"Resource lacks label '{LABEL}': No connect cluster in which to create this connector."
            return Failed("InvalidResourceException", text)
        connect = self._resources.get("KafkaConnect", name)
        if connect is None:
            text = (
                f"KafkaConnect resource '{name}' identified by label '{LABEL}' does not exist in namespace {namespace}."
            )
            return Failed("NoSuchResourceException", text)
        if connect["spec"].get("replicas", 1) == 0:
            text = f"Kafka Connect cluster '{name}' in namespace {namespace} has 0 replicas."
            return Failed("RuntimeException", text)
        if not uses_resources(connect):
            text = f"KafkaConnect {name} is not configured with annotation {USE_RESOURCES}"
            return Failed("NoSuchResourceException", text)
        return None

    def _connectors_of(self, connect: str) -> list[Resource]:
        return [one for one in self._resources.list("KafkaConnector") if cluster_of(one) == connect]

    def _delete_unclaimed(self) -> None:
        claimed = {one["metadata"]["name"] for one in self._resources.list("KafkaConnector") if cluster_of(one)}
        for name in self._connect.connectors():
            if name not in claimed and not is_of_mirror(name):
                self._connectors.delete(name)

    def _plugins(self) -> list[dict[str, Any]]:
        plugins = self._connect.call("GET", "/connector-plugins")
        return [{key: value for key, value in plugin.items() if value is not None} for plugin in plugins]

    def _write(self, kind: str, resource: Resource, status: Status) -> None:
        """Write a status, if anything but times is new; the resource may have changed meanwhile."""
        self._wait(self._settings.status_delay)
        current = self._resources.get(kind, resource["metadata"]["name"])
        if current is None or same(current.get("status"), status):
            return
        try:
            self._resources.put_status(kind, {**current, "status": status})
        except ApiException as error:
            if error.status != _UNKNOWN:
                raise


def _over_all(connectors: ConnectorPasses, described: Sequence[Described]) -> list[Passed]:
    """Every connector gets its pass, also after one that failed."""
    passed, failures = [], []
    for one in described:
        try:
            passed.append(connectors.over(one))
        except Failed as failed:
            failures.append(failed)
    if failures:
        raise failures[0]
    return passed


def _done(resource: Resource, failure: Failed | None, *passed: Passed | None) -> Status:
    warnings: list[Condition] = [one for each in passed if each is not None for one in each.warnings]
    return {"observedGeneration": resource["metadata"]["generation"], "conditions": [ready(failure), *warnings]}


def _paused(resource: Resource) -> Status:
    generation = (resource.get("status") or {}).get("observedGeneration", 0)
    return {"observedGeneration": generation, "conditions": [paused()]}

"""List, alter and reset the offsets of one connector (Strimzi's ``AbstractConnectOperator.manageConnectorOffsets``)."""

from __future__ import annotations

import http
import json
from collections.abc import Callable
from urllib.parse import quote

from kubernetes.client.exceptions import ApiException
from requests import RequestException

from sandbox import Connect, RestRefusal
from tests.support.strimzi.conditions import Condition, Failed, warning
from tests.support.strimzi.desired import Described, Operation
from tests.support.strimzi.resources import LABEL, MIRROR_CONNECTOR, OFFSETS, Resource, Resources, cluster_of

_MANAGER = "strimzi-kafka-operator"

#: Called with a connector's name and the operation that is about to be run.
Hook = Callable[[str, Operation], None]


class OffsetOperations:
    """Runs what the annotations of resources ask for; what fails becomes a Warning, and is tried again next time."""

    def __init__(self, resources: Resources, connect: Connect) -> None:
        self.before: Hook = lambda _name, _operation: None
        self._resources = resources
        self._connect = connect

    def run(self, described: Described) -> list[Condition]:
        """Do what is asked for, and return the Warnings."""
        missing = described.missing_annotation()
        if missing is not None:
            text = f"Encountered error getting connector offsets annotation. Annotation {missing} is missing."
            return [warning("ManageOffsets", text)]
        operation = described.operation()
        if operation is Operation.NONE:
            return []
        reason, doing, do = {
            Operation.LIST: ("ListOffsets", "listing", self._list),
            Operation.ALTER: ("AlterOffsets", "altering", self._alter),
            Operation.RESET: ("ResetOffsets", "resetting", self._reset),
        }[operation]
        try:
            self.before(described.name, operation)
            without = self._without_property(described, operation)
            if without is not None:
                return [warning(reason, without)]
            do(described)
            self._remove_annotations(described.resource)
        except (ApiException, Failed, RestRefusal, RequestException) as error:
            return [warning(reason, f"Encountered error {doing} connector offsets. {_message(error)}")]
        return []

    def _without_property(self, described: Described, operation: Operation) -> str | None:
        named = {Operation.LIST: described.list_to, Operation.ALTER: described.alter_from}
        if named.get(operation, "nothing needed"):
            return None
        kind = described.resource["kind"]
        return f"Failed to {operation} the connector offsets due to missing property {operation}Offsets in {kind} CR."

    def _list(self, described: Described) -> None:
        offsets = json.dumps(self._connect.call("GET", _path(described.name)), indent=2)
        name, data = str(described.list_to), {described.data_key: offsets}
        there = self._resources.config_map(name)
        write = self._apply_listing if self._resources.version == "v1" else self._update_listing
        write(described.resource, {"metadata": {"name": name}} if there is None else there, data)

    def _apply_listing(self, resource: Resource, there: Resource, data: dict[str, str]) -> None:
        """From 1.0 on: what others manage in the ConfigMap is taken over, and what only they have stays."""
        metadata = {
            "name": there["metadata"]["name"],
            "labels": {**(resource["metadata"].get("labels") or {}), **_default_labels(resource)},
            "ownerReferences": [_owner_reference(resource)],
        }
        self._resources.apply_config_map({"metadata": metadata, "data": {**there.get("data", {}), **data}}, _MANAGER)

    def _update_listing(self, resource: Resource, there: Resource, data: dict[str, str]) -> None:
        """Before 1.0: the labels of the resource are added, and its owner reference if there is none of anybody."""
        metadata = there["metadata"]
        metadata["labels"] = {**metadata.get("labels", {}), **(resource["metadata"].get("labels") or {})}
        metadata.setdefault("ownerReferences", [_owner_reference(resource)])
        config_map = {**there, "data": {**there.get("data", {}), **data}}
        if "uid" in metadata:
            self._resources.replace_config_map(config_map)
        else:
            self._resources.create_config_map(config_map)

    def _alter(self, described: Described) -> None:
        self._require_stopped(described.name)
        self._connect.call("PATCH", _path(described.name), self._new_offsets(described))

    def _reset(self, described: Described) -> None:
        self._require_stopped(described.name)
        self._connect.call("DELETE", _path(described.name))

    def _new_offsets(self, described: Described) -> object:
        name, key = str(described.alter_from), described.data_key
        fetching = "Encountered error fetching offsets to use in alter operation."
        config_map = self._resources.config_map(name)
        if config_map is None:
            raise Failed("", f"{fetching} ConfigMap {self._resources.namespace}/{name} does not exist.")
        text = config_map.get("data", {}).get(key)
        if text is None:
            raise Failed("", f"{fetching} Data field {key} is missing.")
        try:
            return json.loads(text)
        except ValueError as error:
            raise Failed("", f"Failed to parse contents of {key} as JSON: {error}") from error

    def _require_stopped(self, name: str) -> None:
        if self._connect.status(name)["connector"]["state"] != "STOPPED":
            raise Failed("", "Connector is not in STOPPED state")

    def _remove_annotations(self, resource: Resource) -> None:
        """Remove them if nobody has changed the resource since it was read; or else the operation is run again."""
        patch = {
            "metadata": {
                "resourceVersion": resource["metadata"]["resourceVersion"],
                "annotations": {OFFSETS: None, MIRROR_CONNECTOR: None},
            }
        }
        self._resources.merge(resource["kind"], resource["metadata"]["name"], patch)


def _message(error: Exception) -> str:
    """What Strimzi says of an error: nothing of the body of Connect's answer."""
    if isinstance(error, RestRefusal):
        return rest_message(error)
    return str(error.reason) if isinstance(error, ApiException) else str(error)


def rest_message(error: RestRefusal, said: str = "Unexpected status code") -> str:
    """The message of a ``ConnectRestException``."""
    request = str(error).partition(" was answered")[0]
    phrase = http.HTTPStatus(error.status_code).phrase
    return f"{request} returned {error.status_code} ({phrase}): {said}"


def _default_labels(resource: Resource) -> dict[str, str]:
    """Strimzi's labels, as its ``Labels.generateDefaultLabels`` makes them.

    That a listing has them from 1.0 on is known, and so are their names. Presumed is that they are those of the
    cluster: its name, its kind and the name of its component.
    """
    name = cluster_of(resource) or resource["metadata"]["name"]
    is_mirror = resource["kind"] == "KafkaMirrorMaker2"
    component = "kafka-mirror-maker-2" if is_mirror else "kafka-connect"
    return {
        LABEL: name,
        "strimzi.io/kind": "KafkaMirrorMaker2" if is_mirror else "KafkaConnect",
        "strimzi.io/name": f"{name}-{'mirrormaker2' if is_mirror else 'connect'}",
        "strimzi.io/component-type": component,
        "app.kubernetes.io/name": component,
        "app.kubernetes.io/instance": name,
        "app.kubernetes.io/part-of": f"strimzi-{name}",
        "app.kubernetes.io/managed-by": "strimzi-cluster-operator",
    }


def _owner_reference(resource: Resource) -> dict[str, object]:
    metadata = resource["metadata"]
    return {
        "apiVersion": resource["apiVersion"],
        "kind": resource["kind"],
        "name": metadata["name"],
        "uid": metadata["uid"],
        "controller": False,
        "blockOwnerDeletion": True,
    }


def _path(name: str) -> str:
    return f"/connectors/{quote(name, safe='')}/offsets"

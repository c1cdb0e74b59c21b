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
from tests.support.strimzi.resources import MIRROR_CONNECTOR, OFFSETS, Resource, Resources

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
        owner = _owner_reference(described.resource)
        labels = described.resource["metadata"].get("labels") or {}
        there = self._resources.config_map(name)
        if there is None:
            metadata = {"name": name, "labels": labels, "ownerReferences": [owner]}
            self._resources.create_config_map({"metadata": metadata, "data": data})
            return
        metadata = there["metadata"]
        metadata["labels"] = {**metadata.get("labels", {}), **labels}
        metadata.setdefault("ownerReferences", [owner])
        self._resources.replace_config_map({**there, "data": {**there.get("data", {}), **data}})

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


def _owner_reference(resource: Resource) -> dict[str, object]:
    metadata = resource["metadata"]
    return {
        "apiVersion": resource["apiVersion"],
        "kind": resource["kind"],
        "name": metadata["name"],
        "uid": metadata["uid"],
        "controller": False,
        "blockOwnerDeletion": False,
    }


def _path(name: str) -> str:
    return f"/connectors/{quote(name, safe='')}/offsets"

"""The manual change of an offset through a custom resource: stop, alter, list, resume, as Strimzi describes it.

As quick as somebody with ``kubectl`` could be at best: a client that stays open, ConfigMaps that are there before the
stop, and a watch after each step.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from kubernetes.client import ApiClient, CoreV1Api, CustomObjectsApi
from kubernetes.watch import Watch

from sandbox import Connect
from sandbox.kubernetes import GROUP, PLURALS
from tests.support.strimzi.resources import MIRROR_CONNECTOR, OFFSETS
from tests.support.strimzi.scene import state_of

_WITHIN = 60  # seconds for each step


@dataclass
class Distance:
    """How far an API server is: each call takes so long, and those between the stop and the resume are counted.

    Attributes:
        seconds: What a call takes longer.
        down: Calls while the connector was down.
    """

    seconds: float
    down: int = 0
    _is_down: bool = field(default=False, repr=False)

    def to(self, client: ApiClient) -> None:
        """Let the calls of a client take that long."""
        pool = client.rest_client.pool_manager
        send = pool.request

        def request(method: str, *arguments: Any, **named: Any) -> Any:
            time.sleep(self.seconds)
            self.down += self._is_down
            if method == "PATCH":
                self._note(str(named.get("body")))
            return send(method, *arguments, **named)

        pool.request = request

    def _note(self, body: str) -> None:
        """Notice a stop, which sets a state, and a resume, which sets another or removes it."""
        if "stopped" in body:
            self.down, self._is_down = 0, True
        elif "running" in body or '"op": "remove", "path": "/spec' in body:
            self._is_down = False


@dataclass(frozen=True)
class ByHand:
    """One connector in a resource.

    Attributes:
        client: Of someone who has the rights.
        namespace: Namespace of the resource.
        kind: ``KafkaConnector`` or ``KafkaMirrorMaker2``.
        name: Name of the resource.
        connector: Name of the connector.
        connect: The worker, which says that the connector runs: the operator may say so much later.
    """

    client: ApiClient
    namespace: str
    kind: str
    name: str
    connector: str
    connect: Connect

    def prepare(self) -> None:
        """Create the ConfigMaps, and name them in the resource."""
        core = CoreV1Api(self.client)
        for name in (self._listed, self._new):
            core.create_namespaced_config_map(self.namespace, {"metadata": {"name": name}, "data": {}})
        self._set("listOffsets", {"toConfigMap": {"name": self._listed}})
        self._set("alterOffsets", {"fromConfigMap": {"name": self._new}})
        self._until(_is_observed)

    def change(self, offsets: list[Mapping[str, Any]]) -> float:
        """Write offsets while the connector is STOPPED; returns the seconds for which it was down."""
        core = CoreV1Api(self.client)
        core.patch_namespaced_config_map(
            self._new, self.namespace, {"data": {self._key: json.dumps({"offsets": offsets})}}
        )
        began = time.monotonic()
        self._set("state", "stopped")
        self._until(lambda one: _is_observed(one) and state_of(one, self.connector) == "STOPPED")
        for operation in ("alter", "list"):
            self._ask(operation)
            self._until(lambda one: OFFSETS not in (one["metadata"].get("annotations") or {}))
        listed = core.read_namespaced_config_map(self._listed, self.namespace).data
        stored = json.loads(listed[self._key])["offsets"]
        if not all(one in stored for one in offsets):
            raise ValueError(f"{self.name}: {stored} is stored, and not {offsets}")
        self._set("state", "running")
        self.connect.wait_state(self.connector, "RUNNING", tasks=1)
        return time.monotonic() - began

    def clean(self) -> None:
        """Delete the ConfigMaps, and no longer name them."""
        for setting in ("listOffsets", "alterOffsets"):
            self._patch([{"op": "remove", "path": f"{self._at}/{setting}"}], "application/json-patch+json")
        self._until(_is_observed)
        for name in (self._listed, self._new):
            CoreV1Api(self.client).delete_namespaced_config_map(name, self.namespace)

    @property
    def _listed(self) -> str:
        return f"{self.name}-by-hand"

    @property
    def _new(self) -> str:
        return f"{self.name}-by-hand-new"

    @property
    def _key(self) -> str:
        return "offsets.json" if self.kind == "KafkaConnector" else f"{self.connector.replace('->', '--')}.json"

    @property
    def _where(self) -> tuple[str, str, str, str]:
        return GROUP, "v1", self.namespace, PLURALS[self.kind]

    def _set(self, setting: str, value: Any) -> None:
        patch = [{"op": "add", "path": f"{self._at}/{setting}", "value": value}]
        self._patch(patch, "application/json-patch+json")

    @property
    def _at(self) -> str:
        return "/spec" if self.kind == "KafkaConnector" else "/spec/mirrors/0/sourceConnector"

    def _ask(self, operation: str) -> None:
        which = {} if self.kind == "KafkaConnector" else {MIRROR_CONNECTOR: self.connector}
        body = {"metadata": {"annotations": {OFFSETS: operation, **which}}}
        self._patch(body, "application/merge-patch+json")

    def _patch(self, body: Any, content_type: str) -> None:
        CustomObjectsApi(self.client).patch_namespaced_custom_object(
            *self._where, self.name, body, _content_type=content_type
        )

    def _until(self, holds: Callable[[Any], bool]) -> None:
        """Watch the resource until it is so; the first event is its present state."""
        events = Watch().stream(
            CustomObjectsApi(self.client).list_namespaced_custom_object,
            *self._where,
            field_selector=f"metadata.name={self.name}",
            timeout_seconds=_WITHIN,
        )
        if not any(holds(event["object"]) for event in events):
            raise TimeoutError(f"{self.kind} {self.name} did not get there within {_WITHIN} s")


def _is_observed(resource: Mapping[str, Any]) -> bool:
    return bool((resource.get("status") or {}).get("observedGeneration") == resource["metadata"]["generation"])

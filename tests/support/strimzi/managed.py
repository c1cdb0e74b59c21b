"""A connector that a resource manages: a MirrorSource, by a KafkaConnector or in a KafkaMirrorMaker2.

Its topics match nothing, so that it has only the offsets that it is given.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Self

from tests.support.strimzi.conditions import Condition
from tests.support.strimzi.desired import Operation
from tests.support.strimzi.resources import Resource, Resources
from tests.support.strimzi.scene import Strimzi

KINDS = ("KafkaConnector", "KafkaMirrorMaker2")
SOURCE, TARGET = "eu", "us"

_CLASS = "org.apache.kafka.connect.mirror.MirrorSourceConnector"
_CONFIG = {"replication.factor": 1, "offset-syncs.topic.replication.factor": 1, "sync.topic.acls.enabled": False}


@dataclass(frozen=True, slots=True)
class Managed:
    """The connector, its resource, and the ConfigMaps of its offsets."""

    strimzi: Strimzi
    kind: str
    name: str

    @property
    def connector(self) -> str:
        """The name of the connector."""
        return self.name if self.kind == "KafkaConnector" else f"{self.source}->{TARGET}.MirrorSourceConnector"

    @property
    def source(self) -> str:
        """The alias of its source cluster, which no other flow has."""
        return f"{SOURCE}-{self.name}"

    @property
    def data_key(self) -> str:
        """The key of its offsets in ConfigMaps."""
        return "offsets.json" if self.kind == "KafkaConnector" else f"{self.connector.replace('->', '--')}.json"

    @property
    def listed(self) -> str:
        """The ConfigMap that its offsets are listed to."""
        return f"{self.name}-listed"

    @property
    def new(self) -> str:
        """The ConfigMap that its new offsets are in."""
        return f"{self.name}-new"

    @property
    def resources(self) -> Resources:
        """The resources of its namespace."""
        return self.strimzi.resources

    def read(self) -> Resource:
        """Its resource."""
        return self.strimzi.read(self.kind, self.name)

    def change(self, fields: Mapping[str, Any], *, annotations: Mapping[str, str] | None = None) -> None:
        """Change fields of the connector's spec, and annotations of its resource, in one request."""
        metadata = {"annotations": dict(annotations or {})}
        if self.kind == "KafkaConnector":
            self.resources.merge(self.kind, self.name, {"metadata": metadata, "spec": dict(fields)})
            return
        mirrors = self.read()["spec"]["mirrors"]  # a merge patch replaces a list as a whole
        mirrors[0]["sourceConnector"] |= fields
        self.resources.merge(self.kind, self.name, {"metadata": metadata, "spec": {"mirrors": mirrors}})

    def to_state(self, state: str) -> Self:
        """Have it changed to a state, and wait until its resource says so."""
        self.change({"state": state})
        self.in_state(state.upper())
        return self

    def in_state(self, state: str) -> Resource:
        """Wait until its resource says that it is in a state."""
        return self.strimzi.in_state(self.kind, self.name, self.connector, state)

    def ask(self, operation: Operation | str) -> Self:
        """Ask for an operation on its offsets."""
        self.strimzi.ask(self.kind, self.name, operation, self.connector)
        return self

    def done(self) -> Resource:
        """Wait until the operation is done."""
        return self.strimzi.done(self.kind, self.name)

    def warned(self, reason: str) -> Condition:
        """Wait for a Warning of this reason."""
        return self.strimzi.warned(self.kind, self.name, reason)

    def not_ready(self) -> Condition:
        """Wait until its resource is NotReady."""
        return self.strimzi.not_ready(self.kind, self.name)

    def offer(self, text: str, *, key: str | None = None) -> None:
        """Write the ConfigMap of its new offsets."""
        self.resources.delete_config_map(self.new)
        self.resources.create_config_map({"metadata": {"name": self.new}, "data": {key or self.data_key: text}})

    def alter(self, offsets: Sequence[Mapping[str, Any]]) -> None:
        """Have its offsets altered."""
        self.offer(json.dumps({"offsets": list(offsets)}))
        self.ask(Operation.ALTER).done()

    def offsets(self) -> list[dict[str, Any]]:
        """Its offsets, as the operator lists them."""
        self.ask(Operation.LIST).done()
        return self.strimzi.offsets_in(self.listed, self.data_key)

    def offset(self, position: int) -> dict[str, Any]:
        """An offset that it may have."""
        partition = {"cluster": self.source, "topic": "orders", "partition": 0}
        return {"partition": partition, "offset": {"offset": position}}


@contextmanager
def managed(strimzi: Strimzi, kind: str, *, spec: Mapping[str, Any] | None = None) -> Iterator[Managed]:
    """A running connector that is managed by a resource of its own, for as long as the block lasts."""
    made = Managed(strimzi, kind, f"m-{uuid.uuid4().hex[:8]}")
    offsets = {"listOffsets": {"toConfigMap": {"name": made.listed}}}
    offsets |= {"alterOffsets": {"fromConfigMap": {"name": made.new}}}
    spec = {**offsets, **(spec or {})}
    pattern = f"{made.name}-no-such-topic"
    try:
        if kind == "KafkaConnector":
            clusters = {
                "source.cluster.alias": made.source,
                "target.cluster.alias": TARGET,
                "source.cluster.bootstrap.servers": strimzi.source_bootstrap,
                "target.cluster.bootstrap.servers": strimzi.bootstrap,
            }
            strimzi.connector(made.name, _CLASS, {**_CONFIG, **clusters, "topics": pattern}, spec=spec)
        else:
            source = {"tasksMax": 1, "config": _CONFIG, **spec}
            mirror = {"topicsPattern": pattern, "sourceConnector": source}
            strimzi.mirror_maker(made.name, mirror, source=made.source, target=TARGET)
        yield made
    finally:
        strimzi.delete(kind, made.name)
        for name in (made.listed, made.new):
            strimzi.resources.delete_config_map(name)

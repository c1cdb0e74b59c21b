"""Connectors of the shared worker that Strimzi's resources describe."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from kubernetes import watch

from tests.support.airflow.planted import OF_CLIENTS, planted_config
from tests.support.strimzi.resources import OFFSETS, Resource, annotations_of
from tests.support.strimzi.scene import Strimzi

_OF_THE_RESOURCE = {"connector.class", "tasks.max"}
# What a KafkaMirrorMaker2 says of its clusters.
_CLUSTERS = ("source.cluster.", "target.cluster.")
_HISTORY = 2  # seconds; the API server sends what has happened at once


@dataclass(frozen=True, slots=True)
class Owned:
    """Creates and observes resources, where a test of Kafka Connect has connectors."""

    strimzi: Strimzi

    def create(self, name: str, config: Mapping[str, str]) -> None:
        """Create the KafkaConnector of a connector from its configuration in Kafka Connect; it gets planted secrets."""
        own = {key: value for key, value in planted_config(config).items() if key not in _OF_THE_RESOURCE}
        self.strimzi.connector(name, config["connector.class"], own)

    def mirror_maker(self, name: str) -> Callable[[str, Mapping[str, str]], None]:
        """Return what creates the connectors of a KafkaMirrorMaker2: first the MirrorSource, and with it the resource.

        The names of the connectors follow from the aliases in their configuration, which gets a planted secret.
        """

        def create(_connector: str, config: Mapping[str, str]) -> None:
            kind = config["connector.class"].rpartition(".")[2]
            own = {
                key: value
                for key, value in config.items()
                if key not in {*_OF_THE_RESOURCE, "topics", "groups"} and not key.startswith(_CLUSTERS)
            }
            part = {"tasksMax": 1, "config": {**own, **OF_CLIENTS}}
            if kind == "MirrorSourceConnector":
                mirror = {"topicsPattern": config["topics"], "sourceConnector": part}
                source, target = config["source.cluster.alias"], config["target.cluster.alias"]
                self.strimzi.mirror_maker(name, mirror, source=source, target=target)
                return
            [mirror] = self.strimzi.read("KafkaMirrorMaker2", name)["spec"]["mirrors"]
            mirror |= {"groupsPattern": config["groups"], "checkpointConnector": part}
            self.strimzi.resources.merge("KafkaMirrorMaker2", name, {"spec": {"mirrors": [mirror]}})
            self.strimzi.observed("KafkaMirrorMaker2", name)

        return create

    def delete(self, *names: str) -> None:
        """Delete KafkaConnectors, and wait until their connectors are gone."""
        for name in names:
            self.strimzi.delete("KafkaConnector", name)

    def set_state(self, name: str, state: str) -> None:
        """Set the state in a KafkaConnector, and wait until its status has it."""
        self.strimzi.resources.merge("KafkaConnector", name, {"spec": {"state": state}})
        self.strimzi.in_state("KafkaConnector", name, name, state.upper())

    @contextmanager
    def kept(self, *names: str, kind: str = "KafkaConnector") -> Iterator[None]:
        """Assert that spec and annotations of resources are afterwards as before, and that no ConfigMap is left."""
        before = [self._requested(kind, name) for name in names]
        yield
        assert [self._requested(kind, name) for name in names] == before
        left = [name for name in names if self.strimzi.resources.config_map(f"{name}-connect-offsets")]
        assert left == []

    @contextmanager
    def history(self, name: str, *, kind: str = "KafkaConnector") -> Iterator[History]:
        """The versions of a resource from before the block on, which are read at its end."""
        first = self.strimzi.read(kind, name)
        found = History([first])
        yield found
        function, *arguments = self.strimzi.resources.watch_arguments(kind)
        events = watch.Watch().stream(
            function,
            *arguments,
            field_selector=f"metadata.name={name}",
            resource_version=first["metadata"]["resourceVersion"],
            timeout_seconds=_HISTORY,
        )
        found.versions += [event["object"] for event in events]

    def _requested(self, kind: str, name: str) -> tuple[Any, dict[str, str]]:
        resource = self.strimzi.read(kind, name)
        return resource["spec"], annotations_of(resource)


class History:
    """The versions that a resource had, in their order."""

    def __init__(self, versions: list[Resource]) -> None:
        self.versions = versions

    @property
    def states(self) -> list[str | None]:
        """The states that were set in a KafkaConnector, one after the other."""
        return _changes([one["spec"].get("state") for one in self.versions])

    @property
    def operations(self) -> list[str]:
        """The operations on offsets that were requested, one after the other."""
        return [one for one in _changes([annotations_of(each).get(OFFSETS) for each in self.versions]) if one]


def _changes(values: list[str | None]) -> list[str | None]:
    return [one for number, one in enumerate(values) if not number or one != values[number - 1]]


def connection_to(strimzi: Strimzi, cluster: str) -> str:
    """Return an Airflow connection to a ``KafkaConnect`` or ``KafkaMirrorMaker2``, and to its REST API."""
    extra = {"strimzi_cluster": cluster, "strimzi_namespace": strimzi.namespace}
    rest: dict[str, Any] = {}
    if strimzi.connect is not None:
        host, _, port = strimzi.connect.url.removeprefix("http://").partition(":")
        rest = {"schema": "http", "host": host, "port": int(port)}
    return json.dumps({"conn_type": "kafka_connect", **rest, "extra": extra})

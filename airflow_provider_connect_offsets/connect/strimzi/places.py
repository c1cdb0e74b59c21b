"""The place of a connector in a custom resource: its settings, requested state and status, in ``v1`` and ``v1beta2``.

A ``KafkaConnector`` is one connector. A ``KafkaMirrorMaker2`` has up to three for each of its ``mirrors``, named
``<source alias>-><target alias>.MirrorSourceConnector`` and so on (Strimzi's ``KafkaMirrorMaker2Connectors``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from airflow_provider_connect_offsets.connect.protocols import ConnectorInfo, ConnectorStatus, State
from airflow_provider_connect_offsets.connect.rest.bodies import status_of
from airflow_provider_connect_offsets.connect.strimzi.resources import (
    OFFSETS,
    OFFSETS_OF,
    UNSET_STATE,
    CustomResource,
    ResourceKind,
    pointer,
)
from airflow_provider_connect_offsets.exceptions import NotReady, UnknownConnector
from airflow_provider_connect_offsets.offsets.families import ConnectorType

Path: TypeAlias = "tuple[str | int, ...]"

# Section of a mirror → the class it runs, which is the end of the connector's name too.
_SECTIONS = {
    "sourceConnector": "MirrorSourceConnector",
    "checkpointConnector": "MirrorCheckpointConnector",
    "heartbeatConnector": "MirrorHeartbeatConnector",
}
_PACKAGE = "org.apache.kafka.connect.mirror."
#: Setting that has a field of its own, ``version`` (Kafka's KIP-891): which version of the class runs.
PLUGIN_VERSION = "connector.plugin.version"
# Field of a mirror → setting of its connectors.
_PATTERNS = {
    "topicsPattern": "topics",
    "topicsExcludePattern": "topics.exclude",
    "groupsPattern": "groups",
    "groupsExcludePattern": "groups.exclude",
}


@dataclass(frozen=True, slots=True)
class Place:
    """A connector in a resource.

    Attributes:
        connector: Its name in Kafka Connect.
        resource: The resource.
        path: Where the resource has its settings.
        tests: Path → value that a patch must find there: the alias of the mirror, whose index may change.
        connector_class: Class that it runs.
        implied: Settings that the operator adds from other parts of the resource.
    """

    connector: str
    resource: CustomResource
    path: Path
    tests: Mapping[Path, str]
    connector_class: str
    implied: Mapping[str, str]

    @property
    def section(self) -> Mapping[str, Any]:
        """The part of the resource with its settings."""
        return self.resource.at(self.path) or {}

    @property
    def key(self) -> str:
        """Key of a ConfigMap that has its offsets (``AbstractConnectOperator.getConfigMapKey``)."""
        return (
            "offsets.json"
            if self.resource.kind is ResourceKind.CONNECTOR
            else f"{self.connector.replace('->', '--')}.json"
        )

    @property
    def requested_state(self) -> State:
        """The state that the resource requests; the ``pause`` of ``v1beta2`` counts where ``state`` is not set."""
        state = self.section.get("state")
        return self.default_state if state is None else State(str(state).upper())

    @property
    def default_state(self) -> State:
        """The state that the resource requests if ``state`` is not set."""
        return State.PAUSED if self.section.get("pause") is True else State.RUNNING

    @property
    def unset_state(self) -> str:
        """Annotation that says that ``state`` was not set before a client of ours set it."""
        of = "" if self.resource.kind is ResourceKind.CONNECTOR else f".{self.path[2]}.{self.path[3]}"
        return f"{UNSET_STATE}{of}"

    def pointer(self, field: str) -> str:
        """Return the JSON pointer of one of its settings."""
        return pointer(*self.path, field)

    def guards(self) -> list[dict[str, Any]]:
        """Return the tests of a JSON patch: nothing that counts has changed since the resource was read.

        That is its spec, counted by ``generation``, with the connector at this path, and annotations that request an
        operation or say how a state was set. Others may change its labels at any time, and the operator its status. A
        test for null holds where there is nothing. Texts with ``<``, ``>`` or ``&`` can't be tested: the API server
        escapes them.
        """
        resource, of = self.resource, ("metadata", "annotations")
        asked = (OFFSETS, OFFSETS_OF, self.unset_state)
        annotations: dict[Path, Any] = {(*of, name): resource.annotations.get(name) for name in asked}
        unchanged: dict[Path, Any] = {
            ("metadata", "uid"): resource.uid,
            ("metadata", "generation"): resource.generation,
            **(annotations if resource.annotations else {of: None}),
            **self.tests,
        }
        return [{"op": "test", "path": pointer(*path), "value": value} for path, value in unchanged.items()]

    def config_map(self, operation: str) -> str:
        """Return the ConfigMap that the resource names for ``listOffsets`` or ``alterOffsets``; empty if none."""
        of = {"listOffsets": "toConfigMap", "alterOffsets": "fromConfigMap"}[operation]
        return str(((self.section.get(operation) or {}).get(of) or {}).get("name") or "")

    def status(self) -> ConnectorStatus | None:
        """Return the state that the operator has observed, and the requested one; None if it has observed none yet."""
        body = self._status_body()
        return replace(status_of(body), requested=self.requested_state) if body else None

    def info(self, plugins: Callable[[], Mapping[str, ConnectorType]]) -> ConnectorInfo:
        """Return type and configuration; raises :class:`NotReady` if neither status nor ``plugins`` show the type."""
        kind = (self._status_body() or {}).get("type")
        if self.connector_class.startswith(_PACKAGE):
            kind = ConnectorType.SOURCE
        kind = kind or plugins().get(self.connector_class)
        if kind is None:
            raise NotReady(
                f"It is not known yet whether connector {self.connector!r} is a source or a sink: {self.resource} has "
                f"no status of the connector.{self.resource.describe_conditions()}"
            )
        return ConnectorInfo(self.connector, ConnectorType(str(kind)), self._config())

    def _status_body(self) -> Mapping[str, Any] | None:
        if self.resource.kind is ResourceKind.CONNECTOR:
            return self.resource.status.get("connectorStatus") or None
        of_all = self.resource.status.get("connectors") or ()
        return next((one for one in of_all if one.get("name") == self.connector), None)

    def _config(self) -> dict[str, str]:
        own = {name: text_of(value) for name, value in (self.section.get("config") or {}).items() if value is not None}
        settings = {"tasks.max": self.section.get("tasksMax"), PLUGIN_VERSION: self.section.get("version")}
        fixed = {name: text_of(value) for name, value in settings.items() if value is not None}
        return {
            **own,
            **self.implied,
            **fixed,
            "name": self.connector,
            "connector.class": self.connector_class,
        }


def place_of(resource: CustomResource, connector: str) -> Place | None:
    """Return the place of ``connector`` in ``resource``; None if it is not there."""
    return next((place for place in places_in(resource) if place.connector == connector), None)


def find_place(resource: CustomResource, connector: str) -> Place:
    """Return the place of ``connector``; raises :class:`UnknownConnector`, which names the existing connectors."""
    place = place_of(resource, connector)
    if place is None:
        names = ", ".join(repr(one.connector) for one in places_in(resource)) or "none"
        raise UnknownConnector(f"{resource} has no connector {connector!r}. Its connectors: {names}.")
    return place


def places_in(resource: CustomResource) -> Iterator[Place]:
    """Yield the connectors of a ``KafkaConnector`` or a ``KafkaMirrorMaker2``."""
    if resource.kind is ResourceKind.CONNECTOR:
        yield Place(resource.name, resource, ("spec",), {}, str(resource.spec.get("class") or ""), {})
        return
    for index, mirror in enumerate(resource.spec.get("mirrors") or ()):
        yield from _in_mirror(resource, index, mirror)


def _in_mirror(resource: CustomResource, index: int, mirror: Mapping[str, Any]) -> Iterator[Place]:
    flow = _Flow.of(resource, index, mirror)
    patterns = {setting: str(mirror[field]) for field, setting in _PATTERNS.items() if mirror.get(field)}
    for section, class_name in _SECTIONS.items():
        if mirror.get(section) is not None:
            yield Place(
                f"{flow.source}->{flow.target}.{class_name}",
                resource,
                ("spec", "mirrors", index, section),
                flow.tests,
                _PACKAGE + class_name,
                {**flow.settings, **patterns},
            )


@dataclass(frozen=True, slots=True)
class _Flow:
    """Both aliases of a mirror, what a patch must find, and the settings that follow from its clusters."""

    source: str
    target: str
    tests: Mapping[Path, str]
    settings: Mapping[str, str]

    @classmethod
    def of(cls, resource: CustomResource, index: int, mirror: Mapping[str, Any]) -> _Flow:
        """Read a mirror of ``v1`` (``source.alias``, ``spec.target.alias``) or ``v1beta2`` (``sourceCluster``, …)."""
        at: Path = ("spec", "mirrors", index)
        if "source" in mirror:
            source, target = mirror["source"], resource.spec.get("target") or {}
            tests: dict[Path, str] = {(*at, "source", "alias"): str(source.get("alias"))}
        else:
            clusters = {str(one.get("alias")): one for one in resource.spec.get("clusters") or ()}
            tests = {(*at, name): str(mirror.get(name)) for name in ("sourceCluster", "targetCluster")}
            source, target = (clusters.get(alias, {"alias": alias}) for alias in tests.values())
        ends = {"source.cluster": source, "target.cluster": target}
        aliases = {f"{end}.alias": str(one.get("alias")) for end, one in ends.items()}
        servers = {f"{end}.bootstrap.servers": str(one.get("bootstrapServers") or "") for end, one in ends.items()}
        return cls(
            aliases["source.cluster.alias"], aliases["target.cluster.alias"], tests=tests, settings=aliases | servers
        )


def text_of(value: Any) -> str:
    """Return a resource's setting in the form that Connect uses."""
    return str(value).lower() if isinstance(value, bool) else str(value)

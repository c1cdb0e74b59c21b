"""The connectors that a resource describes (Strimzi's ``KafkaMirrorMaker2Connectors``)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from tests.support.strimzi.conditions import Failed
from tests.support.strimzi.resources import MIRROR_CONNECTOR, OFFSETS, Resource, annotations_of

_PACKAGE = "org.apache.kafka.connect.mirror"
# The fields of a mirror that describe a connector; the heartbeat's is in v1beta2 only.
_MIRROR_CONNECTORS = {
    "sourceConnector": "MirrorSourceConnector",
    "checkpointConnector": "MirrorCheckpointConnector",
    "heartbeatConnector": "MirrorHeartbeatConnector",
}
_PATTERNS = {
    "topicsPattern": "topics",
    "topicsExcludePattern": "topics.exclude",
    "groupsPattern": "groups",
    "groupsExcludePattern": "groups.exclude",
}
_FORBIDDEN = {"name", "connector.class", "tasks.max"}
_PLUGIN_VERSION = "connector.plugin.version"


class Operation(StrEnum):
    """What an annotation asks for."""

    NONE = "none"
    LIST = "list"
    ALTER = "alter"
    RESET = "reset"


@dataclass(frozen=True, slots=True, kw_only=True)
class Described:
    """One connector, as a resource describes it."""

    resource: Resource
    name: str
    config: Mapping[str, str]
    spec: Mapping[str, Any]
    """The part of the resource that has ``state``, ``pause``, ``listOffsets`` and ``alterOffsets``."""

    @property
    def state(self) -> str:
        """The state that it is to have."""
        return str(self.spec.get("state") or ("paused" if self.spec.get("pause") else "running"))

    @property
    def has_state_twice(self) -> bool:
        """Whether it has both ``state`` and the older ``pause``."""
        return bool(self.spec.get("state")) and self.spec.get("pause") is not None

    @property
    def list_to(self) -> str | None:
        """The ConfigMap that its offsets are listed to."""
        name: str | None = self.spec.get("listOffsets", {}).get("toConfigMap", {}).get("name")
        return name

    @property
    def alter_from(self) -> str | None:
        """The ConfigMap that its new offsets are in."""
        name: str | None = self.spec.get("alterOffsets", {}).get("fromConfigMap", {}).get("name")
        return name

    @property
    def is_mirror(self) -> bool:
        """Whether a KafkaMirrorMaker2 describes it."""
        return bool(self.resource["kind"] == "KafkaMirrorMaker2")

    @property
    def data_key(self) -> str:
        """The key of its offsets in a ConfigMap."""
        return f"{self.name.replace('->', '--')}.json" if self.is_mirror else "offsets.json"

    def operation(self) -> Operation:
        """What the annotations ask for; any other word is an exception in the operator, too."""
        annotations = annotations_of(self.resource)
        word = annotations.get(OFFSETS, Operation.NONE)
        if self.is_mirror and annotations.get(MIRROR_CONNECTOR) != self.name:
            return Operation.NONE
        try:
            return Operation(word)
        except ValueError as error:
            enum = "io.strimzi.operator.cluster.model.KafkaConnectorOffsetsAnnotation"
            raise Failed("IllegalArgumentException", f"No enum constant {enum}.{word}") from error

    def missing_annotation(self) -> str | None:
        """Of the two annotations of a KafkaMirrorMaker2, the one that is missing where the other is set."""
        if not self.is_mirror:
            return None
        there = [name for name in (OFFSETS, MIRROR_CONNECTOR) if name in annotations_of(self.resource)]
        return None if len(there) != 1 else next(name for name in (OFFSETS, MIRROR_CONNECTOR) if name not in there)


def connector_of(resource: Resource) -> Described:
    """The connector of a KafkaConnector."""
    name, spec = resource["metadata"]["name"], resource["spec"]
    return Described(resource=resource, name=name, config=_config(resource, name, spec["class"], spec), spec=spec)


def connectors_of(mirror_maker: Resource) -> list[Described]:
    """The connectors of a KafkaMirrorMaker2, in any version of the API."""
    return list(_connectors_of(mirror_maker))


def is_of_mirror(connector: str) -> bool:
    """Whether a name is one of a KafkaMirrorMaker2's connectors: a KafkaConnector can't have it."""
    return "->" in connector


def _connectors_of(resource: Resource) -> Iterator[Described]:
    for mirror in resource["spec"].get("mirrors", []):
        source, target = _clusters_of(resource["spec"], mirror)
        for field, class_name in _MIRROR_CONNECTORS.items():
            spec = mirror.get(field)
            if spec is None:
                continue
            name = f"{source['alias']}->{target['alias']}.{class_name}"
            patterns = {key: mirror[field] for field, key in _PATTERNS.items() if field in mirror}
            settings = {**_prefixed("target.cluster.", target), **_prefixed("source.cluster.", source)}
            settings |= {**spec.get("config", {}), **patterns}
            config = _config(resource, name, f"{_PACKAGE}.{class_name}", {**spec, "config": settings})
            yield Described(resource=resource, name=name, config=config, spec=spec)


def _clusters_of(spec: Mapping[str, Any], mirror: Mapping[str, Any]) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    if "source" in mirror:
        return mirror["source"], spec["target"]
    clusters = {cluster["alias"]: cluster for cluster in spec.get("clusters", [])}
    for field in ("sourceCluster", "targetCluster"):
        if mirror.get(field) not in clusters:
            text = f"{field} with alias {mirror.get(field)} cannot be found in the list of clusters at spec.clusters"
            raise Failed("InvalidResourceException", text)
    return clusters[mirror["sourceCluster"]], clusters[mirror["targetCluster"]]


def _prefixed(prefix: str, cluster: Mapping[str, Any]) -> dict[str, Any]:
    settings = {
        "alias": cluster["alias"],
        "bootstrap.servers": cluster["bootstrapServers"],
        "security.protocol": "PLAINTEXT",
        **cluster.get("config", {}),
    }
    return {f"{prefix}{name}": value for name, value in settings.items()}


def _config(resource: Resource, name: str, class_name: str, spec: Mapping[str, Any]) -> dict[str, str]:
    """The configuration of a connector; what may not be set there is left out without a word."""
    # 0.49 still takes the plugin's version from the config, which is deprecated; later releases forbid it.
    forbidden = _FORBIDDEN | ({_PLUGIN_VERSION} if resource["apiVersion"].endswith("/v1") else set())
    own = {key: value for key, value in spec.get("config", {}).items() if key not in forbidden}
    fields = {"tasksMax": "tasks.max", "version": _PLUGIN_VERSION}
    own |= {key: spec[field] for field, key in fields.items() if field in spec}
    return {key: _text(value) for key, value in {**own, "name": name, "connector.class": class_name}.items()}


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)

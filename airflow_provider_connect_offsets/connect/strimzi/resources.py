"""Custom resources of Strimzi as values: their kinds, conditions and annotations.

Sources: Strimzi's ``KafkaConnectorSpec``, ``KafkaMirrorMaker2Spec``, ``Status`` and ``ResourceAnnotations``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from airflow_provider_connect_offsets.masking import one_line

GROUP = "kafka.strimzi.io"
#: Newest first; the API server is asked which of them it serves.
VERSIONS = ("v1", "v1beta2")

CLUSTER_LABEL = "strimzi.io/cluster"
USE_RESOURCES = "strimzi.io/use-connector-resources"
PAUSED = "strimzi.io/pause-reconciliation"
#: Which offset operation the operator is to carry out: list, alter or reset.
OFFSETS = "strimzi.io/connector-offsets"
#: Which connector of a KafkaMirrorMaker2 the operation is for.
OFFSETS_OF = "strimzi.io/mirrormaker-connector"
#: Ours, in addition to those two: which client requested the operation, as :class:`~.operation.Marker`.
REQUESTED_BY = "airflow-provider-connect-offsets/requested-by"
#: Ours: makes the operator check the resource again, as the state in Connect changed just after its last check.
NUDGE = "airflow-provider-connect-offsets/look-again"
#: Ours: ``spec.state`` was not set before a client of ours set it. A KafkaMirrorMaker2 has one for each connector.
UNSET_STATE = "airflow-provider-connect-offsets/unset-state"


# Kind → what the name of its workers' service ends with; the rest is the name of the resource.
_SERVICES = {"KafkaConnect": "-connect", "KafkaMirrorMaker2": "-mirrormaker2"}
# The address of a worker in a pod that has a stable name, as Strimzi's have (``rest.advertised.host.name``).
_WORKER = re.compile(r"(?P<service>[-a-z0-9]+)-\d+\.(?P=service)\.(?P<namespace>[-a-z0-9]+)\.svc\b")


def pointer(*path: str | int) -> str:
    """Write a path as a JSON pointer (RFC 6901)."""
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in path)


def workers_of(addresses: Iterable[str]) -> str:
    """Return the name of the service of Strimzi's workers, from their addresses; empty if none is Strimzi's."""
    found = (_WORKER.search(one) for one in sorted(addresses))
    return next((f"{one['service']}.{one['namespace']}.svc" for one in found if one), "")


class ResourceKind(Enum):
    """Kinds of resources, each with the name of the kind and its name in paths of the API."""

    CONNECTOR = ("KafkaConnector", "kafkaconnectors")
    MIRROR_MAKER = ("KafkaMirrorMaker2", "kafkamirrormaker2s")
    CONNECT = ("KafkaConnect", "kafkaconnects")

    @property
    def title(self) -> str:
        """Name of the kind, as in ``kind:``."""
        return self.value[0]

    @property
    def plural(self) -> str:
        """Name of the kind in paths of the API, and for ``kubectl``."""
        return self.value[1]


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition of a resource's status that holds now (its own ``status`` is True)."""

    type: str
    reason: str
    message: str

    def __str__(self) -> str:
        """Return reason and message in one line, for messages."""
        message = one_line(" ".join(self.message.split()))
        return f"{self.reason}: {message}" if message else self.reason or self.type


@dataclass(frozen=True, slots=True)
class CustomResource:
    """A custom resource, as the API server returned it."""

    kind: ResourceKind
    body: Mapping[str, Any]

    def __str__(self) -> str:
        """Return kind, name and namespace, for messages."""
        return f"{self.kind.title} {self.name!r} in namespace {self.namespace!r}"

    @property
    def version(self) -> str:
        """Version of the API that it was read by: ``v1`` or ``v1beta2``."""
        return str(self.body["apiVersion"]).rpartition("/")[2]

    @property
    def _metadata(self) -> Mapping[str, Any]:
        metadata: Mapping[str, Any] = self.body["metadata"]
        return metadata

    @property
    def name(self) -> str:
        """Its name."""
        return str(self._metadata["name"])

    @property
    def namespace(self) -> str:
        """Its namespace."""
        return str(self._metadata["namespace"])

    @property
    def uid(self) -> str:
        """Its id: another one if it is deleted and created again."""
        return str(self._metadata["uid"])

    @property
    def generation(self) -> int | None:
        """How often its spec was changed; annotations and labels do not count."""
        return self._metadata.get("generation")

    @property
    def workers(self) -> str:
        """Name of its workers' service, as :func:`workers_of`."""
        return f"{self.name}{_SERVICES[self.kind.title]}.{self.namespace}.svc"

    @property
    def resource_version(self) -> str:
        """Its version, which changes with every change of the resource."""
        return str(self._metadata["resourceVersion"])

    @property
    def annotations(self) -> Mapping[str, str]:
        """Its annotations."""
        return self._metadata.get("annotations") or {}

    @property
    def labels(self) -> Mapping[str, str]:
        """Its labels."""
        return self._metadata.get("labels") or {}

    @property
    def cluster(self) -> str:
        """The KafkaConnect that runs a KafkaConnector, by its label; empty without the label."""
        return self.labels.get(CLUSTER_LABEL, "")

    @property
    def spec(self) -> Mapping[str, Any]:
        """What is requested."""
        return self.body.get("spec") or {}

    @property
    def status(self) -> Mapping[str, Any]:
        """What the operator has observed."""
        return self.body.get("status") or {}

    @property
    def is_observed(self) -> bool:
        """Whether the operator has acted on ``spec`` as it is now (annotations do not count)."""
        return int(self.status.get("observedGeneration") or 0) >= (self.generation or 0)

    @property
    def has_operation(self) -> bool:
        """Whether an offset operation is pending; until it is done, nothing may be written to the resource."""
        return OFFSETS in self.annotations or OFFSETS_OF in self.annotations

    @property
    def is_paused(self) -> bool:
        """Whether its annotation pauses the reconciliation, so that the operator leaves it alone."""
        return self.annotations.get(PAUSED, "").lower() == "true"

    def conditions(self, kind: str) -> Iterator[Condition]:
        """Yield the conditions of a type (``Ready``, ``NotReady``, ``Warning``) that hold now."""
        for one in self.status.get("conditions") or ():
            if one.get("type") == kind and one.get("status") == "True":
                yield Condition(kind, str(one.get("reason") or ""), str(one.get("message") or ""))

    def describe_conditions(self) -> str:
        """Return sentences about what keeps the operator from acting: its conditions, and annotations of others."""
        said = [*self.conditions("NotReady"), *self.conditions("Warning")]
        conditions = f" Its conditions: {'; '.join(str(one).rstrip('.') for one in said)}." if said else ""
        paused = f" Its reconciliation is paused by its annotation {PAUSED}." if self.is_paused else ""
        is_foreign = self.has_operation and REQUESTED_BY not in self.annotations
        return conditions + paused + (f" It {self.describe_foreign_request()}" if is_foreign else "")

    def describe_foreign_request(self) -> str:
        """Return the end of a sentence: someone else has requested an offset operation, and how to withdraw it."""
        asked = {name: self.annotations[name] for name in (OFFSETS, OFFSETS_OF) if name in self.annotations}
        texts = " and ".join(f"{name}: {value!r}" for name, value in asked.items())
        remove = " ".join(f"{name}-" for name in asked)
        return (
            f"has annotations that someone else has set ({texts}). Wait until the operator has removed them, or remove "
            f"them: kubectl annotate -n {self.namespace} {self.kind.plural} {self.name} {remove}"
        )

    def at(self, path: tuple[str | int, ...]) -> Any:
        """Return the value at a path of keys and indexes; None if the path does not exist."""
        value: Any = self.body
        for step in path:
            if isinstance(step, int):
                value = value[step] if isinstance(value, list) and step < len(value) else None
            else:
                value = value.get(step) if isinstance(value, Mapping) else None
        return value

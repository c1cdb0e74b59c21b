"""Brokers that allow the user of Airflow's connections what ACLs allow, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AclBinding,
    AclBindingFilter,
    AclPermissionType,
    ResourcePatternType,
    ResourceType,
)
from confluent_kafka.admin import AclOperation as KafkaOperation  # type: ignore[attr-defined]

from airflow_provider_connect_offsets.kafka.brokers import AclOperation
from airflow_provider_connect_offsets.offsets.flow import Side
from sandbox import Broker, Sandbox, wait_for
from sandbox.broker import Secured

USER, PASSWORD, LISTENER = "airflow", "right", "LOGIN"
_PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"

#: Brokers that allow everything to those who do not log in, and to the user of Airflow's connections what ACLs allow.
SECURED = Secured(
    listeners={LISTENER: "SASL_PLAINTEXT"},
    settings={
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS",
        "listener.name.login.sasl.enabled.mechanisms": "PLAIN",
        "listener.name.login.plain.sasl.jaas.config": f'{_PLAIN} user_{USER}="{PASSWORD}";',
    },
)

READ, DESCRIBE, DELETE = AclOperation.READ, AclOperation.DESCRIBE, AclOperation.DELETE
WRITE, CONFIGS, ALTER = AclOperation.WRITE, AclOperation.DESCRIBE_CONFIGS, AclOperation.ALTER_CONFIGS
_OPERATIONS = {
    READ: KafkaOperation.READ,
    DESCRIBE: KafkaOperation.DESCRIBE,
    DELETE: KafkaOperation.DELETE,
    WRITE: KafkaOperation.WRITE,
    CONFIGS: KafkaOperation.DESCRIBE_CONFIGS,
    ALTER: KafkaOperation.ALTER_CONFIGS,
}
TOPIC, GROUP = ResourceType.TOPIC, ResourceType.GROUP


@dataclass(frozen=True)
class Right:
    """One line of the table.

    Attributes:
        on: The cluster of the sandbox: the one that is replicated, or the one with the workers.
        operation: What the ACL allows.
        kind: Topic or group.
        whose: Which topics or groups, as the table says it.
        task: The task that fails without it; empty: the run goes on, and warns.
    """

    on: Side
    operation: AclOperation
    kind: ResourceType
    whose: str
    task: str

    def __str__(self) -> str:
        return f"{self.operation} on {self.kind.name.lower()} {self.whose} of the {self.on}"


@contextmanager
def granted(sandbox: Sandbox, rights: Mapping[Right, tuple[str, ...]]) -> Iterator[None]:
    """Allow the user these rights on the named topics and groups, and nothing else; a name may end with ``*``."""
    wanted: dict[Side, list[AclBinding]] = {Side.SOURCE: [], Side.TARGET: []}
    for right, names in rights.items():
        wanted[right.on] += [_binding(right, name) for name in names]
    try:
        for side, bindings in wanted.items():
            _replace(_broker(sandbox, side), bindings)
        yield
    finally:
        for side in wanted:
            _replace(_broker(sandbox, side), [])


def _broker(sandbox: Sandbox, side: Side) -> Broker:
    return sandbox.source if side is Side.SOURCE else sandbox.target


def _binding(right: Right, name: str) -> AclBinding:
    how = ResourcePatternType.PREFIXED if name.endswith("*") else ResourcePatternType.LITERAL
    operation = _OPERATIONS[right.operation]
    return AclBinding(right.kind, name.removesuffix("*"), how, f"User:{USER}", "*", operation, AclPermissionType.ALLOW)


def _replace(broker: Broker, bindings: list[AclBinding]) -> None:
    of_all: Any = None
    everything = AclBindingFilter(
        ResourceType.ANY, of_all, ResourcePatternType.ANY, of_all, of_all, KafkaOperation.ANY, AclPermissionType.ANY
    )
    with broker.admin() as client:
        client.delete_acls([everything])[everything].result(30)
        for answer in (client.create_acls(bindings) if bindings else {}).values():
            answer.result(30)
        # The authorizer of the broker learns of them a moment after the controller.
        wait_for(lambda: len(client.describe_acls(everything).result(30)), len(set(bindings)), 30, "ACLs are missing")

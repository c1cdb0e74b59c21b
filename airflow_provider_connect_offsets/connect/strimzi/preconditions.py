"""Why Strimzi's operator would do nothing with a resource, found before anything is changed.

Sources: Strimzi's ``ConnectorReconciler`` (``AbstractConnectOperator``), ``KafkaConnectAssemblyOperator``.
"""

from __future__ import annotations

from collections.abc import Iterable

from airflow_provider_connect_offsets.connect.strimzi.kubernetes_api import KubernetesApi, Right
from airflow_provider_connect_offsets.connect.strimzi.resources import (
    CLUSTER_LABEL,
    PAUSED,
    USE_RESOURCES,
    CustomResource,
    ResourceKind,
)
from airflow_provider_connect_offsets.exceptions import AccessDenied, NotReconciled

_CONFIG_MAPS = tuple(Right(verb, "configmaps", "") for verb in ("get", "create", "patch", "delete"))


def state_rights(kind: ResourceKind) -> tuple[Right, ...]:
    """Return the rights that a change of states needs."""
    parent = (Right("get", ResourceKind.CONNECT.plural),) if kind is ResourceKind.CONNECTOR else ()
    return (*(Right(verb, kind.plural) for verb in ("get", "list", "watch", "patch")), *parent)


def offset_rights(kind: ResourceKind) -> tuple[Right, ...]:
    """Return the rights that offset operations need."""
    return (*state_rights(kind), *_CONFIG_MAPS)


def existence_rights() -> tuple[Right, ...]:
    """Return the rights that creating and deleting connectors needs, in addition to the rights for their states."""
    return (Right("create", ResourceKind.CONNECTOR.plural), Right("delete", ResourceKind.CONNECTOR.plural))


def refuse_without(rights: Iterable[Right], api: KubernetesApi) -> None:
    """Raise :class:`AccessDenied`, which names all missing rights, if the API server does not grant them."""
    missing = [right for right in rights if not api.has(right)]
    if missing:
        texts = ", ".join(f"{right.verb} {right.plural}" for right in missing)
        raise AccessDenied(
            f"Nothing was changed: the user of the Kubernetes connection lacks rights in namespace {api.namespace!r} "
            f"({texts}). Bind a Role with these rights to the user, like examples/strimzi/role.yaml."
        )


def refuse_idle(resource: CustomResource, api: KubernetesApi) -> None:
    """Raise :class:`NotReconciled` for a resource that the operator does not act on; the message says what to do."""
    if resource.is_paused:
        raise NotReconciled(
            f"Nothing was changed: the reconciliation of {resource} is paused by its annotation {PAUSED}, so the "
            "operator would do nothing. Remove the annotation, then try again."
        )
    if resource.kind is ResourceKind.CONNECTOR:
        _refuse_unmanaged(resource, api)
    _refuse_without_workers(resource)


def _refuse_unmanaged(resource: CustomResource, api: KubernetesApi) -> None:
    if not resource.cluster:
        raise NotReconciled(
            f"Nothing was changed: {resource} has no label {CLUSTER_LABEL}, so no KafkaConnect runs it. Add the label "
            "with the name of its KafkaConnect."
        )
    parent = api.find(ResourceKind.CONNECT, resource.cluster)
    if parent is None:
        raise NotReconciled(
            f"Nothing was changed: the label {CLUSTER_LABEL} of {resource} names KafkaConnect {resource.cluster!r}, "
            "which does not exist in that namespace."
        )
    if parent.annotations.get(USE_RESOURCES, "").lower() != "true":
        raise NotReconciled(
            f'Nothing was changed: {parent} has no annotation {USE_RESOURCES}: "true", so the operator does not '
            "manage connectors by resources there. Add the annotation, or use control=rest."
        )
    _refuse_without_workers(parent)


def _refuse_without_workers(resource: CustomResource) -> None:
    """Raise for 0 replicas; an unset number is one or more."""
    if resource.kind is not ResourceKind.CONNECTOR and resource.spec.get("replicas") == 0:
        raise NotReconciled(
            f"Nothing was changed: {resource} has 0 replicas, so no worker runs its connectors and the operator "
            "can't change them. Scale it up, or use control=storage."
        )

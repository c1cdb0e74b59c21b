"""The resources of Strimzi, opened from a ``kubernetes`` and a ``kafka_connect`` connection."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from airflow_provider_connect_offsets.connect.strimzi.resources import GROUP, CustomResource
from airflow_provider_connect_offsets.exceptions import InvalidInput
from airflow_provider_connect_offsets.hooks.connect_endpoint import CONN_TYPE, refuse_unknown_fields, text_of
from airflow_provider_connect_offsets.hooks.connections import connection_of, extra_of, is_there, name_errors
from airflow_provider_connect_offsets.parameters.connections import DEFAULT_CONNECT

if TYPE_CHECKING:
    from airflow.providers.cncf.kubernetes.hooks.kubernetes import KubernetesHook

    from airflow_provider_connect_offsets.connect.strimzi.client import ConnectStrimzi

log = logging.getLogger(__name__)
_EXAMPLE = """--conn-type kafka_connect --conn-extra '{"strimzi_cluster": "my-connect"}'"""


def open_strimzi(
    connect_conn_id: str, kubernetes_conn_id: str, *, timeout: float, patient: bool = True
) -> ConnectStrimzi:
    """Open the resources that a Connect connection names; use it as a context manager.

    ``strimzi_cluster`` is the name of the ``KafkaConnect`` or ``KafkaMirrorMaker2``, by default the only one of the
    namespace. ``strimzi_namespace`` is by default the namespace of the Kubernetes connection, else ``default``.

    Args:
        connect_conn_id: Connection of the Connect cluster. Without the default connection, the defaults above apply.
        kubernetes_conn_id: Connection of the Kubernetes cluster. If ``kubernetes_default`` does not exist, it is the
            cluster in which Airflow runs, or the default kubeconfig file.
        timeout: Seconds to wait for the operator.
        patient: False: raise at once if no process is at the API server's address.

    Raises:
        InvalidInput: The Kubernetes provider is not installed, or a connection is missing or can't be used.
        StoreError: The API server does not answer, or refuses.
    """
    hook = _kubernetes(kubernetes_conn_id)
    # Imports the Kubernetes client, which comes with the provider.
    from airflow_provider_connect_offsets.connect.strimzi.client import ConnectStrimzi

    cluster, named = _resource(connect_conn_id)
    try:
        api, namespace = hook.api_client, named or hook.get_namespace() or hook.DEFAULT_NAMESPACE
    # The Kubernetes client raises errors of several libraries for a configuration that can't be used.
    except Exception as error:
        raise InvalidInput(
            f"Airflow connection {kubernetes_conn_id!r} can't be used for Kubernetes: {error}"
        ) from error
    opened = ConnectStrimzi(api, namespace=namespace, cluster=cluster, timeout=timeout)
    if not patient:
        opened.greet()
    return opened


async def await_change(kubernetes_conn_id: str, resource: CustomResource, *, seconds: float) -> bool:
    """Watch a resource until it changes, for some seconds at most, without a thread.

    Args:
        kubernetes_conn_id: Connection of the Kubernetes cluster.
        resource: The resource as it was read.
        seconds: How long to watch.

    Returns:
        True if it changed, or if that is unknown because the watch broke off.
    """
    from aiohttp import ClientError
    from airflow.providers.cncf.kubernetes.hooks.kubernetes import AsyncKubernetesHook
    from kubernetes_asyncio.client import CustomObjectsApi
    from kubernetes_asyncio.client.exceptions import ApiException
    from kubernetes_asyncio.watch import Watch

    try:
        async with (
            AsyncKubernetesHook(conn_id=kubernetes_conn_id).get_conn() as api,
            Watch() as watch,  # has a client of its own, which is closed too
            asyncio.timeout(seconds + 5),
        ):
            call = CustomObjectsApi(api).list_namespaced_custom_object
            where = (GROUP, resource.version, resource.namespace, resource.kind.plural)
            async for _event in watch.stream(
                call,
                *where,
                field_selector=f"metadata.name={resource.name}",
                resource_version=resource.resource_version,
                timeout_seconds=max(1, round(seconds)),
            ):
                return True
    # ValueError: the stream is no JSON, or has a line that is longer than two events.
    except (ApiException, ClientError, OSError, TimeoutError, ValueError) as error:
        log.info("The watch of %s ended with an error: %s", resource, error)
        await asyncio.sleep(min(1.0, seconds))
        return True
    return False


def _kubernetes(conn_id: str) -> KubernetesHook:
    try:
        from airflow.providers.cncf.kubernetes.hooks.kubernetes import KubernetesHook
    except ImportError as error:
        raise InvalidInput(
            "control=strimzi needs the Kubernetes provider: pip install 'airflow-provider-connect-offsets[strimzi]'"
        ) from error
    if conn_id != KubernetesHook.default_conn_name:
        connection_of(conn_id, conn_type=KubernetesHook.conn_type, example="--conn-type kubernetes")
    return KubernetesHook(conn_id=conn_id)


def _resource(connect_conn_id: str) -> tuple[str, str]:
    """Return name and namespace of a ``KafkaConnect`` or ``KafkaMirrorMaker2``, each empty if it is not named."""
    if connect_conn_id == DEFAULT_CONNECT and not is_there(connect_conn_id):
        return "", ""
    connection = connection_of(connect_conn_id, conn_type=CONN_TYPE, example=_EXAMPLE)
    extra = extra_of(connection)
    with name_errors(connection):
        refuse_unknown_fields(extra)
        return text_of(extra, "strimzi_cluster") or "", text_of(extra, "strimzi_namespace") or ""

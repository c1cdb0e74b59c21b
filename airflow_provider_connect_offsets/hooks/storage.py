"""The storage of offsets, opened from a ``kafka_connect`` connection, for workers without a usable REST API."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow_provider_connect_offsets.connect.rest.client import ConnectRest
from airflow_provider_connect_offsets.connect.storage.standalone import StandaloneFile
from airflow_provider_connect_offsets.connect.storage.storage_control import StorageControl
from airflow_provider_connect_offsets.connect.storage.topic_storage import TopicStorage, WorkerTopics
from airflow_provider_connect_offsets.exceptions import InvalidInput
from airflow_provider_connect_offsets.hooks.connect_endpoint import (
    CONN_TYPE,
    EXAMPLE,
    endpoint_of,
    refuse_unknown_fields,
)
from airflow_provider_connect_offsets.hooks.connections import connection_of, extra_of, flag_of, name_errors
from airflow_provider_connect_offsets.hooks.kafka import kafka_config
from airflow_provider_connect_offsets.observe.clients import Clients, Origin

if TYPE_CHECKING:
    from airflow.sdk import Connection

# The offsets topic of a dedicated MirrorMaker 2; its other names follow from it (``MirrorMakerConfig.workerConfig``).
_MIRROR_MAKER = re.compile(r"mm2-offsets\.(?P<source>.+)\.internal")


def open_storage(connect_conn_id: str) -> Clients:
    """Open the storage that a connection names in its extra, with a control that checks that no worker runs.

    ``offsets_file`` is the file of a standalone worker, on this machine. ``offsets_topic`` is a topic on the cluster of
    ``storage_kafka_conn_id``; ``group_id`` and ``config_topic`` are settings of its workers, which for a dedicated
    MirrorMaker 2 follow from the name of the offsets topic.

    Raises:
        InvalidInput: The connection is missing, names no storage, or can't be used.
        StoreError: The storage can't be read.
    """
    connection = connection_of(connect_conn_id, conn_type=CONN_TYPE, example=EXAMPLE)
    extra = extra_of(connection)
    with name_errors(connection):
        refuse_unknown_fields(extra)
    file, topic = extra.get("offsets_file"), extra.get("offsets_topic")
    if bool(file) == bool(topic):
        raise InvalidInput(
            f"Airflow connection {connect_conn_id!r} must have exactly one storage for control=storage. Set either "
            "offsets_topic (with storage_kafka_conn_id and group_id) or offsets_file in its extra."
        )
    storage = StandaloneFile(Path(str(file))) if file else TopicStorage(_topics(connection, extra))
    # The worker of an offsets file is reached at its configured URL; workers of a topic are members of their group.
    configured = endpoint_of(connection).urls if file and connection.host else ()

    def open_rest(urls: tuple[str, ...], timeout: float) -> ConnectRest:
        return ConnectRest(endpoint_of(connection, observed=urls), timeout=timeout)

    control = StorageControl(storage, open_rest, rest_urls=configured)
    return Clients(storage, control, origin=Origin.FILE if file else Origin.TOPIC)


def _topics(connection: Connection, extra: Mapping[str, Any]) -> WorkerTopics:
    topic = str(extra["offsets_topic"])
    mirror_maker = _MIRROR_MAKER.fullmatch(topic)
    source = mirror_maker["source"] if mirror_maker else ""
    group = extra.get("group_id") or (f"{source}-mm2" if source else "")
    if not group:
        raise InvalidInput(
            f"Airflow connection {connection.conn_id!r} has an offsets_topic, but no group_id. Without the workers' "
            "group, it is unknown whether the workers are down."
        )
    exactly_once = flag_of(connection, "exactly_once")
    return WorkerTopics(
        client=kafka_config(str(extra.get("storage_kafka_conn_id") or "kafka_default")),
        offsets_topic=topic,
        config_topic=extra.get("config_topic") or (f"mm2-configs.{source}.internal" if source else ""),
        group_id=str(group),
        exactly_once=exactly_once,
    )

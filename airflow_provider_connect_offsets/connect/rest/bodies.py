"""Bodies of Connect's REST API, read into values; a body of another shape raises a built-in error, like ``KeyError``.

Strimzi's resources hold the same bodies.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from airflow_provider_connect_offsets.connect.protocols import (
    ConnectorInfo,
    ConnectorOverview,
    ConnectorStatus,
    State,
    TaskStatus,
    WriteReply,
)
from airflow_provider_connect_offsets.exceptions import Rejected
from airflow_provider_connect_offsets.masking import one_line
from airflow_provider_connect_offsets.offsets.families import ConnectorType
from airflow_provider_connect_offsets.offsets.redirected import show_value

# Part of Connect's reply to a change if the connector does not implement ``alterOffsets``.
_EXTERNALLY_MANAGED = "if this connector manages offsets externally"


def names_of(body: Any) -> list[str]:
    """Read the body of ``GET /connectors``."""
    if not isinstance(body, list):
        raise TypeError("not a list of names")
    return sorted(str(name) for name in body)


def overviews_of(body: Any) -> dict[str, ConnectorOverview]:
    """Read the body of ``GET /connectors?expand=info&expand=status``, without connectors of unknown type."""
    known = {name: one for name, one in body.items() if one["info"]["type"] in set(ConnectorType)}
    return {name: ConnectorOverview(info_of(one["info"]), status_of(one["status"])) for name, one in known.items()}


def plugins_of(body: Any) -> dict[str, ConnectorType]:
    """Read the body of ``GET /connector-plugins``: class → type; converters and the like are left out."""
    kinds = set(ConnectorType)
    return {str(one["class"]): ConnectorType(one["type"]) for one in body if one.get("type") in kinds}


def info_of(body: Any) -> ConnectorInfo:
    """Read the body of ``GET /connectors/{c}``; raises :class:`Rejected` for a connector of unknown type."""
    name, kind = body["name"], body["type"]
    if kind not in set(ConnectorType):
        raise Rejected(
            f"The worker does not know whether connector {name!r} is a source or a sink (type {kind!r}): "
            "most likely its plugin is not installed there."
        )
    return ConnectorInfo(name, ConnectorType(kind), dict(body["config"]))


def status_of(body: Mapping[str, Any]) -> ConnectorStatus:
    """Read the body of ``GET /connectors/{c}/status``."""
    connector = body["connector"]
    tasks = tuple(
        TaskStatus(int(task["id"]), State(task["state"]), str(task.get("worker_id", "")), task.get("trace"))
        for task in sorted(body["tasks"], key=lambda task: int(task["id"]))
    )
    worker = str(connector.get("worker_id", ""))
    return ConnectorStatus(State(connector["state"]), worker, tasks, connector.get("trace"))


def problems_of(body: Any) -> list[str]:
    """Read the body of ``PUT /connector-plugins/{class}/config/validate``: a sentence for each setting with errors."""
    values = [one["value"] for one in body["configs"]]
    errors = {one["name"]: one_line(" ".join(one["errors"])) for one in values if one["errors"]}
    return [f"{name}: {show_value(name, text)}" for name, text in errors.items()]


def reply_of(body: Any) -> WriteReply:
    """Read the reply to a change of offsets."""
    message = str(body["message"])
    return WriteReply(message, externally_managed=_EXTERNALLY_MANAGED in message)

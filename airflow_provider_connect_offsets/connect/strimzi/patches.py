"""How a requested state and a configuration are written into a resource.

A state that was not set is removed again at the end, so that what the resource says is as before. An annotation keeps
that in the meantime; it holds the state that we have set, so that one that someone sets after us is left as it is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from airflow_provider_connect_offsets.connect.protocols import HELD, State
from airflow_provider_connect_offsets.connect.strimzi.places import Place, pointer, text_of
from airflow_provider_connect_offsets.connect.strimzi.resources import CLUSTER_LABEL, ResourceKind
from airflow_provider_connect_offsets.exceptions import InvalidInput, Unsupported

# Overrides of the clients of a source's and a sink's tasks.
HOLD = ("producer.override.bootstrap.servers", "consumer.override.bootstrap.servers")
# A DNS subdomain (RFC 1123), as Kubernetes requires of the name of a resource.
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_LONGEST_NAME = 253
# Settings that a KafkaConnector has as fields of their own; Strimzi refuses them in ``spec.config``.
_CLASS, _TASKS = "connector.class", "tasks.max"


def held(config: Mapping[str, str]) -> dict[str, str]:
    """Return the configuration of a connector whose tasks can't start: their clients have no Kafka to connect to.

    Connect has a task of it FAILED before it reads or writes anything (Java class ``ClientUtils``). A worker whose
    ``connector.client.config.override.policy`` allows no such override refuses it.
    """
    return {**config, **dict.fromkeys(HOLD, HELD)}


def created_resource(name: str, config: Mapping[str, str], *, cluster: str, state: State) -> dict[str, Any]:
    """Return the body of a ``KafkaConnector``; raises :class:`InvalidInput` for a name that no resource can have."""
    if not _NAME.fullmatch(name) or len(name) > _LONGEST_NAME:
        raise InvalidInput(
            f"Nothing was created: Kubernetes allows no resource {name!r}. Use lower-case letters, digits, '-' and '.'."
        )
    metadata = {"name": name, "labels": {CLUSTER_LABEL: cluster}}
    return {"metadata": metadata, "spec": {**_settings(config), "state": state.value.lower()}}


def replaced_config(place: Place, config: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the JSON patch that replaces a connector's configuration; a part of a flow: :class:`Unsupported`."""
    if place.resource.kind is not ResourceKind.CONNECTOR:
        raise Unsupported(
            f"Nothing was changed: the settings of {place.connector!r} are in several parts of {place.resource}. "
            "Change them there."
        )
    return _replacing(place, _settings(config, like=place))


def restored_config(place: Place, config: Mapping[str, str], *, prior: Place) -> list[dict[str, Any]]:
    """Return the JSON patch that undoes :func:`replaced_config`; empty if someone else has changed it since.

    ``prior``: the place as it was before. Its settings are restored as they were written there, numbers as numbers.
    """
    if settings_of(place) != _settings(config, like=prior):
        return []
    return _replacing(place, settings_of(prior))


def settings_of(place: Place) -> dict[str, Any]:
    """Return the fields of a resource that are a connector's configuration."""
    return {field: place.section[field] for field in ("class", "tasksMax", "config") if field in place.section}


def _replacing(place: Place, settings: Mapping[str, Any]) -> list[dict[str, Any]]:
    gone = [field for field in settings_of(place) if field not in settings]
    return [
        *({"op": "add", "path": place.pointer(field), "value": value} for field, value in settings.items()),
        *({"op": "remove", "path": place.pointer(field)} for field in gone),
    ]


def _settings(config: Mapping[str, str], *, like: Place | None = None) -> dict[str, Any]:
    """Return the fields of a resource for a configuration; a setting that is in ``like`` stays as it is written there.

    A number there is no text then, and the resource is afterwards as it was.
    """
    there = {} if like is None else like.section.get("config") or {}
    own = {
        name: there[name] if there.get(name) is not None and text_of(there[name]) == value else value
        for name, value in config.items()
        if name not in ("name", _CLASS, _TASKS)
    }
    tasks = config.get(_TASKS)
    counted = {} if tasks is None else {"tasksMax": _whole(tasks)}
    return {"class": config.get(_CLASS, ""), **counted, "config": own}


def _whole(tasks: str) -> int:
    if not tasks.isdecimal():
        raise InvalidInput(f"Nothing was created: {_TASKS} must be a whole number, not {tasks!r}.")
    return int(tasks)


def requesting(place: Place, state: State) -> list[dict[str, Any]]:
    """Return the JSON patch that requests a state; empty if the resource requests it already."""
    if place.requested is state and not _is_ours(place):
        return []
    if _is_ours(place) and state is place.otherwise:
        return [
            {"op": "remove", "path": place.pointer("state")},
            {"op": "remove", "path": pointer("metadata", "annotations", place.unset_state)},
        ]
    value = state.value.lower()
    return [{"op": "add", "path": place.pointer("state"), "value": value}, *_noted(place, value)]


def _is_ours(place: Place) -> bool:
    """Whether the state is one that we have set, where none was set."""
    noted = place.resource.annotations.get(place.unset_state)
    return noted is not None and noted == place.section.get("state")


def _noted(place: Place, value: str) -> list[dict[str, Any]]:
    """Return the patch that keeps, changes or drops the annotation."""
    annotations = place.resource.annotations
    path = pointer("metadata", "annotations", place.unset_state)
    if "state" not in place.section or _is_ours(place):
        note = {place.unset_state: value}
        if not annotations:
            return [{"op": "add", "path": pointer("metadata", "annotations"), "value": note}]
        return [{"op": "add", "path": path, "value": value}]
    return [{"op": "remove", "path": path}] if place.unset_state in annotations else []

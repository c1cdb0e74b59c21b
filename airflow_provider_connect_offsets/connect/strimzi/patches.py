"""How a requested state and a configuration are written into a resource, and what a copy of a resource keeps.

If no state was set before, ours is removed again at the end, so that the resource is as before. In the meantime an
annotation records the state that we have set, so that a state that someone else sets after us is left as it is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from airflow_provider_connect_offsets.connect.protocols import HELD, State
from airflow_provider_connect_offsets.connect.strimzi.places import PLUGIN_VERSION, Place, text_of
from airflow_provider_connect_offsets.connect.strimzi.resources import (
    CLUSTER_LABEL,
    OFFSETS,
    OFFSETS_OF,
    PAUSED,
    CustomResource,
    ResourceKind,
    pointer,
)
from airflow_provider_connect_offsets.exceptions import InvalidInput, Unsupported

# Overrides of the clients of a source's and a sink's tasks.
HOLD = ("producer.override.bootstrap.servers", "consumer.override.bootstrap.servers")
# A DNS subdomain (RFC 1123), as Kubernetes requires of the name of a resource.
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_LONGEST_NAME = 253
# Settings that a KafkaConnector has as fields of their own; Strimzi refuses them in ``spec.config``.
_CLASS, _TASKS = "connector.class", "tasks.max"
# The fields of a connector's configuration, and the fields for ConfigMaps and state, which a copy does not get.
_SETTINGS = ("class", "tasksMax", "version", "config")
_OF_ONE = ("state", "listOffsets", "alterOffsets")
# Prefixes of the names of annotations that request something, or say whose resource it is.
_OF_ONE_RESOURCE = (
    *(OFFSETS, OFFSETS_OF, PAUSED, "strimzi.io/restart", "airflow-provider-connect-offsets/"),
    *("kubectl.kubernetes.io/last-applied-configuration", "argocd.argoproj.io/tracking-id"),
)


def held_config(config: Mapping[str, str]) -> dict[str, str]:
    """Return the configuration of a connector whose tasks can't start: their clients have no Kafka to connect to.

    Such a task is FAILED before it reads or writes anything (Java class ``ClientUtils``). A worker whose
    ``connector.client.config.override.policy`` allows no such override refuses the configuration.
    """
    return {**config, **dict.fromkeys(HOLD, HELD)}


def created_resource(
    name: str, config: Mapping[str, str], *, cluster: str, state: State, version: str, like: Place | None = None
) -> dict[str, Any]:
    """Return the body of a ``KafkaConnector``.

    Args:
        name: Its name.
        config: Its configuration.
        cluster: The ``KafkaConnect`` that runs it.
        state: The state that it requests.
        version: Version of Strimzi's API by which it is created.
        like: Another connector, of which this is a copy: it keeps what a person has set there, apart from configuration
            and state (labels, annotations, restarts). None: not a copy.

    Raises:
        InvalidInput: No resource can have that name, or ``tasks.max`` is not a number.
    """
    if not _NAME.fullmatch(name) or len(name) > _LONGEST_NAME:
        raise InvalidInput(
            f"Nothing was created: Kubernetes does not allow the name {name!r} for a resource. Use lower-case letters, "
            "digits, '-' and '.'."
        )
    spec = {**_kept_fields(like), **_settings(config, like=like, version=version), "state": state.value.lower()}
    labels = {} if like is None else like.resource.labels
    annotations = _kept_annotations(like)
    if like is not None and not _has_state(like):
        annotations[like.unset_state] = spec["state"]
    metadata = {"name": name, "labels": {**labels, CLUSTER_LABEL: cluster}, "annotations": annotations}
    return {"metadata": metadata, "spec": spec}


def _kept_fields(like: Place | None) -> dict[str, Any]:
    """Return the fields of a resource that a copy of it has, too."""
    section = {} if like is None else like.section
    return {field: value for field, value in section.items() if field not in (*_SETTINGS, *_OF_ONE)}


def _kept_annotations(like: Place | None) -> dict[str, str]:
    annotations = {} if like is None else like.resource.annotations
    return {name: text for name, text in annotations.items() if not name.startswith(_OF_ONE_RESOURCE)}


def config_patch(place: Place, config: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the JSON patch that replaces a configuration.

    Raises :class:`Unsupported` for a connector of a ``KafkaMirrorMaker2``.
    """
    if place.resource.kind is not ResourceKind.CONNECTOR:
        raise Unsupported(
            f"Nothing was changed: the settings of {place.connector!r} are in several parts of {place.resource}. "
            "Change them there."
        )
    return _settings_patch(place, _settings(config, like=place, version=place.resource.version))


def restoring_patch(place: Place, config: Mapping[str, str], *, prior: Place) -> list[dict[str, Any]]:
    """Return the JSON patch that undoes :func:`config_patch`; empty if someone else has changed it since.

    ``prior``: the place as it was before. Its settings are restored as they were written there, numbers as numbers.
    """
    if settings_of(place) != _settings(config, like=prior, version=prior.resource.version):
        return []
    return _settings_patch(place, settings_of(prior))


def settings_of(place: Place) -> dict[str, Any]:
    """Return the fields of a resource that are a connector's configuration."""
    return {field: place.section[field] for field in _SETTINGS if field in place.section}


def _settings_patch(place: Place, settings: Mapping[str, Any]) -> list[dict[str, Any]]:
    gone = [field for field in settings_of(place) if field not in settings]
    return [
        *({"op": "add", "path": place.pointer(field), "value": value} for field, value in settings.items()),
        *({"op": "remove", "path": place.pointer(field)} for field in gone),
    ]


def _settings(config: Mapping[str, str], *, like: Place | None, version: str) -> dict[str, Any]:
    """Return the fields of a resource for a configuration; a setting with the same value in ``like`` stays as it is.

    So a number there stays a number, and the resource is afterwards as it was. The plugin's version has a field of its
    own in ``v1``, whose later releases refuse it in ``config``; of ``v1beta2`` only the last release has that field.
    """
    section = {} if like is None else like.section
    there = section.get("config") or {}
    fields: dict[str, Any] = {"class": config.get(_CLASS, "")}
    if _TASKS in config:
        fields["tasksMax"] = _parse_tasks(config[_TASKS])
    has_field = PLUGIN_VERSION not in there and (version == "v1" or "version" in section)
    if has_field and PLUGIN_VERSION in config:
        fields["version"] = config[PLUGIN_VERSION]
    elsewhere = {"name", _CLASS, _TASKS, *({PLUGIN_VERSION} if has_field else ())}
    own = {
        name: there[name] if there.get(name) is not None and text_of(there[name]) == value else value
        for name, value in config.items()
        if name not in elsewhere
    }
    return {**fields, "config": own}


def _parse_tasks(tasks: str) -> int:
    if not tasks.isdecimal():
        raise InvalidInput(f"Nothing was changed: {_TASKS} must be a whole number, not {tasks!r}.")
    return int(tasks)


def state_patch(place: Place, state: State) -> list[dict[str, Any]]:
    """Return the JSON patch that requests a state; empty if the resource requests it already."""
    if place.requested_state is state and not _is_ours(place):
        return []
    if _is_ours(place) and state is place.default_state:
        return [
            {"op": "remove", "path": place.pointer("state")},
            {"op": "remove", "path": pointer("metadata", "annotations", place.unset_state)},
        ]
    value = state.value.lower()
    return [{"op": "add", "path": place.pointer("state"), "value": value}, *_note_patch(place, value)]


def _has_state(place: Place) -> bool:
    """Whether someone else has set a state."""
    return "state" in place.section and not _is_ours(place)


def _is_ours(place: Place) -> bool:
    """Whether we have set the present state, and none was set before."""
    noted = place.resource.annotations.get(place.unset_state)
    return noted is not None and noted == place.section.get("state")


def _note_patch(place: Place, value: str) -> list[dict[str, Any]]:
    """Return the patch that keeps, changes or drops the annotation."""
    if not _has_state(place):
        return annotation_patch(place.resource, {place.unset_state: value})
    path = pointer("metadata", "annotations", place.unset_state)
    return [{"op": "remove", "path": path}] if place.unset_state in place.resource.annotations else []


def annotation_patch(resource: CustomResource, annotations: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the JSON patch that sets annotations."""
    at = ("metadata", "annotations")
    if not resource.annotations:
        return [{"op": "add", "path": pointer(*at), "value": dict(annotations)}]
    return [{"op": "add", "path": pointer(*at, name), "value": text} for name, text in annotations.items()]

"""How the requested state of a connector is written into its resource.

A state that was not set is removed again at the end, so that what the resource says is as before. An annotation keeps
that in the meantime; it holds the state that we have set, so that one that someone sets after us is left as it is.
"""

from __future__ import annotations

from typing import Any

from airflow_provider_connect_offsets.connect.protocols import State
from airflow_provider_connect_offsets.connect.strimzi.places import Place, pointer


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

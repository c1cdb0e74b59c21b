"""The ConfigMaps through which Strimzi lists and alters offsets: ours, or the resource's own if it names some.

We create two. The operator works on the resource as an event contained it, so it may list once more right after a
listing: in a shared ConfigMap it would overwrite the offsets that are to be altered.
"""

from __future__ import annotations

import logging
from typing import Any

from airflow_provider_connect_offsets.connect.strimzi.kubernetes_api import ConfigMap, KubernetesApi
from airflow_provider_connect_offsets.connect.strimzi.places import Place, places_in
from airflow_provider_connect_offsets.connect.strimzi.resources import CustomResource
from airflow_provider_connect_offsets.exceptions import Rejected, StoreError, UnknownConnector

log = logging.getLogger(__name__)
# The operator takes over the common label from Strimzi 1.0 on; the other one is ours alone.
_LABEL = "airflow-provider-connect-offsets/temporary"
_OURS = {"app.kubernetes.io/managed-by": "airflow-provider-connect-offsets", _LABEL: "true"}
#: Field of a connector's settings → what the name of our ConfigMap ends with.
_SUFFIXES = {"listOffsets": "-connect-offsets", "alterOffsets": "-connect-offsets-new"}
_LONGEST_NAME = 253
# The API server takes a ConfigMap of up to 1 MiB in all.
_LARGEST = 1024 * 1024 - 16 * 1024


def own_name(resource: CustomResource, field: str) -> str:
    """Return the name of our ConfigMap of a resource, for ``listOffsets`` or ``alterOffsets``."""
    suffix = _SUFFIXES[field]
    return resource.name[: _LONGEST_NAME - len(suffix)] + suffix


def naming_patch(place: Place) -> list[dict[str, Any]]:
    """Return the JSON patch that names our ConfigMaps for a connector's offsets where the resource names none."""
    return [
        {"op": "add", "path": place.pointer(field), "value": {way: {"name": own_name(place.resource, field)}}}
        for field, way in (("listOffsets", "toConfigMap"), ("alterOffsets", "fromConfigMap"))
        if not place.config_map(field)
    ]


def own_fields(place: Place) -> list[str]:
    """Return the fields of a connector that name our ConfigMap."""
    return [field for field in _SUFFIXES if place.config_map(field) == own_name(place.resource, field)]


def names_ours(resource: CustomResource) -> bool:
    """Whether a connector of a resource names our ConfigMap for its offsets."""
    return any(own_fields(place) for place in places_in(resource))


class Documents:
    """The texts of ConfigMaps that offset operations read and write; other people's keys stay as they are."""

    def __init__(self, api: KubernetesApi) -> None:
        self._api = api
        self._prior: dict[tuple[str, str], str | None] = {}
        self._there: set[str] = set()  # names of ours
        self._empty: set[tuple[str, str]] = set()  # names and keys of ours

    def provide(self, place: Place) -> None:
        """Provide our ConfigMaps, so that the next listing and alteration find them."""
        self.prepare(place)
        if "alterOffsets" in own_fields(place):
            self._write(place, "alterOffsets", None)

    def prepare(self, place: Place) -> None:
        """Provide our ConfigMap, without the text of an earlier listing, so that only a new one can be read from it.

        Strimzi would create it as well, but without our label.
        """
        at = (place.config_map("listOffsets"), place.key)
        if "listOffsets" in own_fields(place) and at not in self._empty:
            self._write(place, "listOffsets", None)
            self._empty.add(at)

    def listed_text(self, place: Place) -> str | None:
        """Return the text that was listed; None if the ConfigMap or its key is gone."""
        self._empty.discard((place.config_map("listOffsets"), place.key))
        found = self._api.config_map(place.config_map("listOffsets"))
        return None if found is None else found.data.get(place.key)

    def write(self, place: Place, text: str) -> None:
        """Write the text that is to be altered; raises :class:`Rejected` if no ConfigMap can hold it."""
        size = len(text.encode())
        if size > _LARGEST:
            raise Rejected(
                f"Nothing was written: the offsets of connector {place.connector!r} take {size:,} bytes, but a "
                "ConfigMap can hold only 1 MiB. Change fewer partitions at once, or use control=strimzi+rest."
            )
        name = place.config_map("alterOffsets")
        if "alterOffsets" not in own_fields(place) and (name, place.key) not in self._prior:
            found = self._api.config_map(name)
            self._prior[name, place.key] = found.data.get(place.key) if found else None
            if found is None:
                self._api.create_config_map(ConfigMap(name, {place.key: text}, _OURS))
                return
        self._write(place, "alterOffsets", text)

    def _write(self, place: Place, field: str, text: str | None) -> None:
        """Write or remove a text; create our ConfigMap if it is not there."""
        name, is_own = place.config_map(field), field in own_fields(place)
        texts = {} if text is None else {place.key: text}
        if is_own and name not in self._there:
            found = self._ours(place, field)
            self._there.add(name)
            if found is None:
                self._api.create_config_map(ConfigMap(name, texts, _OURS))
                return
        try:
            self._api.write_texts(name, {place.key: text})
        except UnknownConnector:  # someone has deleted it
            self._api.create_config_map(ConfigMap(name, texts, _OURS))

    def is_written(self, place: Place, text: str) -> bool:
        """Whether the text that is to be altered is still there."""
        found = self._api.config_map(place.config_map("alterOffsets"))
        return found is not None and found.data.get(place.key) == text

    def clear(self, place: Place) -> None:
        """Remove the text from our ConfigMap: a late pass of the operator must not alter again what is reset."""
        if "alterOffsets" in own_fields(place) and place.config_map("alterOffsets") in self._there:
            self._write(place, "alterOffsets", None)

    def restore(self) -> None:
        """Restore the earlier content of ConfigMaps that a resource itself names in ``alterOffsets``; log failures."""
        while self._prior:
            (name, key), text = self._prior.popitem()
            try:
                self._api.write_texts(name, {key: text})
            except UnknownConnector:
                continue  # someone has deleted it meanwhile
            except StoreError as error:
                log.warning("%s The earlier content of the ConfigMap under %r was not restored.", error, key)

    def remove(self, resource: CustomResource) -> None:
        """Delete our ConfigMaps of a resource."""
        for name in (own_name(resource, field) for field in _SUFFIXES):
            self._there.discard(name)
            self._empty = {at for at in self._empty if at[0] != name}
            found = self._api.config_map(name)
            if found is not None and _is_ours(found, resource):
                self._api.delete_config_map(name)

    def _ours(self, place: Place, field: str) -> ConfigMap | None:
        """Return our ConfigMap; raises :class:`Rejected` if someone else has made a ConfigMap of that name."""
        name = own_name(place.resource, field)
        found = self._api.config_map(name)
        if found is not None and not _is_ours(found, place.resource):
            raise Rejected(
                f"Nothing was changed: a ConfigMap {name!r} is needed, but a ConfigMap with this name already exists "
                f"without the label {_LABEL}=true. Rename or delete that ConfigMap, or name another ConfigMap in "
                "listOffsets and alterOffsets."
            )
        return found


def _is_ours(config_map: ConfigMap, resource: CustomResource) -> bool:
    """Whether a ConfigMap of our name is ours, or was created in its place by the operator, which listed once more.

    ConfigMaps of our earlier versions have only the common label.
    """
    return not _OURS.items().isdisjoint(config_map.labels.items()) or config_map.owners == {resource.uid}

"""Names of connectors that trigger forms propose: what snapshots have found, in an Airflow Variable.

DAG files are parsed where the workspace may be out of reach, and parsed often, so a form can't be made from a snapshot.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

from airflow.providers.common.compat.sdk import conf
from airflow.sdk import Variable
from airflow.sdk.exceptions import AirflowRuntimeError

log = logging.getLogger(__name__)
#: JSON: series of snapshots → connector → family.
VARIABLE = "connect_offsets_connectors"
# A form's list is part of the stored DAG, and of each of its versions.
_MOST = 1_000


def are_on() -> bool:
    """Whether forms propose names: ``[connect_offsets] suggest_connectors``, by default false."""
    return bool(conf.getboolean("connect_offsets", "suggest_connectors", fallback=False))


def note_connectors(series: str, found: Mapping[str, str]) -> None:
    """Note connectors and their families, in place of those that the series had; a refusal of Airflow is logged."""
    try:
        known = _noted()
        if known.get(series) != found:
            description = "Connectors that forms propose (airflow-provider-connect-offsets)"
            Variable.set(VARIABLE, {**known, series: dict(found)}, description, serialize_json=True)
    except AirflowRuntimeError as error:
        log.warning(
            "Forms propose the connectors of an earlier snapshot: Variable %s can't be set: %s", VARIABLE, error
        )


def noted_connectors(family: str = "") -> list[str]:
    """Return the first 1,000 noted connectors of a family in order, or of all; none if the Variable can't be read."""
    try:
        noted = _noted()
    except AirflowRuntimeError as error:
        log.warning("Forms propose no connectors: Variable %s can't be read: %s", VARIABLE, error)
        return []
    names = {name for found in noted.values() for name, its in found.items() if family in ("", its)}
    return sorted(names)[:_MOST]


def _noted() -> Mapping[str, Mapping[str, str]]:
    """Read the Variable; what is not ours is left out."""
    try:
        noted = Variable.get(VARIABLE, default={}, deserialize_json=True)
    except ValueError:
        noted = None
    if not isinstance(noted, dict):
        log.warning("Forms propose no connectors: Variable %s is not a JSON object.", VARIABLE)
        return {}
    return {series: found for series, found in noted.items() if isinstance(found, dict)}

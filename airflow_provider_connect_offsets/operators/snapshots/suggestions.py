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
# Airflow's server refuses a task's request by the first, a secrets backend by the second.
_REFUSALS = (AirflowRuntimeError, PermissionError)


def are_on() -> bool:
    """Whether forms propose names: ``[connect_offsets] suggest_connectors``, by default false."""
    return bool(conf.getboolean("connect_offsets", "suggest_connectors", fallback=False))


def note_connectors(series: str, found: Mapping[str, str]) -> None:
    """Note connectors and their families, in place of those that the series had; a refusal of Airflow is logged.

    Of two series that end at the same moment, one may be missing until its next snapshot: Airflow can't compare and set
    a Variable.
    """
    try:
        known = _read()
        if known.get(series) != found:
            description = "Connectors that forms propose (airflow-provider-connect-offsets)"
            Variable.set(VARIABLE, {**known, series: dict(found)}, description, serialize_json=True)
    except _REFUSALS as error:
        log.warning(
            "Forms propose the connectors of an earlier snapshot: Variable %s can't be set: %s", VARIABLE, error
        )


def noted_connectors() -> dict[str, str]:
    """Return the family of each noted connector; none if the Variable can't be read."""
    try:
        noted = _read()
    except _REFUSALS as error:
        log.warning("Forms propose no connectors: Variable %s can't be read: %s", VARIABLE, error)
        return {}
    return {name: family for found in noted.values() for name, family in found.items()}


def _read() -> Mapping[str, Mapping[str, str]]:
    """Read the Variable; what is not ours is left out."""
    try:
        noted = Variable.get(VARIABLE, default={}, deserialize_json=True)
    except ValueError:
        noted = None
    if not isinstance(noted, dict):
        log.warning("Forms propose no connectors: Variable %s is not a JSON object.", VARIABLE)
        return {}
    return {series: found for series, found in noted.items() if isinstance(found, dict)}

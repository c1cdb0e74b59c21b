"""How a person undoes applied changes: the replaced offsets in a file, and the command that restores them."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from airflow_provider_connect_offsets.observe.clients import Clients, Origin
from airflow_provider_connect_offsets.offsets.document import Entry, Offsets, kip199_document
from airflow_provider_connect_offsets.words import trigger_command
from airflow_provider_connect_offsets.workspace.files import write_bytes
from airflow_provider_connect_offsets.workspace.fleet import FleetDirectory
from airflow_provider_connect_offsets.workspace.outcome import FleetUndo, Outcome, Result

log = logging.getLogger(__name__)
_CONTROLS = {Origin.STRIMZI: "strimzi", Origin.TOPIC: "storage", Origin.FILE: "storage"}


def with_undo(outcome: Outcome, clients: Clients, uri: str) -> Outcome:
    """Write the offsets that an applied change has replaced, and add the command that restores them to its outcome.

    That command triggers a change like any other: it is planned, checked and, if you want, approved. If the file can't
    be written, this is only logged, as the change is applied.

    Args:
        outcome: The outcome of the change.
        clients: Clients of its connector.
        uri: Where the offsets are written.
    """
    if outcome.result is not Result.APPLIED:
        return outcome
    try:
        _write([outcome], uri)
    except Exception:
        log.warning("The change is applied, but its prior offsets could not be written to %s.", uri, exc_info=True)
        return outcome
    return replace(outcome, undo=_command([outcome.connector], clients, uri))


def write_fleet_undo(fleet: FleetDirectory, clients: Clients, *, run: str) -> None:
    """Write the offsets that all applied changes of a run's fleet have replaced, and the command that restores them.

    Writes nothing if none is applied. If it can't be written, this is only logged: each change has its own undo.

    Args:
        fleet: The directory of the fleet.
        clients: Clients of its connectors.
        run: The run, ``dag_id/run_id``; what earlier runs have applied is left out.
    """
    try:
        found = (Outcome.read(one.outcome) for one in fleet.members().values())
        applied = [one for one in found if one is not None and one.run == run and one.result is Result.APPLIED]
        if applied:
            _write(applied, fleet.prior_offsets)
            command = _command([one.connector for one in applied], clients, fleet.prior_offsets)
            FleetUndo(command, len(applied)).write(fleet.undo)
    except Exception:
        log.warning("The changes are applied, but no undo of all of them could be written.", exc_info=True)


def _write(applied: Iterable[Outcome], uri: str) -> None:
    prior = {
        one.connector: Offsets.of(Entry(moved.partition, moved.before) for moved in one.offsets) for one in applied
    }
    write_bytes(uri, kip199_document(prior).encode())


def _command(names: Sequence[str], clients: Clients, uri: str) -> str:
    pattern = "|".join(map(re.escape, names))
    if clients.origin is Origin.GROUP:
        dag, params = "group_offsets_change", {"groups": pattern}
    else:
        dag, params = "connector_offsets_fleet", {"connectors": pattern}
        if len(names) == 1:
            dag, params = "connector_offsets_change", {"connector": names[0]}
        if control := _CONTROLS.get(clients.origin, "strimzi+rest" if clients.by_resource else ""):
            params["control"] = control
    return trigger_command(dag, {**params, "to": "file", "value": uri, **clients.connections})

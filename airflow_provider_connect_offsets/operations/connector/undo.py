"""How a person undoes an applied change: the replaced offsets in a file, and the command that restores them."""

from __future__ import annotations

import logging
import re
from dataclasses import replace

from airflow_provider_connect_offsets.observe.clients import Clients, Origin
from airflow_provider_connect_offsets.offsets.document import Entry, Offsets, kip199_document
from airflow_provider_connect_offsets.words import trigger_command
from airflow_provider_connect_offsets.workspace.files import write_bytes
from airflow_provider_connect_offsets.workspace.outcome import Outcome, Result

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
    prior = Offsets.of(Entry(one.partition, one.before) for one in outcome.offsets)
    try:
        write_bytes(uri, kip199_document({outcome.connector: prior}).encode())
    except Exception:
        log.warning("The change is applied, but its prior offsets could not be written to %s.", uri, exc_info=True)
        return outcome
    return replace(outcome, undo=_command(outcome.connector, clients, uri))


def _command(name: str, clients: Clients, uri: str) -> str:
    dag, params = "connector_offsets_change", {"connector": name}
    if clients.origin is Origin.GROUP:
        dag, params = "group_offsets_change", {"groups": re.escape(name)}
    elif control := _CONTROLS.get(clients.origin, "strimzi+rest" if clients.by_resource else ""):
        params["control"] = control
    return trigger_command(dag, {**params, "to": "file", "value": uri, **clients.connections})

"""What commands ask running connectors for, and the requests that they make of them."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from airflow_provider_connect_offsets.cli.live.tables import Row
from airflow_provider_connect_offsets.connect.protocols import (
    ConnectorOverview,
    ConnectorStatus,
    State,
    TaskStatus,
    first_line,
)
from airflow_provider_connect_offsets.observe.clients import Clients
from airflow_provider_connect_offsets.observe.lag import observe_replicated
from airflow_provider_connect_offsets.offsets.document import canonical_json
from airflow_provider_connect_offsets.operations.connector import stepwise
from airflow_provider_connect_offsets.operations.stages import steps
from airflow_provider_connect_offsets.saga import Owner
from airflow_provider_connect_offsets.words import quantify

LISTED = ("connector", "type", "state", "tasks", "class")
OFFSETS = ("partition", "offset")
TASKS = ("task", "state", "worker", "cause")
LAGS = ("connector", "topic", "partition", "position", "log_start", "log_end", "lag", "oldest_seconds")


def list_connectors(clients: Clients) -> list[Row]:
    """Return a row for each connector: columns ``LISTED``; ``tasks`` counts them by state."""
    return [_listed(name, one) for name, one in sorted(clients.control.overview().items())]


def _listed(name: str, one: ConnectorOverview) -> Row:
    tasks = Counter(task.state.value for task in one.status.tasks)
    counted = ", ".join(f"{count} {state}" for state, count in sorted(tasks.items()))
    values = (name, one.info.type.value, one.status.state.value, counted or "none", one.info.connector_class)
    return dict(zip(LISTED, values, strict=True))


def describe(clients: Clients, connector: str) -> dict[str, Any]:
    """Return type, class, state, tasks (rows of ``TASKS``) and stored offsets of a connector.

    Raises:
        UnknownConnector: There is no such connector.
        StoreError: Connect does not answer, or refuses.
    """
    info, status = clients.control.info(connector), clients.control.status(connector)
    return {
        "connector": connector,
        "type": info.type.value,
        "class": info.connector_class,
        "state": status.state.value,
        "worker": status.worker,
        "cause": first_line(status.trace),
        "tasks": [_task(task) for task in status.tasks],
        **clients.offsets.read_offsets(connector).as_json(),
    }


def offset_rows(offsets: Iterable[Mapping[str, Any]]) -> list[Row]:
    """Return rows of ``OFFSETS``, whose values are canonical JSON, for offsets as Connect's REST API has them."""
    maps = [(one["partition"], one["offset"]) for one in offsets]
    return [
        dict(zip(OFFSETS, (canonical_json(where), offset and canonical_json(offset)), strict=True))
        for where, offset in maps
    ]


def _task(task: TaskStatus) -> Row:
    return dict(zip(TASKS, (task.number, task.state.value, task.worker, first_line(task.trace)), strict=True))


def list_lags(clients: Clients, connectors: Iterable[str]) -> Iterator[Row]:
    """Yield a row for each partition that a connector reads: columns ``LAGS``.

    ``position``: the next offset to be read, None if no offset is stored. ``lag``: offsets up to the log end, 0 if no
    record is left to read, None if unknown. ``oldest_seconds``: age of the first record that is left.

    Raises:
        UnknownConnector: There is no such connector.
        StoreError: Connect or Kafka does not answer, or refuses.
    """
    now = time.time()
    for connector in connectors:
        for where, one in observe_replicated(clients, clients.control.info(connector)).items():
            seconds = one.seconds(now)
            oldest = None if seconds is None else round(seconds, 1)
            bounds = (one.position, one.bounds.log_start, one.bounds.log_end, one.lag, oldest)
            yield dict(zip(LAGS, (connector, where.topic, where.partition, *bounds), strict=True))


def request(clients: Clients, connector: str, state: State, owner: Owner) -> str:
    """Bring a connector into a state, wait until it is there, and say what it was.

    Raises:
        Overlap: A run changes the connector.
        InvalidRequest: Its name is protected here.
        NotRunning: It has failed, or is not there in time.
        StoreError: Connect does not answer, or refuses.
    """
    before = clients.control.status(connector).state
    stepwise.set_state(connector, state, clients, owner, seconds=clients.timeout)
    if state is State.STOPPED:
        steps.await_stopped(clients, connector)
    else:
        steps.await_state(clients, connector, state)
    return f"{connector!r} was {before} and is {state}."


def restart(clients: Clients, connector: str, owner: Owner, *, failed_only: bool) -> str:
    """Restart a connector and its tasks, or what of them has failed; say what was done, raise as ``stepwise`` does."""
    failed = stepwise.restart(connector, clients, owner, failed_only=failed_only, seconds=clients.timeout)
    if failed_only and not failed:
        return f"Nothing of {connector!r} had failed, so nothing was restarted."
    status = clients.control.status(connector)
    return f"{connector!r} was restarted, and is {_described(status)}. Before, {quantify(failed, 'part')} had failed."


def _described(status: ConnectorStatus) -> str:
    return f"{status.state} with {quantify(len(status.tasks), 'task')}"

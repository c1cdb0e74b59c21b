"""Look up an Airflow connection, and say clearly where there is none."""

from __future__ import annotations

import json
from typing import Any

from airflow.providers.common.compat.sdk import AirflowNotFoundException
from airflow.sdk import BaseHook, Connection

from airflow_provider_connect_offsets.exceptions import InvalidInput
from airflow_provider_connect_offsets.offsets.requests.values import is_true


def connection_of(conn_id: str, *, conn_type: str | None, example: str) -> Connection:
    """Get connection ``conn_id``; ``example`` shows the options of ``airflow connections add`` that make one.

    Raises :class:`InvalidInput` where it doesn't exist, or is of another type than ``conn_type`` (None: any will do).
    """
    add = f"airflow connections add {conn_id} {example}"
    try:
        connection: Connection = BaseHook.get_connection(conn_id)
    except AirflowNotFoundException as error:
        raise InvalidInput(f"There is no Airflow connection {conn_id!r}. Add it, like: {add}") from error
    if conn_type is not None and connection.conn_type != conn_type:
        raise InvalidInput(
            f"Airflow connection {conn_id!r} is of type {connection.conn_type!r}, but {conn_type!r} is needed. "
            f"Change its type, or add another, like: {add}"
        )
    return connection


def extra_of(connection: Connection) -> dict[str, Any]:
    """Read the extra of ``connection``; fields without a value (the form stores them) are left out.

    Raises :class:`InvalidInput` for an extra that is no JSON object, which Airflow itself would take for an empty one.
    """
    try:
        extra = json.loads(connection.extra or "{}")
    except ValueError:
        extra = None
    if not isinstance(extra, dict):
        raise InvalidInput(f"The extra of Airflow connection {connection.conn_id!r} is no JSON object.")
    return {name: value for name, value in extra.items() if value is not None and value != ""}


def flag_of(connection: Connection, name: str) -> bool:
    """Read a flag of the extra, which is a text where the connection was given as a URI; without one it is false.

    Raises :class:`InvalidInput`.
    """
    try:
        return is_true(extra_of(connection).get(name))
    except InvalidInput as error:
        raise InvalidInput(f"Airflow connection {connection.conn_id!r}: {name}: {error}") from error

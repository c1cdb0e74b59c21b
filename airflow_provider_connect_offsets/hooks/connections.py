"""Airflow connections and the fields of their extra, with errors that name the connection."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from airflow.providers.common.compat.sdk import AirflowNotFoundException
from airflow.sdk import BaseHook, Connection

from airflow_provider_connect_offsets.exceptions import InvalidInput
from airflow_provider_connect_offsets.offsets.requests.values import is_true


def connection_of(conn_id: str, *, conn_type: str | None, example: str) -> Connection:
    """Return connection ``conn_id``.

    Args:
        conn_id: Id of the connection.
        conn_type: Required type; None: any.
        example: Options of ``airflow connections add`` that make such a connection; shown in messages.

    Raises:
        InvalidInput: It does not exist, or has another type.
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


def is_there(conn_id: str) -> bool:
    """Whether there is a connection ``conn_id``."""
    try:
        BaseHook.get_connection(conn_id)
    except AirflowNotFoundException:
        return False
    return True


def extra_of(connection: Connection) -> dict[str, Any]:
    """Return the extra of ``connection`` without its empty fields, which the form stores too.

    Raises:
        InvalidInput: The extra is no JSON object; Airflow itself would read it as empty.
    """
    try:
        extra = json.loads(connection.extra or "{}")
    except ValueError:
        extra = None
    if not isinstance(extra, dict):
        raise InvalidInput(f"The extra of Airflow connection {connection.conn_id!r} must be a JSON object.")
    return {name: value for name, value in extra.items() if value is not None and value != ""}


def flag_of(connection: Connection, name: str) -> bool:
    """Return a flag of the extra, given as a bool or a string; False if it is missing. Raises :class:`InvalidInput`."""
    value = extra_of(connection).get(name)
    with name_errors(connection, field=f"{name}: "):
        return is_true(value)


@contextmanager
def name_errors(connection: Connection, *, field: str = "") -> Iterator[None]:
    """Prefix the message of each :class:`InvalidInput` of the block with the connection and, if given, its field."""
    try:
        yield
    except InvalidInput as error:
        raise InvalidInput(f"Airflow connection {connection.conn_id!r}: {field}{error}") from error

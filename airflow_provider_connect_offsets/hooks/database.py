"""The database that a source connector reads, opened through an Airflow connection of its provider."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseHook

from airflow_provider_connect_offsets.exceptions import DatabaseFailed, InvalidInput
from airflow_provider_connect_offsets.hooks.connections import connection_of

if TYPE_CHECKING:
    from airflow.providers.common.sql.hooks.sql import DbApiHook

_EXAMPLE = "--conn-type postgres --conn-host orders-db --conn-login debezium --conn-password … --conn-schema orders"


@dataclass(frozen=True, slots=True)
class AirflowDatabase:
    """A database, queried by its provider's hook; each query opens its own connection, as they are minutes apart."""

    conn_id: str
    hook: DbApiHook

    def fetch_first(self, statement: str, *values: str) -> tuple[Any, ...]:
        """Return the first row of a query; ``values`` replace each ``%s``. Raises :class:`DatabaseFailed`."""
        try:
            row: tuple[Any, ...] | None = self.hook.get_first(statement, parameters=values)
        except Exception as error:
            # Each driver has errors of its own; the first line names neither login nor password.
            cause = (str(error).strip().splitlines() or [type(error).__name__])[0]
            raise DatabaseFailed(f"The database of Airflow connection {self.conn_id!r} failed: {cause}.") from error
        if row is None:
            raise DatabaseFailed(f"The database of Airflow connection {self.conn_id!r} returned no row.")
        return row


def open_database(conn_id: str) -> AirflowDatabase:
    """Return the database of a connection of type ``postgres``; connects at the first query.

    Raises:
        InvalidInput: The connection is missing or of another type, or the provider of its type is not installed.
    """
    connection_of(conn_id, conn_type="postgres", example=_EXAMPLE)
    try:
        hook = BaseHook.get_hook(conn_id)
    except Exception as error:
        raise InvalidInput(
            f"Airflow connection {conn_id!r} needs the provider of its type, which can't be used: {error}. Install "
            "it: pip install 'airflow-provider-connect-offsets[postgres]'"
        ) from error
    return AirflowDatabase(conn_id, hook)

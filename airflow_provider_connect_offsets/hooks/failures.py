"""How this package's errors become failed tasks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from airflow.providers.common.compat.sdk import AirflowFailException

from airflow_provider_connect_offsets import exceptions
from airflow_provider_connect_offsets.exceptions import (
    AccessDenied,
    ChangeError,
    ConnectOffsetsError,
    DatasetError,
    InvalidInput,
    Rejected,
    UnknownConnector,
)

# Another attempt would end the same way. What isn't listed (a worker that is down, a rebalance) may pass by itself.
PERMANENT = (InvalidInput, AccessDenied, UnknownConnector, Rejected, DatasetError, ChangeError)


@contextmanager
def failing_clearly(*, except_for: type[ConnectOffsetsError] | None = None) -> Iterator[None]:
    """Fail a task for good, with one readable sentence, where a retry can't help; let other errors be retried."""
    try:
        yield
    except PERMANENT as error:
        if except_for is not None and isinstance(error, except_for):
            raise
        raise AirflowFailException(str(error)) from error


def as_event(error: ConnectOffsetsError) -> dict[str, str]:
    """What a triggerer hands on of ``error``: the task fails with it as if it had waited itself."""
    return {"error": type(error).__name__, "message": str(error)}


def raise_failure(event: Mapping[str, Any]) -> None:
    """Raise the error that a triggerer has handed on in ``event``, if there is one."""
    if event.get("error"):
        raise getattr(exceptions, event["error"], ConnectOffsetsError)(event["message"])

"""This package's errors as failed tasks: which are retried, and how they travel from a triggerer to its task."""

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
    NobodyThere,
    Rejected,
    UnknownConnector,
)

#: Errors that another attempt would meet again. Any other (a worker that is down, a rebalance) may pass by itself.
PERMANENT = (InvalidInput, AccessDenied, NobodyThere, UnknownConnector, Rejected, DatasetError, ChangeError)


@contextmanager
def fail_clearly(*, except_for: type[ConnectOffsetsError] | None = None) -> Iterator[None]:
    """Fail a task without retries, with one readable sentence, if a retry can't help; let other errors be retried.

    Args:
        except_for: A class of permanent errors that are retried nevertheless; None: no permanent error is retried.

    Raises:
        AirflowFailException: One of :data:`PERMANENT` was raised.
    """
    try:
        yield
    except PERMANENT as error:
        if except_for is not None and isinstance(error, except_for):
            raise
        raise AirflowFailException(str(error)) from error


def as_event(error: ConnectOffsetsError) -> dict[str, str]:
    """Return ``error`` as part of a trigger's event; :func:`raise_failure` raises it in the task."""
    return {"error": type(error).__name__, "message": str(error)}


def raise_failure(event: Mapping[str, Any]) -> None:
    """Raise the error in a trigger's event, if there is one."""
    if event.get("error"):
        raise getattr(exceptions, event["error"], ConnectOffsetsError)(event["message"])

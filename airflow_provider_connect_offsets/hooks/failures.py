"""How this package's errors become failed tasks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from airflow.providers.common.compat.sdk import AirflowFailException

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

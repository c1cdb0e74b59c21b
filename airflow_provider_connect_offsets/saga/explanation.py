"""The result of a saga, and the errors that an operation raises for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from airflow_provider_connect_offsets.exceptions import ConnectOffsetsError
from airflow_provider_connect_offsets.saga.record import SagaRecord


@dataclass(frozen=True, slots=True)
class Settled:
    """The result of a saga.

    Attributes:
        record: Its record.
        lost: Sentences, with a space before, about what could not be undone; empty if all was undone.
        warnings: Sentences for people.
        downtime: Seconds from the first stage that begins a downtime to the last that ends one; 0 if there was none.
    """

    record: SagaRecord
    lost: str = ""
    warnings: tuple[str, ...] = ()
    downtime: float = 0.0


class Explanation(Protocol):
    """Returns the error to raise for what the executor did; it may be the original error."""

    def undone(self, error: Exception, settled: Settled) -> Exception:
        """``error`` ended the operation, and everything was undone."""

    def not_undone(self, error: BaseException, failure: ConnectOffsetsError, record: SagaRecord) -> Exception:
        """``error`` ended the operation, and ``failure`` prevented the undo."""

    def stuck(self, error: Exception, record: SagaRecord) -> Exception:
        """``error`` came at the pivot: the operation can only go forward, and could not."""

    def unresumed(self, error: ConnectOffsetsError, record: SagaRecord) -> ConnectOffsetsError:
        """``error`` came after the pivot, or while a connector was resumed; the result names what is left to do."""


class AsItIs:
    """Returns the original error; if the undo failed, its failure."""

    def undone(self, error: Exception, settled: Settled) -> Exception:
        """The error."""
        del settled
        return error

    def not_undone(self, error: BaseException, failure: ConnectOffsetsError, record: SagaRecord) -> Exception:
        """The failure."""
        del error, record
        return failure

    def stuck(self, error: Exception, record: SagaRecord) -> Exception:
        """The error."""
        del record
        return error

    def unresumed(self, error: ConnectOffsetsError, record: SagaRecord) -> ConnectOffsetsError:
        """The error."""
        del record
        return error

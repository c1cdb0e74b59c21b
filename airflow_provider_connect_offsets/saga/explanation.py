"""What became of a saga, and the seam through which an operation says so in its own words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from airflow_provider_connect_offsets.exceptions import ConnectOffsetsError
from airflow_provider_connect_offsets.saga.record import SagaRecord


@dataclass(frozen=True, slots=True)
class Settled:
    """What became of a saga: its record, what could not be taken back (a sentence with a space before), warnings.

    ``downtime``: seconds from the first stage that begins one to the last that ends one; 0 where none did.
    """

    record: SagaRecord
    lost: str = ""
    warnings: tuple[str, ...] = ()
    downtime: float = 0.0


class Explanation(Protocol):
    """How an operation says what the executor did."""

    def undone(self, error: Exception, settled: Settled) -> Exception:
        """``error`` ended it, and everything was undone; gives what its caller is to see, which may be ``error``."""

    def not_undone(self, error: BaseException, failure: ConnectOffsetsError, record: SagaRecord) -> Exception:
        """``error`` ended it, and ``failure`` is why it could not be undone."""

    def stuck(self, error: Exception, record: SagaRecord) -> Exception:
        """``error`` came at the pivot, so that it can only go on, and could not."""

    def unresumed(self, error: ConnectOffsetsError, record: SagaRecord) -> ConnectOffsetsError:
        """``error`` came after the pivot, or as a connector was resumed; gives it with what is left to be done."""


class AsItIs:
    """What is raised is what the store said, or the proof; where it could not be undone, what stands."""

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

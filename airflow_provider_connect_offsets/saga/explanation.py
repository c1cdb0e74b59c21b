"""The result of a saga, and the errors that an operation raises for it."""

from __future__ import annotations

from dataclasses import dataclass

from airflow_provider_connect_offsets.exceptions import ConnectOffsetsError, Overlap
from airflow_provider_connect_offsets.saga.record import SagaRecord


@dataclass(frozen=True, slots=True)
class Settled:
    """The result of a saga.

    Attributes:
        record: Its record.
        lost: Sentences, with a space before, about what could not be undone; empty if all was undone.
        warnings: Warnings, each a sentence.
        downtime: Seconds from the first stage that begins a downtime to the last that ends one; 0 if there was none.
    """

    record: SagaRecord
    lost: str = ""
    warnings: tuple[str, ...] = ()
    downtime: float = 0.0


class Explanation:
    """Returns the error to raise for what the executor did: the original one, unless a subclass explains it."""

    def explain_taken_over(self, error: Overlap, record: SagaRecord) -> Overlap:
        """Return the error if another run took over: nothing is undone; the error names what this run had begun."""
        begun = [f"{one.title} {one.subject!r}" for one in record.stages if one.progress.is_captured]
        if not begun:
            return error
        return Overlap(
            f"{error} It had begun: {', '.join(begun)}. Its last request may have taken effect at any time since then. "
            f"Check state and offsets{self.describe_observed(record)} once the other run has ended."
        )

    def describe_observed(self, record: SagaRecord) -> str:
        """Describe what is observed of the saga's resources now, in brackets after a space; empty: nothing."""
        return ""

    def explain_undone(self, error: Exception, settled: Settled) -> Exception:
        """Return the error if ``error`` ended the operation, and it was undone."""
        return error

    def explain_not_undone(self, error: BaseException, failure: ConnectOffsetsError, record: SagaRecord) -> Exception:
        """Return the error, here ``failure``, if ``error`` ended the operation and ``failure`` prevented the undo."""
        return failure

    def explain_stuck(self, error: Exception, record: SagaRecord) -> Exception:
        """Return the error if ``error`` came at the pivot: the operation can only go forward, but could not."""
        return error

    def explain_unresumed(self, error: ConnectOffsetsError, record: SagaRecord) -> ConnectOffsetsError:
        """Return the error, which names what is left to do, if ``error`` came after the pivot or during a resume."""
        return error

    def explain_unsettled(self, failure: ConnectOffsetsError, record: SagaRecord) -> ConnectOffsetsError:
        """Return the error if ``failure`` prevents settling an earlier saga, so that the caller's can't begin."""
        return failure

"""Asks a person to approve, alike with every version of the standard provider."""

from __future__ import annotations

from abc import abstractmethod
from datetime import timedelta
from inspect import signature
from typing import TYPE_CHECKING, Any

from airflow.providers.standard.operators.hitl import ApprovalOperator, HITLOperator
from airflow.sdk.definitions.param import ParamsDict

if TYPE_CHECKING:
    from airflow.sdk import Context

# Before 1.12.2 the standard provider took ``execution_timeout`` for the time that an answer may take.
_TIME_TO_ANSWER = (
    "response_timeout" if "response_timeout" in signature(HITLOperator.__init__).parameters else "execution_timeout"
)


class AskOperator(ApprovalOperator):
    """An ``ApprovalOperator`` whose form shows what it asks, and nothing else.

    ``response_timeout``: how long an answer may take; without one, forever. The DAG's Params are no part of the
    question: before Airflow 3.2 the form would show them all, and an answer without them would fail the task.
    """

    def __init__(self, *, response_timeout: timedelta | None = None, **kwargs: Any) -> None:
        super().__init__(**{_TIME_TO_ANSWER: response_timeout, **kwargs})
        self.params = ParamsDict()

    def execute_complete(self, context: Context, event: dict[str, Any]) -> Any:
        """Go on, or record the rejection and skip the rest.

        The rejection is recorded first: skipping what follows ends the task (``SkipMixin.skip`` raises in Airflow 3).
        """
        if self.REJECT in event.get("chosen_options", ()):
            self.record_rejection()
        return super().execute_complete(context, event)

    @abstractmethod
    def record_rejection(self) -> None:
        """Let log and report say that the answer was no."""

"""The operators that ask a person to approve, alike with every version of the standard provider."""

from __future__ import annotations

from abc import abstractmethod
from datetime import timedelta
from inspect import signature
from typing import TYPE_CHECKING, Any, ClassVar

from airflow.providers.standard.operators.hitl import ApprovalOperator, HITLOperator
from airflow.sdk.definitions.param import ParamsDict

from airflow_provider_connect_offsets.hooks.failures import failing_clearly
from airflow_provider_connect_offsets.hooks.reports import report_address, report_url
from airflow_provider_connect_offsets.hooks.settings import GuardedParameters
from airflow_provider_connect_offsets.operators.shared.common import report_of
from airflow_provider_connect_offsets.operators.shared.links import ReportLink
from airflow_provider_connect_offsets.workspace.layout import Directory, RunDirectory

if TYPE_CHECKING:
    from airflow.sdk import Context

    from airflow_provider_connect_offsets.report import Pending

# Before 1.12.2 the standard provider took ``execution_timeout`` for the time that an answer may take.
_TIME_TO_ANSWER = (
    "response_timeout" if "response_timeout" in signature(HITLOperator.__init__).parameters else "execution_timeout"
)


class AskOperator(GuardedParameters, ApprovalOperator):
    """An ``ApprovalOperator`` that knows when not to ask, and whose form shows what it asks, and nothing else.

    ``response_timeout``: how long an answer may take; without one, forever. The DAG's Params are no part of the
    question: before Airflow 3.2 the form would show them all, and an answer without them would fail the task.
    """

    preset: ClassVar[dict[str, Any]] = {"subject": "Approval"}  # until it is asked

    def __init__(self, *, response_timeout: timedelta | None = None, **kwargs: Any) -> None:
        super().__init__(**{_TIME_TO_ANSWER: response_timeout, **kwargs})
        self.params = ParamsDict()

    def execute(self, context: Context) -> Any:
        """Ask, go on, or skip the rest."""
        with failing_clearly():
            if not self.is_asked():
                return None
            self.subject, self.body = self.question()
        return super().execute(context)

    @abstractmethod
    def is_asked(self) -> bool:
        """Return whether a person is asked; if not, the run goes on.

        Raises ``AirflowSkipException`` if nothing is to be done.
        """

    @abstractmethod
    def question(self) -> tuple[str, str]:
        """Return subject and body, in Markdown."""

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


class AskAboutRunOperator(AskOperator):
    """An operator that asks about a run, of which ``summary`` is the summary; its report shows the approval's state."""

    operator_extra_links = (ReportLink(),)
    #: What was not done after a rejection, for the log.
    undone: ClassVar[str] = "nothing was stopped or changed"
    #: The kind of the run's directory, which decides about the report.
    directory: ClassVar[type[Directory]] = RunDirectory
    summary: Any

    @property
    def run(self) -> Directory:
        """The run's directory."""
        return self.directory(self.summary["run_uri"])

    @property
    def link(self) -> str | None:
        """URL of the report for a browser; None if reports are not served."""
        return report_url(self.run.report, dag_id=self.dag_id)

    @property
    def address(self) -> str:
        """Address of the report, for messages."""
        return report_address(self.run.report, dag_id=self.dag_id)

    def write_report(self, pending: Pending) -> None:
        """Write the report with the current state of the approval."""
        report_of(self.run, pending=pending)

    def question(self) -> tuple[str, str]:
        """Return subject and body, in Markdown."""
        from airflow_provider_connect_offsets.report import read_report

        found = read_report(self.run)
        return found.subject, found.question(link=self.link)

    def record_rejection(self) -> None:
        """Record the rejection in log and report."""
        from airflow_provider_connect_offsets.report import Pending

        self.log.warning("Rejected, so %s. The report: %s", self.undone, self.address)
        self.write_report(Pending.REJECTED)

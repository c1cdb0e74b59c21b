"""Operators that ask a person to approve; they work the same with every version of the standard provider."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from inspect import signature
from typing import TYPE_CHECKING, Any, ClassVar

from airflow.providers.common.compat.sdk import AirflowFailException
from airflow.providers.standard.operators.hitl import ApprovalOperator, HITLOperator
from airflow.sdk.definitions.param import ParamsDict

from airflow_provider_connect_offsets.hooks.failures import fail_clearly
from airflow_provider_connect_offsets.hooks.reports import airflow_url, report_address, report_url
from airflow_provider_connect_offsets.hooks.settings import GuardedParameters, four_eyes
from airflow_provider_connect_offsets.operators.shared.common import find_trigger, report_of
from airflow_provider_connect_offsets.operators.shared.links import ReportLink
from airflow_provider_connect_offsets.workspace import files
from airflow_provider_connect_offsets.workspace.layout import Directory, RunDirectory
from airflow_provider_connect_offsets.workspace.outcome import Approval

if TYPE_CHECKING:
    from airflow.sdk import Context

    from airflow_provider_connect_offsets.report import Pending

# Before 1.12.2 the standard provider used ``execution_timeout`` as the time that an answer may take.
_TIME_TO_ANSWER = (
    "response_timeout" if "response_timeout" in signature(HITLOperator.__init__).parameters else "execution_timeout"
)


class AskOperator(GuardedParameters, ApprovalOperator):
    """An ``ApprovalOperator`` that knows when not to ask, and whose form shows what it asks, and nothing else.

    ``response_timeout``: how long an answer may take; without one, forever. The DAG's Params are no part of the
    question: before Airflow 3.2 the form would show them all, and an answer without them would fail the task.
    """

    preset: ClassVar[dict[str, Any]] = {"subject": "Approval"}  # until it is asked
    #: Who has triggered the run; None if no person has.
    triggered_by: str | None = None

    def __init__(self, *, response_timeout: timedelta | None = None, **kwargs: Any) -> None:
        super().__init__(**{_TIME_TO_ANSWER: response_timeout, **kwargs})
        self.params = ParamsDict()

    def execute(self, context: Context) -> Any:
        """Ask, go on, or skip the rest."""
        self.triggered_by = find_trigger(context)
        with fail_clearly():
            if not self.is_asked():
                return None
            self.subject, self.body = self.question()
        return super().execute(context)

    def answer_url(self, ti: Any) -> str:
        """Return the address at which a task instance of this question is answered, for templates of notifiers."""
        return airflow_url("dags", ti.dag_id, "runs", ti.run_id, "tasks", ti.task_id, "required_actions")

    @property
    def open_until(self) -> str:
        """When the time to answer ends that begins now, for templates of notifiers; empty if it never ends."""
        from airflow_provider_connect_offsets.report.words import moment

        limit: timedelta | None = getattr(self, _TIME_TO_ANSWER)
        return "" if limit is None else moment(datetime.now(tz=UTC) + limit)

    @abstractmethod
    def is_asked(self) -> bool:
        """Return whether a person is asked; if not, the run goes on.

        Raises ``AirflowSkipException`` if nothing is to be done.
        """

    def needs(self, *, approval: bool) -> bool:
        """Return whether a person is asked: if ``approval``, or with ``four_eyes`` if a person triggered the run."""
        return approval or (self.triggered_by is not None and four_eyes())

    @abstractmethod
    def question(self) -> tuple[str, str]:
        """Return subject and body, in Markdown."""

    def execute_complete(self, context: Context, event: dict[str, Any]) -> Any:
        """Go on, or record the rejection and skip the rest.

        The rejection is recorded first: skipping what follows ends the task (``SkipMixin.skip`` raises in Airflow 3).
        """
        self.triggered_by = find_trigger(context)
        if "chosen_options" in event:
            answer, by = event["chosen_options"][0], _person(event.get("responded_by_user"))
            if answer == self.APPROVE:
                self.refuse_own_approval(by)
            self.record_answer(Approval(answer, by, event["responded_at"], self.triggered_by))
        if self.REJECT in event.get("chosen_options", ()):
            self.record_rejection()
        return super().execute_complete(context, event)

    def refuse_own_approval(self, by: str | None) -> None:
        """Fail the task if ``four_eyes`` is on, and whoever has triggered the run approves it."""
        if four_eyes() and self.triggered_by is not None and by == self.triggered_by:
            raise AirflowFailException(
                f"Nothing was changed: {by!r} has triggered this run, so somebody else must approve it "
                "([connect_offsets] four_eyes). To ask again, clear this task."
            )

    def record_answer(self, approval: Approval) -> None:
        """Record who has answered; this class only logs it."""
        self.log.info(
            "%s by %s; the run was triggered by %s.",
            approval.answer,
            approval.answered_by or "nobody, in time",
            approval.triggered_by or "no person",
        )

    @abstractmethod
    def record_rejection(self) -> None:
        """Record in the log, and in the report if there is one, that the answer was no."""


def _person(user: Any) -> str | None:
    """Return who has answered, by the name that a run has for its user; None if a default was taken."""
    fields = user if isinstance(user, dict) else getattr(user, "__dict__", {})
    return fields.get("name") or fields.get("id") or None


class AskAboutRunOperator(AskOperator):
    """An operator that asks about the run whose summary is ``summary``; its report shows the approval's state."""

    operator_extra_links = (ReportLink(),)
    #: What was not done after a rejection, for the log.
    undone: ClassVar[str] = "nothing was stopped or changed"
    #: The kind of the run's directory, which determines the kind of report.
    directory: ClassVar[type[Directory]] = RunDirectory
    summary: Any

    def execute(self, context: Context) -> Any:
        """Ask, go on, or skip the rest; an earlier answer, to a question that was cleared, no longer counts."""
        with fail_clearly():
            files.remove(self.run.approval)
        return super().execute(context)

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

    def record_answer(self, approval: Approval) -> None:
        """Keep the answer with the run, too, for report, outcome and asset event."""
        super().record_answer(approval)
        replace(approval, digest=str(self.summary.get("digest") or "")).write(self.run.approval)

    def record_rejection(self) -> None:
        """Record the rejection in log and report."""
        from airflow_provider_connect_offsets.report import Pending

        self.log.warning("Rejected, so %s. The report: %s", self.undone, self.address)
        self.write_report(Pending.REJECTED)

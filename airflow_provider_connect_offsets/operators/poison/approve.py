"""Asks a person whether a record on which a sink stands is skipped."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from airflow.providers.common.compat.sdk import AirflowSkipException

from airflow_provider_connect_offsets.hooks.reports import report_address, report_url
from airflow_provider_connect_offsets.operators.poison.skip import report_of_poison
from airflow_provider_connect_offsets.operators.shared.approval import AskOperator
from airflow_provider_connect_offsets.operators.shared.links import ReportLink
from airflow_provider_connect_offsets.parameters.taking import Models, TakesParameters
from airflow_provider_connect_offsets.parameters.tasks import QuestionParams
from airflow_provider_connect_offsets.workspace.layout import PoisonDirectory
from airflow_provider_connect_offsets.workspace.poison import PoisonOutcome, PoisonResult

if TYPE_CHECKING:
    from airflow.sdk import Context


class ApprovePoisonSkipOperator(TakesParameters, AskOperator):
    """Ask a person whether the record that was found is skipped; an ``ApprovalOperator`` that knows when not to ask.

    It shows where the record is, why it fails, and its content, shortened and escaped. If the sink has not failed, and
    in a dry run (``plan_only``), it skips what follows; so it does after a rejection, and after ``response_timeout``
    without an answer if ``defaults`` is Reject. Without ``approval`` the run goes on at once.
    """

    parameters: ClassVar[Models] = (QuestionParams,)
    preset: ClassVar[dict[str, Any]] = {"subject": "Skip of a record"}
    operator_extra_links = (ReportLink(),)
    summary: Any

    def execute(self, context: Context) -> Any:
        """Ask, go on, or skip the rest."""
        from airflow_provider_connect_offsets.report import PoisonedRecords

        given = self.given(QuestionParams)
        if given.plan_only:
            raise AirflowSkipException(f"A dry run: nothing is skipped. The report: {self.address}")
        if not self.summary["records"]:
            raise AirflowSkipException(f"There is nothing to skip. The report: {self.address}")
        if not given.approval:
            return None
        records = PoisonedRecords.read(self.directory)
        link = report_url(self.directory.report, dag_id=self.dag_id)
        count, name = len(records.lines), self.summary["connector"]
        self.subject = f"Skip {'this record' if count == 1 else f'these {count} records'} of {name}?"
        self.body = records.question(link=link)
        return super().execute(context)

    @property
    def directory(self) -> PoisonDirectory:
        """Directory of the run."""
        return PoisonDirectory(self.summary["run_uri"])

    @property
    def address(self) -> str:
        """Address of the report, for messages."""
        return report_address(self.directory.report, dag_id=self.dag_id)

    def record_rejection(self) -> None:
        """Record the rejection in log and report."""
        self.log.warning("Rejected, so nothing was skipped. The report: %s", self.address)
        found = PoisonOutcome.read(self.directory.outcome)
        rejected = replace(found, result=PoisonResult.REJECTED, message=f"Nothing was skipped. {found.message}")
        rejected.write(self.directory.outcome)
        report_of_poison(self.directory)

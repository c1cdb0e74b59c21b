"""Asks a person whether a record on which a sink has failed is skipped."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from airflow.providers.common.compat.sdk import AirflowSkipException

from airflow_provider_connect_offsets.operators.shared.approval import AskAboutRunOperator
from airflow_provider_connect_offsets.operators.shared.common import report_of
from airflow_provider_connect_offsets.parameters.taking import Models
from airflow_provider_connect_offsets.parameters.tasks import QuestionParams
from airflow_provider_connect_offsets.workspace.layout import PoisonDirectory
from airflow_provider_connect_offsets.workspace.poison import PoisonOutcome, PoisonResult

if TYPE_CHECKING:
    from airflow_provider_connect_offsets.report import Pending


class ApprovePoisonSkipOperator(AskAboutRunOperator):
    """Ask a person whether the record that was found is skipped; an ``ApprovalOperator`` that knows when not to ask.

    It shows where the record is and why it fails; what it holds is in the report. If the sink has not failed, and
    in a dry run (``plan_only``), it skips what follows; so it does after a rejection, and after ``response_timeout``
    without an answer if ``defaults`` is Reject. Without ``approval`` the run goes on at once.
    """

    parameters: ClassVar[Models] = (QuestionParams,)
    undone = "nothing was skipped"

    directory = PoisonDirectory

    def is_asked(self) -> bool:
        """Return whether a person is asked; skips what follows in a dry run, and if the sink has not failed."""
        given = self.parse_as(QuestionParams)
        if given.plan_only:
            raise AirflowSkipException(f"Dry run: nothing is skipped. The report: {self.address}")
        if not self.summary["records"]:
            raise AirflowSkipException(f"There is nothing to skip. The report: {self.address}")
        return self.needs(approval=given.approval)

    def write_report(self, pending: Pending) -> None:
        """Write outcome and report of a rejection."""
        del pending
        found = PoisonOutcome.read(self.run.outcome)
        rejected = replace(found, result=PoisonResult.REJECTED, message=f"Nothing was skipped. {found.message}")
        rejected.write(self.run.outcome)
        report_of(self.run)

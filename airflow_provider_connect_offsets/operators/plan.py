"""The Spark job that plans a change and checks it, before anything is stopped."""

from __future__ import annotations

from typing import Any, ClassVar

from airflow_provider_connect_offsets.operators.shared.common import report_at, report_of
from airflow_provider_connect_offsets.operators.shared.spark import (
    OffsetsJobOperator,
    refuse_errors,
    refuse_protected_topics,
)
from airflow_provider_connect_offsets.workspace.files import read_json
from airflow_provider_connect_offsets.workspace.layout import RunDirectory

_HANDED_ON = (
    "connector",
    "digest",
    "partitions",
    "set",
    "clear",
    "keep",
    "records_again",
    "records_skipped",
    "worst",
    "warnings",
)


class PlanConnectorOffsetsOperator(OffsetsJobOperator):
    """Make the plan of a change from its snapshot, and check it against every rule; a ``SparkSubmitOperator``.

    ``run_uri`` is what the snapshot returned. All other arguments are those of ``SparkSubmitOperator``, except
    ``application``, ``py_files`` and ``application_args``, which are the job's own.

    Writes the datasets ``offset_plan`` and ``verdicts`` and the run's report. Returns the plan's summary: ``run_uri``,
    ``digest``, counts, and the worst verdict. Fails, so that nothing is stopped, if a verdict is an error, and if
    the Spark connection is missing (the Spark hook would go to YARN instead). Each part of the summary is an XCom of
    its own too, so that ``plan.output["digest"]`` works.
    """

    job = "plan"
    directory: ClassVar[type[RunDirectory]] = RunDirectory

    def judge(self) -> dict[str, Any]:
        """Show what the job found; raises :class:`PlanRefused` if a verdict is an error."""
        from airflow_provider_connect_offsets.report import Change, as_text, plan_table, verdict_table

        run = RunDirectory(self.run_uri)
        summary = read_json(run.summary)
        change = Change.read(run)
        self.log.info("The plan:\n%s", as_text(plan_table(change)))
        self.log.info("The verdicts:\n%s", as_text(verdict_table(change)))
        report = report_at(report_of(self.directory(self.run_uri)), dag_id=self.dag_id)
        refuse_errors(summary, nothing="Nothing was stopped or changed.")
        refuse_protected_topics(run)
        return {"run_uri": self.run_uri, **report, **{name: summary[name] for name in _HANDED_ON}}

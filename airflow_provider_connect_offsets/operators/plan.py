"""The Spark job that plans a change and checks it, before anything is stopped."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator

from airflow_provider_connect_offsets.exceptions import PlanRefused
from airflow_provider_connect_offsets.hooks.connections import connection_of
from airflow_provider_connect_offsets.hooks.failures import failing_clearly
from airflow_provider_connect_offsets.operators.common import page_of

if TYPE_CHECKING:
    from airflow.sdk import Context

_NAMED_IN_ERROR = 3
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
_QUIET = {"spark.ui.enabled": "false"}


class PlanConnectorOffsetsOperator(SparkSubmitOperator):
    """Make the plan of a change from its snapshot, and check it against every rule; a ``SparkSubmitOperator``.

    ``run_uri`` is what the snapshot returned. All other arguments are those of ``SparkSubmitOperator``, except
    ``application``, ``py_files`` and ``application_args``, which are the job's own.

    Writes the datasets ``offset_plan`` and ``verdicts`` and the run's page. Returns the plan's summary: ``run_uri``,
    ``digest``, counts, and the worst verdict. Fails, so that nothing is stopped, where a verdict is an error, and where
    the Spark connection is missing (the Spark hook would go to YARN instead). Each part of the summary is an XCom of
    its own too, so that ``plan.output["digest"]`` works.
    """

    template_fields: Sequence[str] = (*SparkSubmitOperator.template_fields, "run_uri", "_conn_id")

    def __init__(self, *, run_uri: str, **kwargs: Any) -> None:
        super().__init__(**{"name": "connect-offsets-plan", "multiple_outputs": True, **kwargs})
        self.run_uri = run_uri

    def execute(self, context: Context) -> dict[str, Any]:  # type: ignore[override]
        """Submit the job, then show and judge what it found."""
        from airflow_provider_connect_offsets.pipeline.shipping import QUICK_START, plan_job_path, write_py_files  # noqa: PLC0415

        with failing_clearly(), tempfile.TemporaryDirectory(prefix="connect-offsets-") as scratch:
            # Of any type, like the Spark hook takes it: one given as a URI (k8s://…) has the type of its scheme.
            connection = connection_of(
                self._conn_id, conn_type=None, example="--conn-type spark --conn-host 'local[*]'"
            )
            if str(connection.host).startswith("local"):
                # The Python that runs this task has what the job needs; the path may lead to another one.
                self.env_vars = {"PYSPARK_PYTHON": sys.executable, **(self.env_vars or {})}
            self.application = str(plan_job_path())
            self.py_files = str(write_py_files(Path(scratch, "connect_offsets.zip")))
            self.application_args = self.directories()
            self.conf = {**_QUIET, **QUICK_START, **(self.conf or {})}
            self._spark_binary = self._spark_binary or _spark_submit()
            super().execute(context)
        with failing_clearly():
            return self.judged()

    def directories(self) -> list[str]:
        """URIs of the run directories to plan."""
        return [self.run_uri]

    def judged(self) -> dict[str, Any]:
        """Show what the job found; raises :class:`PlanRefused` where that is an error."""
        from airflow_provider_connect_offsets.report import Change, as_text, plan_table, verdict_table  # noqa: PLC0415
        from airflow_provider_connect_offsets.workspace.files import read_json  # noqa: PLC0415
        from airflow_provider_connect_offsets.workspace.layout import RunDirectory  # noqa: PLC0415

        run = RunDirectory(self.run_uri)
        summary = read_json(run.summary)
        change = Change.read(run)
        self.log.info("The plan:\n%s", as_text(plan_table(change)))
        self.log.info("The verdicts:\n%s", as_text(verdict_table(change)))
        page = page_of(run)
        self.log.info("The page: %s", page)
        errors = summary["errors"]
        if errors:
            more = (
                f" (and {summary['verdicts']['error'] - _NAMED_IN_ERROR} more)" if len(errors) > _NAMED_IN_ERROR else ""
            )
            raise PlanRefused(f"Nothing was stopped or changed. {' '.join(errors[:_NAMED_IN_ERROR])}{more}")
        return {"run_uri": self.run_uri, "report": page, **{name: summary[name] for name in _HANDED_ON}}


def _spark_submit() -> str | None:
    """The ``spark-submit`` that came with pyspark, where none is on the path; None lets the hook look for its own."""
    if shutil.which("spark-submit"):
        return None
    beside = Path(sys.executable).with_name("spark-submit")
    return str(beside) if beside.exists() else None

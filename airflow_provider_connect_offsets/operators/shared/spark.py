"""What the operators that run a Spark job share: how ``spark-submit`` gets all that the job needs, and no more."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator

from airflow_provider_connect_offsets.exceptions import PlanRefused
from airflow_provider_connect_offsets.hooks.connections import connection_of
from airflow_provider_connect_offsets.hooks.failures import fail_clearly
from airflow_provider_connect_offsets.hooks.settings import GuardedParameters, class_archive, guards
from airflow_provider_connect_offsets.offsets.requests.guards import Named
from airflow_provider_connect_offsets.operators.shared.links import ReportLink
from airflow_provider_connect_offsets.parameters.taking import Models
from airflow_provider_connect_offsets.parameters.tasks import RunParams
from airflow_provider_connect_offsets.settings import umask
from airflow_provider_connect_offsets.workspace.layout import RunDirectory

if TYPE_CHECKING:
    from airflow.providers.openlineage.extractors import OperatorLineage
    from airflow.sdk import Context


#: How many errors of a plan the failure of its task names.
_NAMED = 3
# The umask of files that Hadoop writes.
_UMASK = "spark.hadoop.fs.permissions.umask-mode"


class SparkJobOperator(GuardedParameters, SparkSubmitOperator):
    """Run one of this package's jobs on a run directory; a ``SparkSubmitOperator``.

    All other arguments are those of ``SparkSubmitOperator``, except ``application``, ``py_files`` and
    ``application_args``, which are the job's own. Fails if the Spark connection is missing: the Spark hook would go to
    YARN instead.
    """

    parameters: ClassVar[Models] = (RunParams,)
    template_fields: Sequence[str] = (*SparkSubmitOperator.template_fields, "_conn_id")
    operator_extra_links = (ReportLink(),)
    #: Name of the Spark job (``pipeline.job``).
    job: str
    #: Whether the job ends before the JVM's second compiler pays off.
    is_short: ClassVar[bool] = True

    def __init__(self, *, run_uri: str, **kwargs: Any) -> None:
        super().__init__(**{"name": f"connect-offsets-{self.job}", **kwargs})
        self.run_uri = run_uri

    def job_arguments(self) -> list[str]:
        """Return the arguments of the job after its name; the first is the run's directory."""
        return [self.run_uri]

    def submit(self, context: Context) -> None:
        """Submit the job, and wait for its end."""
        from airflow_provider_connect_offsets.operators.shared.spark_installation import refuse_unfit_spark
        from airflow_provider_connect_offsets.pipeline.class_archive import quick_start
        from airflow_provider_connect_offsets.pipeline.shipping import job_path, spark_submit_path, write_py_files

        with fail_clearly(), tempfile.TemporaryDirectory(prefix="connect-offsets-") as scratch:
            # Of any type, as the Spark hook takes it: a connection given as a URI (k8s://…) has the type of its scheme.
            connection = connection_of(
                self._conn_id, conn_type=None, example="--conn-type spark --conn-host 'local[*]'"
            )
            is_local = str(connection.host).startswith("local")
            named = self._spark_binary or connection.extra_dejson.get("spark-binary")
            by_pip = None if named or shutil.which("spark-submit") else spark_submit_path()
            self._spark_binary = self._spark_binary or by_pip
            here = _home_of_pip() if by_pip else {}
            if (self._deploy_mode or connection.extra_dejson.get("deploy-mode")) != "cluster":
                here |= quick_start(class_archive(), is_short=self.is_short) | _without_secrets()
                here |= {"PYSPARK_DRIVER_PYTHON": sys.executable} if by_pip else {}
            # The Python that runs this task has what the job needs; the path may lead to another one.
            here |= {"PYSPARK_PYTHON": sys.executable} if is_local else {}
            # Otherwise a task's log has 500 lines from Spark and ten from us. On a cluster, the hook reads some.
            quiet = {"spark.log.level": "WARN"} if is_local else {}
            self.env_vars = {**here, **(self.env_vars or {})}
            self.conf = {_UMASK: f"{umask():03o}", **quiet, **(self.conf or {})}
            self.application = str(job_path())
            self.py_files = str(write_py_files(Path(scratch, "connect_offsets.zip")))
            self.parse_as(RunParams)  # refuses a directory that may not be read
            self.application_args = [self.job, *self.job_arguments()]
            refuse_unfit_spark(named or by_pip or "spark-submit", {**os.environ, **self.env_vars})
            SparkSubmitOperator.execute(self, context)


class OffsetsJobOperator(SparkJobOperator):
    """Run a job as ``SparkJobOperator`` does, then judge what it found."""

    preset: ClassVar[dict[str, Any]] = {"multiple_outputs": True}
    found: Mapping[str, Any] | None = None

    @abstractmethod
    def judge(self) -> dict[str, Any]:
        """Log and report what the job found, and return what the task returns; raises if the run must not go on."""

    def execute(self, context: Context) -> dict[str, Any]:  # type: ignore[override]
        """Submit the job, then show and judge what it found."""
        self.submit(context)
        with fail_clearly():
            found = self.judge()
        self.found = found
        return found

    def get_openlineage_facets_on_complete(self, _task_instance: object) -> OperatorLineage[Any, Any]:
        """Return what OpenLineage adds to the run of this task: the job's summary."""
        from airflow_provider_connect_offsets.operators.shared.lineage import lineage_of_job

        return lineage_of_job(self.job, self.found)


def _home_of_pip() -> dict[str, str]:
    """Return where the Spark is that pip has installed for this Python, unless the environment names another.

    The ``spark-submit`` of pip asks the first ``python3`` on the path, which may be another Python without Spark.
    """
    found = None if os.environ.get("SPARK_HOME") else find_spec("pyspark")
    return {"SPARK_HOME": str(Path(found.origin).parent)} if found is not None and found.origin else {}


def _without_secrets() -> dict[str, str]:
    """Return Airflow's own variables, emptied: the driver needs none of its keys, connections and passwords.

    ``spark-submit`` gets all variables of the task, and those of the hook replace them.
    """
    return dict.fromkeys((name for name in os.environ if name.startswith("AIRFLOW_")), "")


def refuse_protected_topics(run: RunDirectory) -> None:
    """Raise :class:`InvalidRequest` if a plan changes positions in a topic that may not be changed here."""
    from airflow_provider_connect_offsets.offsets.plan import Action
    from airflow_provider_connect_offsets.workspace.datasets import iterate_dataset
    from airflow_provider_connect_offsets.workspace.schemas import OFFSET_PLAN

    allowed = guards()
    if allowed.protected.patterns_for(Named.TOPIC) or allowed.allowed.patterns_for(Named.TOPIC):
        rows = iterate_dataset(run.offset_plan, OFFSET_PLAN)
        changed = {row["topic"] for row in rows if row["action"] != Action.KEEP and row["topic"] is not None}
        allowed.refuse_names(Named.TOPIC, sorted(changed))


def refuse_errors(summary: Mapping[str, Any], *, nothing: str) -> None:
    """Raise :class:`PlanRefused` that names the first errors of a plan, if it has any.

    ``summary``: of the plan's job. ``nothing``: a sentence that says what was not done.
    """
    errors, count = summary["errors"][:_NAMED], summary["verdicts"]["error"]
    if errors:
        more = f" (and {count - _NAMED} more)" if count > _NAMED else ""
        raise PlanRefused(f"{nothing} {' '.join(errors)}{more}")

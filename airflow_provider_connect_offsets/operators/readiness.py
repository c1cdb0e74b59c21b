"""The tasks that report how ready a MirrorMaker 2 flow is for a failover: observe, judge on Spark, require."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from airflow.providers.common.compat.sdk import AirflowFailException

from airflow_provider_connect_offsets.hooks.clients import open_clients
from airflow_provider_connect_offsets.hooks.failures import fail_clearly
from airflow_provider_connect_offsets.hooks.settings import workspace_uri
from airflow_provider_connect_offsets.offsets.requests.readiness import ReadinessRequest
from airflow_provider_connect_offsets.operators.shared.common import new_directory, report_at, report_written
from airflow_provider_connect_offsets.operators.shared.links import ReportedOperator
from airflow_provider_connect_offsets.operators.shared.spark import OffsetsJobOperator
from airflow_provider_connect_offsets.parameters.connections import FlowConnectionParams
from airflow_provider_connect_offsets.parameters.flow import HistoryParams
from airflow_provider_connect_offsets.parameters.taking import Models
from airflow_provider_connect_offsets.parameters.tasks import FoundParams, PartParams
from airflow_provider_connect_offsets.words import quantify
from airflow_provider_connect_offsets.workspace.paths import join, unique_segment
from airflow_provider_connect_offsets.workspace.readiness import Kept, ReadinessDirectory

if TYPE_CHECKING:
    from airflow.sdk import Context

_HANDED_ON = (
    "ready",
    "ready_for",
    "worst",
    "partitions",
    "lagging",
    "lag",
    "lag_ms",
    "lost",
    "groups",
    "group_partitions",
    "group_planned",
    "group_unplanned",
    "group_covered",
    "group_rereads",
    "verdicts",
    "rules",
)


class SnapshotMirrorReadinessOperator(ReportedOperator):
    """Observe a MirrorMaker 2 flow: connectors, stored offsets, logs of both clusters, syncs, checkpoints and groups.

    Reads only. Returns the URI of the run's directory, which the later tasks take as ``run_uri``.
    """

    parameters: ClassVar[Models] = (ReadinessRequest, FlowConnectionParams, PartParams)

    def execute(self, context: Context) -> str:
        """Write the snapshot."""
        from airflow_provider_connect_offsets.hooks.kafka import kafka_cluster
        from airflow_provider_connect_offsets.observe.flow.readiness import take_readiness_snapshot

        dag_id = str(context["ti"].dag_id)
        with fail_clearly():
            directory = ReadinessDirectory(new_directory(self, context).uri)
            request, named = self.parse_as(ReadinessRequest), self.parse_as(FlowConnectionParams)
            with (
                open_clients(named, named.source_kafka_conn_id, patient=False) as clients,
                kafka_cluster(named.source_kafka_conn_id, patient=False) as source,
                kafka_cluster(named.target_kafka_conn_id, patient=False) as target,
            ):
                observed = take_readiness_snapshot(
                    request,
                    clients,
                    source,
                    target,
                    directory,
                    kept=Kept(workspace_uri(), dag_id, clients.cluster, request.source_connector),
                )
        self.log.info("Observed %s; datasets under %s", observed, directory.uri)
        return directory.uri


class JudgeMirrorReadinessOperator(OffsetsJobOperator):
    """Judge an observed flow and add the observations to its history; a ``SparkSubmitOperator``.

    ``run_uri`` is what the snapshot returned. ``keep``: how many runs the history holds; directories of older runs are
    removed. All other arguments are those of ``SparkSubmitOperator``, except ``application``, ``py_files`` and
    ``application_args``, which the operator sets.

    Writes the datasets ``readiness`` and ``group_readiness`` and the run's report. Succeeds whatever it finds. Returns
    ``run_uri``, ``report``, ``report_url``, ``ready``, ``worst`` and counts; each is also an XCom of its own.
    """

    parameters: ClassVar[Models] = (*OffsetsJobOperator.parameters, HistoryParams)
    job = "readiness"

    def job_arguments(self) -> list[str]:
        """Return the run's directory, and how many runs are kept."""
        return [self.run_uri, str(max(1, self.parse_as(HistoryParams).keep))]

    def judge(self) -> dict[str, Any]:
        """Write the report, remove expired runs, and return what the task returns."""
        from airflow_provider_connect_offsets.observe.flow.readiness import forget_earlier
        from airflow_provider_connect_offsets.report import Readiness, as_text

        directory = ReadinessDirectory(self.run_uri)
        found = Readiness.read(directory)
        self.log.info("%s", as_text(found.table()))
        uri = report_written(found.write, directory.report)
        report = report_at(uri, dag_id=self.dag_id)
        for gone in forget_earlier(found.summary, keep_under=join(workspace_uri(), unique_segment(self.dag_id))):
            self.log.info(
                "Removed, because the history keeps only %s runs: %s", self.parse_as(HistoryParams).keep, gone
            )
        return {"run_uri": self.run_uri, **report, **{name: found.summary[name] for name in _HANDED_ON}}


class RequireMirrorReadyOperator(ReportedOperator):
    """Fail if a flow is not ready for a failover, with the worst finding."""

    parameters: ClassVar[Models] = (FoundParams,)
    summary: Any

    def execute(self, context: Context) -> None:
        """Fail unless the flow is ready."""
        del context
        report = self.summary.get("report_url") or self.summary["report"]
        if not self.summary["ready"]:
            errors = self.summary["verdicts"]["error"]
            more = f" And {quantify(errors - 1, 'more error')}." if errors > 1 else ""
            ready_for = self.summary.get("ready_for")
            which = f"Ready only for a failover that is {ready_for[0]}" if ready_for else "Not ready for a failover"
            raise AirflowFailException(f"{which}. {self.summary['worst']['message']}{more} {report}")
        self.log.info("Ready for a failover: no threshold is crossed. The report: %s", report)

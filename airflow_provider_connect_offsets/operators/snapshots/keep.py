"""The tasks of a scheduled snapshot of a Connect cluster: take it, compare it on Spark, and require no surprise."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, ClassVar

from airflow.providers.common.compat.sdk import AirflowFailException

from airflow_provider_connect_offsets.hooks.failures import fail_clearly
from airflow_provider_connect_offsets.hooks.settings import workspace_uri
from airflow_provider_connect_offsets.offsets.requests.snapshots import SnapshotRequest
from airflow_provider_connect_offsets.operators.shared.common import new_directory, report_at, report_written, run_key
from airflow_provider_connect_offsets.operators.shared.links import ReportedOperator
from airflow_provider_connect_offsets.operators.shared.spark import OffsetsJobOperator
from airflow_provider_connect_offsets.operators.snapshots import suggestions
from airflow_provider_connect_offsets.parameters.snapshots import KeptSnapshotsParams, SnapshotConnectionParams
from airflow_provider_connect_offsets.parameters.taking import Models
from airflow_provider_connect_offsets.parameters.tasks import FoundParams, PartParams
from airflow_provider_connect_offsets.words import quantify
from airflow_provider_connect_offsets.workspace.files import write_json
from airflow_provider_connect_offsets.workspace.schemas import CONNECTORS
from airflow_provider_connect_offsets.workspace.series import SnapshotSeries
from airflow_provider_connect_offsets.workspace.snapshots import ComparisonDirectory, SnapshotDirectory, series_root

if TYPE_CHECKING:
    from airflow.sdk import Context

_HANDED_ON = ("uri", "previous", "connectors", "unread", "partitions", "lag", "changes", "verdicts", "rules", "worst")


class SnapshotConnectClusterOperator(ReportedOperator):
    """Keep a snapshot of every connector whose whole name matches ``connectors``, many requests at once. Reads only.

    It is kept under ``_snapshots`` of the DAG's directory, next to those of earlier runs with the same ``connectors``
    and ``connect_conn_id``. Returns the URI of the run's directory, which the later tasks take as ``run_uri``.
    """

    parameters: ClassVar[Models] = (SnapshotRequest, SnapshotConnectionParams, PartParams)

    def execute(self, context: Context) -> str:
        """Take the snapshot; fails before it reads anything if the request is invalid."""
        from airflow_provider_connect_offsets.hooks.snapshots import open_snapshot_clients
        from airflow_provider_connect_offsets.observe.cluster_snapshot import take_cluster_snapshot
        from airflow_provider_connect_offsets.operations.fleet import select
        from airflow_provider_connect_offsets.workspace.datasets import read_dataset

        with fail_clearly():
            directory = ComparisonDirectory(new_directory(self, context).uri)
            request, named = self.parse_as(SnapshotRequest), self.parse_as(SnapshotConnectionParams)
            with open_snapshot_clients(named) as clients:
                names = select(clients.control.connectors(), request.connectors)
                root = series_root(
                    workspace_uri(),
                    dag_id=str(context["ti"].dag_id),
                    cluster=clients.cluster,
                    connect_conn_id=named.connect_conn_id,
                    connectors=request.connectors,
                )
                kept = SnapshotSeries(root).begin(directory, now=datetime.now(tz=UTC))
                write_json(directory.request, request.as_json())
                snapshot = SnapshotDirectory(kept.uri)
                record = take_cluster_snapshot(names, clients, snapshot, run=run_key(context))
            if suggestions.are_on():
                rows = read_dataset(snapshot.connectors, CONNECTORS)
                suggestions.note_connectors(root.rpartition("/")[2], {row["connector"]: row["family"] for row in rows})
        offsets, connectors = quantify(record.offsets, "offset"), quantify(record.connectors, "connector")
        self.log.info("Kept %s of %s at %s", offsets, connectors, kept.uri)
        for name in record.vanished:
            self.log.warning("%r was deleted while its offsets were read. The snapshot has none of them.", name)
        for name, reason in record.unread.items():
            self.log.warning("The offsets of %r could not be read, and are not in the snapshot: %s", name, reason)
        return directory.uri


class CompareSnapshotsOperator(OffsetsJobOperator):
    """Compare a snapshot with the one before, then remove old ones; a ``SparkSubmitOperator``.

    ``run_uri`` is what the snapshot returned. All other arguments are those of ``SparkSubmitOperator``, except
    ``application``, ``py_files`` and ``application_args``, which are the job's own.

    Writes the datasets ``offset_changes`` and ``verdicts`` and the run's report. Succeeds with any findings; returns
    ``run_uri``, ``uri`` (of the snapshot), ``report``, ``report_url``, ``worst`` and counts, each an XCom of its own
    too.
    """

    parameters: ClassVar[Models] = (*OffsetsJobOperator.parameters, KeptSnapshotsParams)
    job = "offset-changes"

    def judge(self) -> dict[str, Any]:
        """Write the report, remove old snapshots, and return what the task returns."""
        from airflow_provider_connect_offsets.report import SnapshotChanges, as_text

        directory, kept, now = (
            ComparisonDirectory(self.run_uri),
            self.parse_as(KeptSnapshotsParams),
            datetime.now(tz=UTC),
        )
        since = kept.earliest_kept(now=now)
        found = SnapshotChanges.read(directory)
        self.log.info("%s", as_text(found.table()))
        uri = report_written(found.write, directory.report)
        report = report_at(uri, dag_id=self.dag_id)
        for gone in SnapshotSeries(found.summary["series"]).prune(keep=kept.keep, since=since, now=now):
            self.log.info("Removed, because of keep=%s and keep_for=%r: %s", kept.keep, kept.keep_for, gone)
        return {"run_uri": self.run_uri, **report, **{name: found.summary[name] for name in _HANDED_ON}}


class RequireNoSurpriseOperator(ReportedOperator):
    """Fail if the comparison of two snapshots has a finding that ``fail_on`` names, with the worst of them."""

    parameters: ClassVar[Models] = (FoundParams,)
    summary: Any

    def execute(self, context: Context) -> None:
        """Fail if there is an error."""
        del context
        report = self.summary.get("report_url") or self.summary["report"]
        errors = self.summary["verdicts"]["error"]
        if errors:
            more = f" And {quantify(errors - 1, 'more finding')} listed in fail_on." if errors > 1 else ""
            before = f", the previous one at {self.summary['previous']}" if self.summary["previous"] else ""
            kept = f"The snapshot is kept at {self.summary['uri']}{before}."
            raise AirflowFailException(f"{self.summary['worst']['message']}{more} {kept} {report}")
        self.log.info("Nothing was found that is listed in fail_on. The report: %s", report)

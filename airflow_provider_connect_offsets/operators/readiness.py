"""How ready a MirrorMaker 2 flow is for a failover: looked at, judged on Spark, shown, and told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from airflow.providers.common.compat.sdk import AirflowFailException
from airflow.sdk import BaseOperator

from airflow_provider_connect_offsets.hooks.clients import open_clients, workspace_uri
from airflow_provider_connect_offsets.hooks.failures import failing_clearly
from airflow_provider_connect_offsets.hooks.runs import directory_of
from airflow_provider_connect_offsets.operators.shared.common import page_written, report_at
from airflow_provider_connect_offsets.operators.shared.links import ReportLink
from airflow_provider_connect_offsets.operators.shared.spark import OffsetsJobOperator

if TYPE_CHECKING:
    from airflow.sdk import Context

    from airflow_provider_connect_offsets.offsets.requests.readiness import ReadinessRequest
    from airflow_provider_connect_offsets.workspace.readiness import ReadinessDirectory

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


class SnapshotMirrorReadinessOperator(BaseOperator):
    """Look at a MirrorMaker 2 flow: connectors, stored offsets, logs of both clusters, syncs, checkpoints and groups.

    Reads only. ``source_connector`` and ``checkpoint_connector`` (may be empty) are on the Connect cluster of
    ``connect_conn_id``; ``groups`` is a regular expression for whole names of the source's groups (empty: all).
    ``thresholds``: where a finding becomes an error (``offsets.requests.readiness.Thresholds``), by name; 0: it
    is only shown.
    ``part`` keeps several flows of one DAG run apart.

    Returns the URI of the run's directory, which the later tasks take as ``run_uri``.
    """

    template_fields: Sequence[str] = (
        "source_connector",
        "checkpoint_connector",
        "groups",
        "thresholds",
        "connect_conn_id",
        "source_kafka_conn_id",
        "target_kafka_conn_id",
        "control",
        "part",
    )
    ui_color = "#dbe7f3"
    operator_extra_links = (ReportLink(),)

    def __init__(  # noqa: PLR0913 - a flow and its connections, each by its name
        self,
        *,
        source_connector: str,
        checkpoint_connector: str = "",
        groups: str = "",
        thresholds: Mapping[str, Any] | None = None,
        connect_conn_id: str = "kafka_connect_default",
        source_kafka_conn_id: str = "kafka_source",
        target_kafka_conn_id: str = "kafka_target",
        control: str = "rest",
        part: str = "",
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.source_connector = source_connector
        self.checkpoint_connector = checkpoint_connector
        self.groups = groups
        self.thresholds = thresholds
        self.connect_conn_id = connect_conn_id
        self.source_kafka_conn_id = source_kafka_conn_id
        self.target_kafka_conn_id = target_kafka_conn_id
        self.control = control
        self.part = part

    def execute(self, context: Context) -> str:
        """Write the snapshot."""
        from airflow_provider_connect_offsets.hooks.kafka import kafka_cluster
        from airflow_provider_connect_offsets.observe.flow.readiness import take_readiness_snapshot
        from airflow_provider_connect_offsets.workspace.readiness import Kept

        directory = _directory(directory_of(context, part=self.part).uri)
        dag_id = str(context["ti"].dag_id)
        with failing_clearly():
            request = self.request()
            with (
                open_clients(self.connect_conn_id, self.source_kafka_conn_id, control=self.control) as opened,
                kafka_cluster(self.source_kafka_conn_id) as source,
                kafka_cluster(self.target_kafka_conn_id) as target,
            ):
                looked = take_readiness_snapshot(
                    request,
                    opened.clients,
                    source,
                    target,
                    directory,
                    kept=Kept(workspace_uri(), dag_id, opened.cluster, request.source_connector),
                )
        self.log.info("Looked at %s; datasets under %s", looked, directory.uri)
        return directory.uri

    def request(self) -> ReadinessRequest:
        """What was asked for; raises :class:`InvalidRequest`."""
        from airflow_provider_connect_offsets.offsets.requests.readiness import ReadinessRequest

        return ReadinessRequest.parse(
            source_connector=self.source_connector,
            checkpoint_connector=self.checkpoint_connector,
            groups=self.groups,
            thresholds=self.thresholds or {},
        )


class JudgeMirrorReadinessOperator(OffsetsJobOperator):
    """Judge what was seen of a flow, and keep it in the flow's history; a ``SparkSubmitOperator``.

    ``run_uri`` is what the snapshot returned. ``keep``: how many runs the history holds; the directories of older ones
    are removed. All other arguments are those of ``SparkSubmitOperator``, except ``application``, ``py_files`` and
    ``application_args``, which are the job's own.

    Writes the datasets ``readiness`` and ``group_readiness`` and the run's page. Succeeds whatever it finds; returns
    ``run_uri``, ``report``, ``report_url``, ``ready``, ``worst`` and counts, each an XCom of its own too.
    """

    template_fields: Sequence[str] = (*OffsetsJobOperator.template_fields, "keep")
    job = "readiness"

    def __init__(self, *, run_uri: str, keep: int | str = 672, **kwargs: Any) -> None:
        super().__init__(run_uri=run_uri, **kwargs)
        self.keep = keep

    def directories(self) -> list[str]:
        """The run's directory, and how many runs are kept."""
        return [self.run_uri, str(max(1, int(self.keep)))]

    def judged(self) -> dict[str, Any]:
        """Write the page, remove what has expired, and give what the task returns."""
        from airflow_provider_connect_offsets.observe.flow.readiness import forget_earlier
        from airflow_provider_connect_offsets.report import (
            Readiness,
            as_text,
            readiness_table,
            write_readiness_report,
        )
        from airflow_provider_connect_offsets.workspace.paths import join, unique_segment

        directory = _directory(self.run_uri)
        found = Readiness.read(directory)
        self.log.info("%s", as_text(readiness_table(found)))
        page = page_written(lambda: write_readiness_report(directory), directory.report)
        report = report_at(page, dag_id=self.dag_id)
        for gone in forget_earlier(found.summary, keep_under=join(workspace_uri(), unique_segment(self.dag_id))):
            self.log.info("Removed, as the history keeps %s runs: %s", self.keep, gone)
        return {"run_uri": self.run_uri, **report, **{name: found.summary[name] for name in _HANDED_ON}}


class RequireMirrorReadyOperator(BaseOperator):
    """Fail where a flow is not ready for a failover, with the worst that was found; ``summary``: of the judgement."""

    template_fields: Sequence[str] = ("summary",)
    ui_color = "#f3e3d3"
    operator_extra_links = (ReportLink(),)

    def __init__(self, *, summary: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.summary = summary

    def execute(self, context: Context) -> None:
        """Tell."""
        del context
        report = self.summary.get("report_url") or self.summary["report"]
        if not self.summary["ready"]:
            errors = self.summary["verdicts"]["error"]
            more = f" And {errors - 1:,} more errors." if errors > 1 else ""
            ready_for = self.summary.get("ready_for")
            which = f"Ready only for a failover that is {ready_for[0]}" if ready_for else "Not ready for a failover"
            raise AirflowFailException(f"{which}. {self.summary['worst']['message']}{more} {report}")
        self.log.info("Ready for a failover: no threshold is crossed. The report: %s", report)


def _directory(run_uri: str) -> ReadinessDirectory:
    from airflow_provider_connect_offsets.workspace.readiness import ReadinessDirectory

    return ReadinessDirectory(run_uri)

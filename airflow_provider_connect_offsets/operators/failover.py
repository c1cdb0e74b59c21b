"""The first tasks of a failover of consumer groups: snapshot, translation, approval."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from airflow_provider_connect_offsets.exceptions import InvalidRequest, PlanRefused
from airflow_provider_connect_offsets.hooks.failover import make_flow
from airflow_provider_connect_offsets.hooks.failures import fail_clearly
from airflow_provider_connect_offsets.hooks.reports import report_address
from airflow_provider_connect_offsets.offsets.flow import Flow
from airflow_provider_connect_offsets.operators.apply import ApproveOffsetPlanOperator
from airflow_provider_connect_offsets.operators.failover_flow import FailoverOperator
from airflow_provider_connect_offsets.operators.shared.common import new_directory, report_at, report_of
from airflow_provider_connect_offsets.operators.shared.spark import OffsetsJobOperator
from airflow_provider_connect_offsets.parameters.connections import FailoverClientsParams
from airflow_provider_connect_offsets.parameters.failover import FailoverParams
from airflow_provider_connect_offsets.parameters.taking import Models
from airflow_provider_connect_offsets.parameters.tasks import PartParams, PreviewParams, RunParams
from airflow_provider_connect_offsets.words import quantify
from airflow_provider_connect_offsets.workspace.files import exists, read_json
from airflow_provider_connect_offsets.workspace.layout import FailoverDirectory

if TYPE_CHECKING:
    from airflow.sdk import Context

    from airflow_provider_connect_offsets.connect.protocols import ConnectorInfo
    from airflow_provider_connect_offsets.observe.clients import Clients
    from airflow_provider_connect_offsets.offsets.requests.failover import FailoverRequest

_HANDED_ON = (
    "digest",
    "groups",
    "partitions",
    "commit",
    "covered",
    "exact",
    "max_rereads",
    "missing",
    "checkpoint_rereads",
    "checked",
    "left_groups",
)


class SnapshotFailoverOperator(FailoverOperator):
    """Observe a MirrorMaker 2 flow, and the consumer groups that are to go from its source to its target.

    Reads only. If ``planned``, the groups' own offsets count, and ``source_connector`` describes the flow; else the
    source is taken as lost: checkpoints on the target say where groups were, and ``source_alias`` to ``syncs_on``
    describe the flow. ``forward_connector`` makes it a failback, in which ``source_connector`` may be empty.

    Returns the URI of the run's directory, which the later tasks take as ``run_uri``.
    """

    parameters: ClassVar[Models] = (FailoverParams, *FailoverOperator.parameters, PartParams)

    def execute(self, context: Context) -> str:
        """Write what the translation needs."""
        from airflow_provider_connect_offsets.kafka.group_kinds import why_left_alone
        from airflow_provider_connect_offsets.observe.flow.failover import observe_failover

        with fail_clearly():
            directory = FailoverDirectory(new_directory(self, context).uri)
            failover = self.parse_as(FailoverParams)
            with self.open_flow(planned=failover.planned, patient=False) as clients:
                request = self.request(failover, clients)
                found = observe_failover(request, clients, directory)
        self.log.info(
            "%s on %r, %d on %r, %s; datasets under %s",
            quantify(len(found.of_source), "group"),
            request.flow.source_alias,
            len(found.of_target),
            request.flow.target_alias,
            quantify(len(found.remote_partitions), "replicated partition"),
            directory.uri,
        )
        for name, kind in found.unmovable.items():
            self.log.warning("%s", why_left_alone(name, kind))
        return directory.uri

    def request(self, failover: FailoverParams, clients: Clients) -> FailoverRequest:
        """Parse the request, with what the connectors' configurations say; raises :class:`InvalidRequest`."""
        from airflow_provider_connect_offsets.kafka.spans import Isolation
        from airflow_provider_connect_offsets.observe.lag import isolation_of

        if self.parse_as(FailoverClientsParams).forward_connect_conn_id and not failover.forward_connector:
            raise InvalidRequest(
                "A failback needs the MirrorSource that replicated the records from home. Set forward_connector."
            )
        info = _info(clients, failover.source_connector) if failover.planned else None
        came_by = _info(clients.forward, failover.forward_connector)
        forward = None if came_by is None else Flow.of(came_by.config)
        return failover.request(
            forward.opposite() if forward is not None and info is None else make_flow(failover, info),
            forward=forward,
            reads_committed=info is not None and isolation_of(info) is Isolation.READ_COMMITTED,
        )


def _info(clients: Clients | None, connector: str) -> ConnectorInfo | None:
    """Return the connector; None if none was named."""
    return clients.control.info(connector) if clients is not None and connector else None


class TranslateGroupOffsetsOperator(OffsetsJobOperator):
    """Translate the positions of consumer groups from a flow's source to its target; a ``SparkSubmitOperator``.

    A final translation must stay within its preview: no group that the preview did not show, and no more re-reads. All
    other arguments are those of ``SparkSubmitOperator``, except ``application``, ``py_files`` and ``application_args``,
    which are the job's own. Fails if fewer partitions than ``min_coverage`` can be moved, if more is read again than
    was approved, or if records disprove a translated offset; nothing is committed then.

    Writes the dataset ``translation``, the report and a CSV. Returns ``run_uri``, ``report``, ``report_url``,
    ``digest`` and counts, each an XCom of its own too, so that ``translate.output["digest"]`` works.
    """

    parameters: ClassVar[Models] = (*OffsetsJobOperator.parameters, PreviewParams)
    job = "translation"

    def job_arguments(self) -> list[str]:
        """Return the run's directory, and the directory of its preview if there is one."""
        preview = self.parse_as(PreviewParams).preview_uri
        return [self.run_uri, *([preview] if preview else [])]

    def submit(self, context: Context) -> None:
        """Submit the job, unless the driver that stood by while the flow was stopped has translated already."""
        with fail_clearly():
            is_final = bool(self.parse_as(PreviewParams).preview_uri)
            translated = is_final and exists(FailoverDirectory(self.parse_as(RunParams).run_uri).summary)
        if translated:
            self.log.info("Spark translated this observation as soon as it was written.")
        else:
            super().submit(context)

    def judge(self) -> dict[str, Any]:
        """Log and report the translation; raises :class:`PlanRefused` if it must not be committed."""
        from airflow_provider_connect_offsets.report import Failover, as_text

        directory = FailoverDirectory(self.run_uri)
        summary = read_json(directory.summary)
        if "digest" not in summary:
            raise PlanRefused(f"No group was moved. {' '.join(summary['errors'])}")
        self.log.info("%s", as_text(Failover.read(directory).table()))
        uri = report_of(directory)
        report = report_at(uri, dag_id=self.dag_id)
        if summary["errors"]:
            address = report_address(uri, dag_id=self.dag_id)
            raise PlanRefused(f"No group was moved. {' '.join(summary['errors'])} The report: {address}")
        return {"run_uri": self.run_uri, **report, **{name: summary[name] for name in _HANDED_ON}}


class ApproveFailoverOperator(ApproveOffsetPlanOperator):
    """Ask a person whether the groups are to be moved, as ``ApproveOffsetPlanOperator`` does for a change."""

    directory = FailoverDirectory
    refuses_stale = False

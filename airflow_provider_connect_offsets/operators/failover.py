"""A failover of consumer groups as tasks: look, translate, approve."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from airflow_provider_connect_offsets.exceptions import InvalidRequest, PlanRefused
from airflow_provider_connect_offsets.hooks.failover import Described, FailoverClusters, open_failover
from airflow_provider_connect_offsets.hooks.failures import failing_clearly
from airflow_provider_connect_offsets.hooks.reports import report_address
from airflow_provider_connect_offsets.hooks.runs import directory_of
from airflow_provider_connect_offsets.offsets.requests.flags import is_true
from airflow_provider_connect_offsets.operators.apply import ApproveOffsetPlanOperator
from airflow_provider_connect_offsets.operators.failover_flow import (
    FailoverOperator,
    directory_at,
    failover_page,
)
from airflow_provider_connect_offsets.operators.shared.common import report_at
from airflow_provider_connect_offsets.operators.shared.spark import OffsetsJobOperator

if TYPE_CHECKING:
    from airflow.sdk import Context

    from airflow_provider_connect_offsets.connect.protocols import ConnectorInfo
    from airflow_provider_connect_offsets.hooks.clients import ConnectCluster
    from airflow_provider_connect_offsets.offsets.requests.failover import FailoverRequest
    from airflow_provider_connect_offsets.report import Pending

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
    """Look at a MirrorMaker 2 flow and at the consumer groups that are to go from its source to its target.

    Reads only. ``planned``: the source is alive, so that the groups' own offsets count, and ``source_connector`` (a
    MirrorSourceConnector) tells what the flow is. Without it the source is taken for gone: the checkpoints on the
    target tell where the groups were, and ``source_alias``, ``target_alias``, ``replication_policy`` (default or
    identity), ``separator`` and ``syncs_on`` (source or target) what the flow was. ``groups`` and ``topics`` are
    patterns for whole names; ``rewind`` names groups that may be set back on the target; ``min_coverage`` is the share
    of partitions that must be translated (0 to 1); ``max_rereads``: how many records may be read again, all groups
    together (empty: of each partition as many as the preview says); ``compared``: how many records of either log are
    read at most, for each partition, to prove claims; ``compared_total``: how many of both logs and all partitions
    together, which is shared out among them. ``trust_checkpoints``: without the source, groups go on where nothing but
    MirrorMaker 2's checkpoints tells, too; they are left alone if it is false. ``forward_connector`` makes it a
    failback: the MirrorSourceConnector of the flow that once brought the records from the target, to which the groups
    go home; ``source_connector`` may be empty then.

    Returns the URI of the run's directory, which the later tasks take as ``run_uri``.
    """

    template_fields: Sequence[str] = (
        *FailoverOperator.template_fields,
        "groups",
        "planned",
        "source_connector",
        "checkpoint_connector",
        "source_alias",
        "target_alias",
        "replication_policy",
        "separator",
        "syncs_on",
        "topics",
        "rewind",
        "min_coverage",
        "max_rereads",
        "compared",
        "compared_total",
        "trust_checkpoints",
        "forward_connector",
        "part",
    )
    ui_color = "#dbe7f3"

    def __init__(  # noqa: PLR0913 - a request, each by its name
        self,
        *,
        groups: str = "",
        planned: bool | str = True,
        source_connector: str = "",
        checkpoint_connector: str = "",
        source_alias: str = "",
        target_alias: str = "",
        replication_policy: str = "",
        separator: str = "",
        syncs_on: str = "",
        topics: str = "",
        rewind: str = "",
        min_coverage: float | str = 1.0,
        max_rereads: int | str = "",
        compared: int | str = 100_000,
        compared_total: int | str = 10_000_000,
        trust_checkpoints: bool | str = True,
        forward_connector: str = "",
        part: str = "",
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.groups = groups
        self.planned = planned
        self.source_connector = source_connector
        self.checkpoint_connector = checkpoint_connector
        self.source_alias = source_alias
        self.target_alias = target_alias
        self.replication_policy = replication_policy
        self.separator = separator
        self.syncs_on = syncs_on
        self.topics = topics
        self.rewind = rewind
        self.min_coverage = min_coverage
        self.max_rereads = max_rereads
        self.compared = compared
        self.compared_total = compared_total
        self.trust_checkpoints = trust_checkpoints
        self.forward_connector = forward_connector
        self.part = part

    def execute(self, context: Context) -> str:
        """Write what the translation needs."""
        from airflow_provider_connect_offsets.observe.flow.failover import observe_failover
        from airflow_provider_connect_offsets.workspace.layout import FailoverDirectory

        directory = FailoverDirectory(directory_of(context, part=self.part).uri)
        with failing_clearly():
            planned = is_true(self.planned)
            with open_failover(self.connections(planned=planned), timeout=float(self.timeout)) as opened:
                request = self.request(planned=planned, opened=opened)
                found = observe_failover(request, opened.clients_for(request), directory)
        self.log.info(
            "%d groups on %r, %d on %r, %d replicated partitions; datasets under %s",
            len(found.of_source),
            request.flow.source_alias,
            len(found.of_target),
            request.flow.target_alias,
            len(found.remote_partitions),
            directory.uri,
        )
        return directory.uri

    def request(self, *, planned: bool, opened: FailoverClusters) -> FailoverRequest:
        """What was asked for; raises :class:`InvalidRequest`."""
        from airflow_provider_connect_offsets.kafka.spans import Isolation
        from airflow_provider_connect_offsets.observe.lag import isolation_of
        from airflow_provider_connect_offsets.offsets.flow import Flow
        from airflow_provider_connect_offsets.offsets.requests.failover import FailoverRequest

        if self.forward_connect_conn_id and not self.forward_connector:
            raise InvalidRequest("A failback needs the flow that brought the records: forward_connector must name it.")
        info = _info(opened.connect, self.source_connector) if planned else None
        came_by = _info(opened.forward, self.forward_connector)
        forward = None if came_by is None else Flow.of(came_by.config)
        described = Described(
            self.source_alias, self.target_alias, self.replication_policy, self.separator, self.syncs_on
        )
        return FailoverRequest.parse(
            planned=planned,
            flow=forward.reversed() if forward is not None and info is None else described.flow(info),
            groups=self.groups,
            topics=self.topics,
            rewind=self.rewind,
            min_coverage=self.min_coverage,
            max_rereads=self.max_rereads,
            compared=self.compared,
            compared_total=self.compared_total,
            reads_committed=info is not None and isolation_of(info.config) is Isolation.READ_COMMITTED,
            trust_checkpoints=is_true(self.trust_checkpoints),
            source_connector=self.source_connector,
            checkpoint_connector=self.checkpoint_connector,
            forward=forward,
            forward_connector=self.forward_connector,
        )


def _info(opened: ConnectCluster | None, connector: str) -> ConnectorInfo | None:
    """The connector that was named, where one was."""
    return opened.clients.control.info(connector) if opened is not None and connector else None


class TranslateGroupOffsetsOperator(OffsetsJobOperator):
    """Translate the positions of consumer groups from a flow's source to its target; a ``SparkSubmitOperator``.

    ``run_uri`` is what the look at the flow returned; ``preview_uri``, of a final translation, is the ``run_uri`` of
    its preview, to which it is held: no group that the preview did not show, and no more re-reads. All other arguments
    are those of ``SparkSubmitOperator``, except ``application``, ``py_files`` and ``application_args``, which are the
    job's own. Fails where the gate is closed: fewer partitions than ``min_coverage`` asks for can be moved, more is
    read again than was approved, or records disprove a claim; nothing was committed.

    Writes the dataset ``translation``, the report and a CSV. Returns ``run_uri``, ``report``, ``report_url``,
    ``digest`` and counts, each an XCom of its own too, so that ``translate.output["digest"]`` works.
    """

    template_fields: Sequence[str] = (*OffsetsJobOperator.template_fields, "preview_uri")
    job = "translation"

    def __init__(self, *, preview_uri: str = "", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.preview_uri = preview_uri

    def directories(self) -> list[str]:
        """Its own, and that of its preview."""
        return [self.run_uri, *([self.preview_uri] if self.preview_uri else [])]

    def judged(self) -> dict[str, Any]:
        """Show the translation; raises :class:`PlanRefused` where the gate is closed."""
        from airflow_provider_connect_offsets.report import Failover, as_text, failover_table
        from airflow_provider_connect_offsets.workspace.files import read_json

        directory = directory_at(self.run_uri)
        summary = read_json(directory.summary)
        if "digest" not in summary:
            raise PlanRefused(f"No group was moved. {' '.join(summary['errors'])}")
        self.log.info("%s", as_text(failover_table(Failover.read(directory))))
        page = failover_page(directory)
        report = report_at(page, dag_id=self.dag_id)
        if summary["errors"]:
            address = report_address(page, dag_id=self.dag_id)
            raise PlanRefused(f"No group was moved. {' '.join(summary['errors'])} The report: {address}")
        return {"run_uri": self.run_uri, **report, **{name: summary[name] for name in _HANDED_ON}}


class ApproveFailoverOperator(ApproveOffsetPlanOperator):
    """Ask a person whether the groups are to be moved; as ``ApproveOffsetPlanOperator`` does for a change."""

    def page(self, pending: Pending) -> None:
        """Write the page anew."""
        failover_page(directory_at(self.summary["run_uri"]), pending=pending)

    def question(self) -> tuple[str, str]:
        """Subject and body, in Markdown."""
        from airflow_provider_connect_offsets.report import Failover, failover_question

        found = Failover.read(directory_at(self.summary["run_uri"]))
        return f"Move {found.title[0].lower()}{found.title[1:]}?", failover_question(found, link=self.link)

"""Offsets whose connector is gone: found on Spark, shown, and removed after someone approved."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from airflow.providers.common.compat.sdk import AirflowSkipException
from airflow.sdk import BaseOperator

from airflow_provider_connect_offsets.exceptions import InvalidInput, InvalidRequest
from airflow_provider_connect_offsets.hooks.clients import workspace_uri
from airflow_provider_connect_offsets.hooks.failures import failing_clearly
from airflow_provider_connect_offsets.hooks.reports import report_address, report_url
from airflow_provider_connect_offsets.hooks.runs import directory_of
from airflow_provider_connect_offsets.offsets.requests.flags import is_true
from airflow_provider_connect_offsets.operators.shared.approval import AskOperator
from airflow_provider_connect_offsets.operators.shared.common import owner_of, page_written, report_at
from airflow_provider_connect_offsets.operators.shared.links import ReportLink
from airflow_provider_connect_offsets.operators.shared.spark import OffsetsJobOperator

if TYPE_CHECKING:
    from airflow.sdk import Context

    from airflow_provider_connect_offsets.report import OrphansPending
    from airflow_provider_connect_offsets.workspace.layout import OrphansDirectory

_HANDED_ON = (
    "digest",
    "orphaned",
    "existing",
    "partitions",
    "size_bytes",
    "records",
    "keys",
    "passed_over",
    "in_two_partitions",
)


class SnapshotStoredOffsetsOperator(BaseOperator):
    """Read the offsets topic of a Connect cluster whole, and the names of the connectors that the cluster has.

    Reads only. ``kafka_conn_id`` is the Kafka cluster that Connect itself works on; with another one the task fails, as
    every offset would look orphaned. ``connectors`` (a regular expression that matches whole names; empty: all) and
    ``older_than`` (an ISO 8601 duration: only connectors of whose offsets none was written since; empty: of any age)
    narrow down what counts as found. ``part`` keeps several searches of one DAG run apart.

    Returns the URI of the run's directory, which the later tasks take as ``run_uri``.
    """

    template_fields: Sequence[str] = (
        "connect_conn_id",
        "kafka_conn_id",
        "offsets_topic",
        "connectors",
        "older_than",
        "part",
    )
    ui_color = "#dbe7f3"
    operator_extra_links = (ReportLink(),)

    def __init__(
        self,
        *,
        connect_conn_id: str = "kafka_connect_default",
        kafka_conn_id: str = "kafka_default",
        offsets_topic: str = "connect-offsets",
        connectors: str = "",
        older_than: str = "",
        part: str = "",
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.connect_conn_id = connect_conn_id
        self.kafka_conn_id = kafka_conn_id
        self.offsets_topic = offsets_topic
        self.connectors = connectors
        self.older_than = older_than
        self.part = part

    def execute(self, context: Context) -> str:
        """Write the snapshot."""
        from airflow_provider_connect_offsets.hooks.kafka import offsets_topic
        from airflow_provider_connect_offsets.hooks.kafka_connect import KafkaConnectHook
        from airflow_provider_connect_offsets.offsets.requests.orphans import OrphanRequest
        from airflow_provider_connect_offsets.operations.orphans.orphans import take_orphan_snapshot

        directory = _directory(directory_of(context, part=self.part).uri)
        with failing_clearly():
            request = OrphanRequest.parse(
                topic=self.offsets_topic,
                connectors=self.connectors,
                older_than=self.older_than,
                now=datetime.now(tz=UTC),
            )
            with (
                KafkaConnectHook(self.connect_conn_id).get_conn() as connect,
                offsets_topic(self.kafka_conn_id, request.topic) as topic,
            ):
                count = take_orphan_snapshot(request, connect, topic, directory)
        self.log.info("Topic %r holds %d records; datasets under %s", request.topic, count, directory.uri)
        return directory.uri


class FindOrphanedOffsetsOperator(OffsetsJobOperator):
    """Find the offsets whose connector no longer exists, in a snapshot of the topic; a ``SparkSubmitOperator``.

    ``run_uri`` is what the snapshot returned. All other arguments are those of ``SparkSubmitOperator``, except
    ``application``, ``py_files`` and ``application_args``, which are the job's own.

    Writes the dataset ``orphans`` and the run's page. Returns ``run_uri``, ``report``, ``digest`` and counts, each an
    XCom of its own too, so that ``find.output["digest"]`` works.
    """

    job = "orphans"

    def judged(self) -> dict[str, Any]:
        """Show what was found; raises :class:`InvalidRequest` for a pattern that is none."""
        from airflow_provider_connect_offsets.report import Orphans, as_text, orphans_table
        from airflow_provider_connect_offsets.workspace.files import read_json

        directory = _directory(self.run_uri)
        summary = read_json(directory.summary)
        if summary["problem"]:
            raise InvalidRequest(f"Nothing was removed. {summary['problem']}")
        self.log.info("%s", as_text(orphans_table(Orphans.read(directory))))
        report = report_at(_page(directory), dag_id=self.dag_id)
        return {"run_uri": self.run_uri, **report, **{name: summary[name] for name in _HANDED_ON}}


class ApproveRemovalOperator(AskOperator):
    """Ask a person whether the orphaned offsets are to be removed; an ``ApprovalOperator`` that knows when not to ask.

    ``summary`` is what the search returned. With ``remove`` false, or where nothing is orphaned, it skips what follows;
    with ``approval`` false it goes on at once, unless no connector that exists has an offset in the topic, which may be
    another cluster's then: the task fails. A rejection skips what follows too, and so does, where ``defaults`` is
    Reject, the end of ``response_timeout``: nothing is removed, and the page says so.
    """

    template_fields: Sequence[str] = (*AskOperator.template_fields, "summary", "remove", "approval")
    operator_extra_links = (ReportLink(),)

    def __init__(self, *, summary: Any, remove: bool | str = False, approval: bool | str = True, **kwargs: Any) -> None:
        super().__init__(**{"subject": "Removal of orphaned offsets", **kwargs})
        self.summary = summary
        self.remove = remove
        self.approval = approval

    def execute(self, context: Context) -> Any:
        """Ask, go on, or skip the rest."""
        from airflow_provider_connect_offsets.report import OrphansPending

        with failing_clearly():
            remove, ask = is_true(self.remove), is_true(self.approval)
        directory = _directory(self.summary["run_uri"])
        if not self.summary["orphaned"]:
            raise AirflowSkipException(f"No offset is orphaned. The report: {self.address}")
        if not remove:
            _page(directory, pending=OrphansPending.REPORT)
            raise AirflowSkipException(f"Nothing is removed, as remove is false. The report: {self.address}")
        if not ask:
            with failing_clearly():
                self.refuse_unproved()
            return None
        _page(directory, pending=OrphansPending.APPROVAL)
        self.subject, self.body = self.question()
        return super().execute(context)

    @property
    def address(self) -> str:
        """Where the report is, for a message."""
        return report_address(_directory(self.summary["run_uri"]).report, dag_id=self.dag_id)

    def refuse_unproved(self) -> None:
        """Raise :class:`InvalidInput` where the topic may be another Connect cluster's, and nobody is asked."""
        if self.summary["existing"]:
            return
        raise InvalidInput(
            "Nothing was removed. No connector of this Connect cluster has an offset in the topic, so nothing shows "
            "that it is this cluster's, and not that of another one on the same Kafka. Look at the report "
            f"{self.address}, and run it again with approval=true if it is."
        )

    def question(self) -> tuple[str, str]:
        """Subject and body, in Markdown."""
        from airflow_provider_connect_offsets.report import Orphans, orphans_question

        found = Orphans.read(_directory(self.summary["run_uri"]))
        link = report_url(found.directory.report, dag_id=self.dag_id)
        return f"Remove the offsets of {found.gone}?", orphans_question(found, link=link)

    def record_rejection(self) -> None:
        """Let log and report say that the removal was rejected."""
        from airflow_provider_connect_offsets.report import OrphansPending

        self.log.warning("Rejected, so nothing was removed. The report: %s", self.address)
        _page(_directory(self.summary["run_uri"]), pending=OrphansPending.REJECTED)


class RemoveOrphanedOffsetsOperator(BaseOperator):
    """Remove the orphaned offsets that were found, and prove that they are gone; first write them to ``removed.json``.

    ``digest`` is what the search returned: what was approved is what is removed. ``removed.json`` in the run's
    directory is a KIP-199 document, from which they can be put back. A connector that was created again, or of which
    anything was written since the snapshot, is left alone; the task then fails at the end, and says what was removed
    and what was not. A retry removes what is left.

    Returns how many connectors and partitions were removed, the URIs of ``removed.json`` and of the report, and
    the report's URL.
    """

    template_fields: Sequence[str] = ("run_uri", "digest", "connect_conn_id", "kafka_conn_id")
    ui_color = "#f3e3d3"
    operator_extra_links = (ReportLink(),)

    def __init__(
        self,
        *,
        run_uri: str,
        digest: str,
        connect_conn_id: str = "kafka_connect_default",
        kafka_conn_id: str = "kafka_default",
        **kwargs: Any,
    ) -> None:
        super().__init__(**{"multiple_outputs": True, **kwargs})
        self.run_uri = run_uri
        self.digest = digest
        self.connect_conn_id = connect_conn_id
        self.kafka_conn_id = kafka_conn_id

    def execute(self, context: Context) -> dict[str, Any]:
        """Remove them."""
        from airflow_provider_connect_offsets.hooks.kafka import offsets_topic
        from airflow_provider_connect_offsets.hooks.kafka_connect import KafkaConnectHook
        from airflow_provider_connect_offsets.offsets.requests.orphans import OrphanRequest
        from airflow_provider_connect_offsets.operations.orphans.orphan_stages import (
            RemoveOrphans,
            orphans_journal,
            remove_orphans,
        )
        from airflow_provider_connect_offsets.operations.orphans.orphans import existing_on
        from airflow_provider_connect_offsets.workspace.files import read_json

        directory = _directory(self.run_uri)
        with failing_clearly():
            request = OrphanRequest.from_json(read_json(directory.request))
            with (
                KafkaConnectHook(self.connect_conn_id).get_conn() as connect,
                offsets_topic(self.kafka_conn_id, request.topic) as topic,
            ):
                journal = orphans_journal(workspace_uri(), topic)
                named = {"connect_conn_id": self.connect_conn_id, "kafka_conn_id": self.kafka_conn_id}
                stage = RemoveOrphans(
                    directory, topic, exist=existing_on(connect, topic), digest=self.digest, connections=named
                )
                try:
                    removal = remove_orphans(journal, owner_of(context), stage)
                finally:
                    page = _page(directory)
        told = {"connectors": len(removal.removed.connectors), "partitions": removal.removed.partitions}
        self.log.info("Removed and proved: %s. They can be put back from %s", told, directory.removed)
        return {**told, "removed": directory.removed, **report_at(page, dag_id=self.dag_id)}


def _directory(run_uri: str) -> OrphansDirectory:
    from airflow_provider_connect_offsets.workspace.layout import OrphansDirectory

    return OrphansDirectory(run_uri)


def _page(directory: OrphansDirectory, *, pending: OrphansPending | None = None) -> str:
    from airflow_provider_connect_offsets.report import write_orphans_report

    return page_written(lambda: write_orphans_report(directory, pending=pending), directory.report)

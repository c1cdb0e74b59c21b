"""Offsets whose connector is gone: found on Spark, shown, and removed after someone approved."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, ClassVar

from airflow.providers.common.compat.sdk import AirflowSkipException

from airflow_provider_connect_offsets.exceptions import InvalidInput, InvalidRequest
from airflow_provider_connect_offsets.hooks.clients import require_control
from airflow_provider_connect_offsets.hooks.failures import fail_clearly
from airflow_provider_connect_offsets.hooks.settings import configure_clients, guards
from airflow_provider_connect_offsets.offsets.requests.guards import Named
from airflow_provider_connect_offsets.offsets.requests.orphans import OrphanRequest, OrphanSearch
from airflow_provider_connect_offsets.operators.shared.approval import AskAboutRunOperator
from airflow_provider_connect_offsets.operators.shared.common import new_directory, owner_of, report_at, report_of
from airflow_provider_connect_offsets.operators.shared.links import ReportedOperator
from airflow_provider_connect_offsets.operators.shared.spark import OffsetsJobOperator
from airflow_provider_connect_offsets.parameters.connections import Control, StorageConnectionParams
from airflow_provider_connect_offsets.parameters.orphans import RemovalParams
from airflow_provider_connect_offsets.parameters.taking import Models, TakesParameters
from airflow_provider_connect_offsets.parameters.tasks import ApprovedParams, FoundParams, PartParams, RunParams
from airflow_provider_connect_offsets.words import quantify
from airflow_provider_connect_offsets.workspace.files import read_json
from airflow_provider_connect_offsets.workspace.layout import OrphansDirectory

if TYPE_CHECKING:
    from airflow.sdk import Context

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


class SnapshotStoredOffsetsOperator(ReportedOperator):
    """Read the offsets topic of a Connect cluster whole, and the names of the connectors that the cluster has.

    Reads only. Fails if ``kafka_conn_id`` is not the Kafka cluster that Connect itself works on, as every offset would
    look orphaned. Returns the URI of the run's directory, which the later tasks take as ``run_uri``.
    """

    parameters: ClassVar[Models] = (OrphanSearch, StorageConnectionParams, PartParams)

    def execute(self, context: Context) -> str:
        """Write the snapshot."""
        from airflow_provider_connect_offsets.hooks.kafka import offsets_topic
        from airflow_provider_connect_offsets.hooks.kafka_connect import KafkaConnectHook
        from airflow_provider_connect_offsets.operations.stages.orphans.orphaned_offsets import take_orphan_snapshot

        with fail_clearly():
            directory = OrphansDirectory(new_directory(self, context).uri)
            request = OrphanRequest.of(self.parse_as(OrphanSearch), now=datetime.now(tz=UTC))
            connections = _connections(self)
            with (
                KafkaConnectHook(connections.connect_conn_id).get_conn() as connect,
                offsets_topic(connections.kafka_conn_id, request.topic) as topic,
            ):
                count = take_orphan_snapshot(request, connect, topic, directory)
        self.log.info("Topic %r holds %s; datasets under %s", request.topic, quantify(count, "record"), directory.uri)
        return directory.uri


class FindOrphanedOffsetsOperator(OffsetsJobOperator):
    """Find the offsets whose connector no longer exists, in a snapshot of the topic; a ``SparkSubmitOperator``.

    ``run_uri`` is what the snapshot returned. All other arguments are those of ``SparkSubmitOperator``, except
    ``application``, ``py_files`` and ``application_args``, which are the job's own.

    Writes the dataset ``orphans`` and the run's report. Returns ``run_uri``, ``report``, ``digest`` and counts, each an
    XCom of its own too, so that ``find.output["digest"]`` works.
    """

    job = "orphans"

    def judge(self) -> dict[str, Any]:
        """Log and report what was found; raises :class:`InvalidRequest` for an invalid regular expression."""
        from airflow_provider_connect_offsets.report import Orphans, as_text

        directory = OrphansDirectory(self.run_uri)
        summary = read_json(directory.summary)
        if summary["problem"]:
            raise InvalidRequest(f"Nothing was removed. {summary['problem']}")
        self.log.info("%s", as_text(Orphans.read(directory).table()))
        report = report_at(report_of(directory), dag_id=self.dag_id)
        return {"run_uri": self.run_uri, **report, **{name: summary[name] for name in _HANDED_ON}}


class ApproveRemovalOperator(AskAboutRunOperator):
    """Ask a person whether the orphaned offsets are to be removed; an ``ApprovalOperator`` that knows when not to ask.

    Without ``remove``, or if nothing is orphaned, it skips what follows; so it does after a rejection, and after
    ``response_timeout`` without an answer if ``defaults`` is Reject. Without ``approval`` the run goes on at once. But
    if no existing connector has an offset in the topic, which may be another cluster's then, the task fails.
    """

    parameters: ClassVar[Models] = (FoundParams, RemovalParams)
    undone = "nothing was removed"
    directory = OrphansDirectory

    def is_asked(self) -> bool:
        """Return whether a person is asked; skips what follows if nothing is to be removed."""
        from airflow_provider_connect_offsets.report import Pending

        removal = self.parse_as(RemovalParams)
        if not self.summary["orphaned"]:
            raise AirflowSkipException(f"There are no orphaned offsets. The report: {self.address}")
        if not removal.remove:
            self.write_report(Pending.DRY_RUN)
            raise AirflowSkipException(f"Nothing is removed, because remove is false. The report: {self.address}")
        self.refuse_protected()
        is_asked = self.needs(approval=removal.approval)
        if is_asked:
            self.write_report(Pending.APPROVAL)
        else:
            self.refuse_unproved()
        return is_asked

    def refuse_protected(self) -> None:
        """Raise :class:`InvalidRequest` if the offsets of any orphaned connector may not be removed here."""
        from airflow_provider_connect_offsets.workspace.datasets import iterate_dataset
        from airflow_provider_connect_offsets.workspace.schemas import ORPHANS

        allowed = guards()
        if allowed.protected.patterns_for(Named.CONNECTOR) or allowed.allowed.patterns_for(Named.CONNECTOR):
            orphans = iterate_dataset(OrphansDirectory(self.run.uri).orphans, ORPHANS)
            allowed.refuse_names(Named.CONNECTOR, sorted({row["connector"] for row in orphans}))

    def refuse_unproved(self) -> None:
        """Raise :class:`InvalidInput` if the topic may be another Connect cluster's, and nobody is asked."""
        if self.summary["existing"]:
            return
        raise InvalidInput(
            "Nothing was removed. No connector of this Connect cluster has an offset in the topic, so the topic "
            "may belong to another Connect cluster on the same Kafka cluster. Look at the report "
            f"{self.address}. If the topic belongs to this Connect cluster, run the DAG again with approval=true."
        )


class RemoveOrphanedOffsetsOperator(ReportedOperator):
    """Remove the orphaned offsets that were found, and verify that they are gone; first write them to ``removed.json``.

    ``digest`` is what the search returned: what was approved is what is removed. ``removed.json`` in the run's
    directory is a KIP-199 document, from which they can be imported again. A connector that was created again, or of
    which anything was written since the snapshot, is left alone; the task then fails at the end, and says what was
    removed and what was not. A retry removes what is left.

    Returns how many connectors and partitions were removed, the URIs of ``removed.json`` and of the report, and
    the report's URL.
    """

    parameters: ClassVar[Models] = (RunParams, ApprovedParams, StorageConnectionParams)
    preset: ClassVar[dict[str, Any]] = {"multiple_outputs": True}

    def execute(self, context: Context) -> dict[str, Any]:
        """Remove the orphaned offsets."""
        from airflow_provider_connect_offsets.hooks.kafka import offsets_topic
        from airflow_provider_connect_offsets.hooks.kafka_connect import KafkaConnectHook
        from airflow_provider_connect_offsets.observe.clients import Clients
        from airflow_provider_connect_offsets.operations.orphans import remove_orphans

        with fail_clearly():
            directory, connections = OrphansDirectory(self.parse_as(RunParams).run_uri), _connections(self)
            request = OrphanRequest.from_json(read_json(directory.request))
            with (
                KafkaConnectHook(connections.connect_conn_id).get_conn() as connect,
                offsets_topic(connections.kafka_conn_id, request.topic) as topic,
            ):
                named = connections.values("connect_conn_id", "kafka_conn_id")
                clients = configure_clients(Clients(connect, connect, connections=named, topic=topic))
                digest = self.parse_as(ApprovedParams).digest
                try:
                    removal = remove_orphans(directory, clients, owner_of(context, directory), digest=digest)
                finally:
                    report = report_of(directory)
        counts = {"connectors": len(removal.removed), "partitions": removal.partitions}
        self.log.info("Removed, and read back: %s. To undo this, import %s", counts, directory.removed)
        return {**counts, "removed": directory.removed, **report_at(report, dag_id=self.dag_id)}


def _connections(operator: TakesParameters) -> StorageConnectionParams:
    """Return the connections; raises :class:`InvalidRequest` if ``control`` can't verify whose topic it is."""
    named = operator.parse_as(StorageConnectionParams)
    require_control(
        named.control,
        *(Control.REST, Control.STRIMZI_REST),
        why="only Connect's REST API proves that the topic is on the Kafka cluster of the workers. For a storage, "
        "use connect-offsets orphans.",
    )
    return named

"""Finds the record on which a sink has failed, keeps it, and skips it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from airflow_provider_connect_offsets.exceptions import ConnectOffsetsError, InvalidInput, LeftStopped
from airflow_provider_connect_offsets.hooks.clients import require_control
from airflow_provider_connect_offsets.hooks.failures import fail_clearly
from airflow_provider_connect_offsets.hooks.settings import poison_days, workspace_uri
from airflow_provider_connect_offsets.offsets.requests.poison import PoisonRequest
from airflow_provider_connect_offsets.operators.shared.common import (
    Interruptible,
    new_directory,
    open_connect,
    owner_of,
    report_at,
    report_of,
    report_written,
)
from airflow_provider_connect_offsets.operators.shared.events import ChangeKind, TellsChanges
from airflow_provider_connect_offsets.operators.shared.links import ReportedOperator
from airflow_provider_connect_offsets.parameters.connections import ConnectorConnectionParams, Control
from airflow_provider_connect_offsets.parameters.poison import ApprovedRecordsParams
from airflow_provider_connect_offsets.parameters.taking import Models
from airflow_provider_connect_offsets.parameters.tasks import PartParams, WaitingParams
from airflow_provider_connect_offsets.workspace.layout import PoisonDirectory
from airflow_provider_connect_offsets.workspace.paths import join, unique_segment
from airflow_provider_connect_offsets.workspace.poison import PoisonOutcome, PoisonResult, SkippedPlace

if TYPE_CHECKING:
    from airflow.sdk import Context

    from airflow_provider_connect_offsets.observe.failed_records import Place
    from airflow_provider_connect_offsets.operations.poison.poisoned_sink import PoisonedSink


class _PoisonOperator(ReportedOperator):
    """A task on a sink that has failed."""

    parameters: ClassVar[Models] = (PoisonRequest, ConnectorConnectionParams, WaitingParams, PartParams)
    preset: ClassVar[dict[str, Any]] = {"multiple_outputs": True}

    def execute(self, context: Context) -> Any:
        """Find or skip the record, and write outcome and report, even if that fails."""
        with fail_clearly(), self._open_sink(context) as sink:
            try:
                result, message, places = self.done(sink)
            except ConnectOffsetsError as error:
                failed = partial(self._publish, sink, PoisonResult.FAILED, str(error), sink.skipped)
                report_written(failed, sink.kept.directory.report)
                raise
            self.log.info("%s", message)
            report = self._publish(sink, result, message, places)
            self.publish(context, sink, places)
        return {
            "connector": sink.request.connector,
            "result": result.value,
            "run_uri": sink.kept.directory.uri,
            "records": [{"topic": topic, "partition": number, "offset": at} for topic, number, at in places],
            **report_at(report, dag_id=self.dag_id),
        }

    def done(self, sink: PoisonedSink) -> tuple[PoisonResult, str, list[Place]]:
        """Find or skip the record; returns how that ended, a sentence about it, and the records concerned."""
        raise NotImplementedError

    def publish(self, context: Context, sink: PoisonedSink, places: Sequence[Place]) -> None:
        """Called after a success; does nothing here."""

    @contextmanager
    def _open_sink(self, context: Context) -> Iterator[PoisonedSink]:
        from airflow_provider_connect_offsets.hooks.kafka import kafka_cluster
        from airflow_provider_connect_offsets.operations.poison.kept_records import KeptRecords
        from airflow_provider_connect_offsets.operations.poison.poisoned_sink import PoisonedSink

        request = self.parse_as(PoisonRequest)
        connections = self.parse_as(ConnectorConnectionParams)
        if not connections.kafka_conn_id:
            raise InvalidInput(f"{request.connector!r}: kafka_conn_id must name the Kafka cluster that the sink reads.")
        require_control(
            connections.control,
            *(Control.REST, Control.STRIMZI_REST),
            why="only Connect's REST API shows at once that a sink has failed again. A resource of Strimzi shows it "
            "only after the operator's next reconciliation, and a storage never shows it.",
        )
        directory = PoisonDirectory(new_directory(self, context).uri)
        with (
            open_connect(connections, self.parse_as(WaitingParams)) as clients,
            kafka_cluster(connections.kafka_conn_id) as kafka,
        ):
            yield PoisonedSink(
                request,
                clients,
                kafka,
                owner_of(context, directory),
                KeptRecords(directory, request.connector, content=request.keep_content),
            )

    def _publish(self, sink: PoisonedSink, result: PoisonResult, message: str, places: Iterable[Place]) -> str:
        """Write outcome and report; returns the report's URI."""
        is_done = result in {PoisonResult.SKIPPED, PoisonResult.FAILED}
        skipped = tuple(SkippedPlace(*place) for place in places) if is_done else ()
        outcome = PoisonOutcome(sink.request.connector, result, message, skipped, datetime.now(tz=UTC))
        outcome.write(sink.kept.directory.outcome)
        return report_of(sink.kept.directory)


class FindPoisonRecordOperator(Interruptible, _PoisonOperator):
    """Find the record on which a sink has failed, and keep it; skips nothing.

    The content of records that earlier runs of the DAG have kept is removed after ``[connect_offsets] poison_days``.

    A record that a JSON converter can't convert is found by reading from the committed position. Otherwise, or if
    records before it are not delivered yet, the sink runs with ``consumer.override.max.poll.records=1`` until it fails
    again and Connect reports topic, partition and offset; then the sink gets its own configuration back. A dry run only
    reads.

    Fails if the sink failed for any reason other than a record that can't be converted or transformed. Returns
    ``records`` (a list of ``topic``, ``partition`` and ``offset``; empty if the sink has not failed), ``result``,
    ``run_uri``, and the report.
    """

    def done(self, sink: PoisonedSink) -> tuple[PoisonResult, str, list[Place]]:
        """Find the record, after removing content that earlier runs of the DAG have kept for longer than allowed."""
        self._forget()
        found = sink.find()
        if not found.records and not found.sink.has_failed:
            return PoisonResult.HEALTHY, found.sentence, []
        result = PoisonResult.DRY_RUN if sink.request.dry_run else PoisonResult.FOUND
        return result, found.sentence, [one.place for one in found.records]

    def _forget(self) -> None:
        from airflow_provider_connect_offsets.operations.poison.kept_records import forget_content

        days = poison_days()
        if days is None:
            return
        of_dag = join(workspace_uri(), unique_segment(self.dag_id))
        try:
            for outdated in forget_content(of_dag, before=datetime.now(tz=UTC) - timedelta(days=days)):
                report_of(outdated)
                self.log.info("The content of records in %s is removed after %g days.", outdated.uri, days)
        except ConnectOffsetsError as error:  # which must not keep the sink down
            self.log.warning(
                "The content of some records that were kept for more than %g days could not be removed: %s", days, error
            )


class SkipPoisonRecordOperator(Interruptible, TellsChanges, _PoisonOperator):
    """Find the record on which a sink has failed, keep it, skip exactly this record, and resume the sink.

    Finds the record as :class:`FindPoisonRecordOperator` does. If the sink then fails on another record, finds and
    skips that record, too, up to ``max_skips`` records in one run. After that the task fails, and names the skipped
    records and the record on which the sink fails now. Each record is kept in the dataset ``poison_records`` of the
    run's directory before it is skipped.

    Skips nothing, and fails, if the sink has failed for another reason. Returns ``records`` (the skipped records),
    ``result``, ``run_uri``, and the report. All skipped records are one event of the sink's asset.
    """

    parameters: ClassVar[Models] = (*_PoisonOperator.parameters, ApprovedRecordsParams)
    template_fields_renderers: ClassVar[dict[str, str]] = {"found": "json"}

    def done(self, sink: PoisonedSink) -> tuple[PoisonResult, str, list[Place]]:
        """Skip the record. In a dry run, only find it."""
        if sink.request.dry_run:
            found = sink.find()
            return PoisonResult.DRY_RUN, found.sentence, [one.place for one in found.records]
        given = self.parse_as(ApprovedRecordsParams)
        is_limited = given.found is not None and given.only_found
        approved = [_place(one) for one in given.found["records"]] if is_limited else None
        skipped = sink.skip(approved=approved)
        result = PoisonResult.SKIPPED if skipped.places else PoisonResult.HEALTHY
        return result, skipped.sentence, list(skipped.places)

    def publish(self, context: Context, sink: PoisonedSink, places: Sequence[Place]) -> None:
        """Add the event of the records that were skipped."""
        if not places or sink.request.dry_run:
            return
        self.tell_change(
            context,
            sink.clients,
            sink.request.connector,
            kind=ChangeKind.SKIPPED,
            run_uri=sink.kept.directory.uri,
            records_uri=sink.kept.directory.poison_records,
            records=len(places),
            partitions=len({(topic, number) for topic, number, _ in places}),
        )


class ReleasePoisonedSinkOperator(_PoisonOperator):
    """The teardown of a search or skip: undoes whatever the same run has left.

    If the task was killed, the sink's own configuration and its state are restored, at its prior position or after the
    records that were skipped already. Returns a sentence that says what was done.
    """

    preset: ClassVar[dict[str, Any]] = {"multiple_outputs": False}

    def execute(self, context: Context) -> Any:
        """Undo what was left."""
        with fail_clearly(except_for=LeftStopped), self._open_sink(context) as sink:
            message = sink.release()
            if message is None:
                return "Nothing was left to undo."
            self._publish(sink, PoisonResult.FAILED, message, sink.skipped)
        return message


def _place(record: Any) -> Place:
    return str(record["topic"]), int(record["partition"]), int(record["offset"])

"""Finds the record on which a sink has failed, and skips exactly that record.

The record is read from the committed position, where the converters' rules are known; otherwise, and where other
records lie before it that were not delivered yet, the sink runs with one record a poll until it fails again, and
Connect itself reports topic, partition and offset. If a sink fails for anything else, nothing is skipped.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from airflow_provider_connect_offsets.connect.protocols import State
from airflow_provider_connect_offsets.exceptions import InvalidRequest, NotRunning, NotSkipped, PlanRefused
from airflow_provider_connect_offsets.kafka.cluster import KafkaCluster
from airflow_provider_connect_offsets.observe.clients import Clients
from airflow_provider_connect_offsets.observe.failed_records import (
    FailedRecord,
    FailedSink,
    Place,
    name_record,
    observe_sink,
    read_reported,
    read_unconvertible,
    reports_end,
    reports_topic,
    select_still_next,
)
from airflow_provider_connect_offsets.offsets.requests.poison import PoisonRequest
from airflow_provider_connect_offsets.operations.poison.found_records import (
    FoundRecords,
    SkippedRecords,
    name_skipped,
)
from airflow_provider_connect_offsets.operations.poison.kept_records import KeptRecords
from airflow_provider_connect_offsets.operations.poison.skip_records import SkipRecords
from airflow_provider_connect_offsets.operations.registry import journal_of, operation_on_connector, settle_of
from airflow_provider_connect_offsets.operations.stages.connector_stages import ResumeConnector, StopConnector
from airflow_provider_connect_offsets.operations.stages.settings_stages import RunOneByOne
from airflow_provider_connect_offsets.saga import Owner, SagaRecord, SagaState, Stage, operate
from airflow_provider_connect_offsets.words import as_sentence, join_first, quantify

log = logging.getLogger(__name__)
# Identifies the sagas of a run, which resume the sink.
_KEY = "poison record"
_ADVICE = (
    "If you know the record, skip it with connector_offsets_change (to=skip, and topics and partitions of that record)."
)


@dataclass(frozen=True, slots=True)
class PoisonedSink:
    """A sink that may have failed on a record.

    Attributes:
        request: Which sink, and how much may be done to it.
        clients: Clients of its Connect cluster, with the logs of its topics.
        kafka: The cluster of these logs.
        owner: This process.
        kept: Where its records are kept.
        skipped: The records that were skipped so far.
    """

    request: PoisonRequest
    clients: Clients
    kafka: KafkaCluster
    owner: Owner
    kept: KeptRecords
    skipped: list[Place] = field(default_factory=list)
    _reports: list[str] = field(default_factory=list)

    def find(self, *, has_skipped: bool = False) -> FoundRecords:
        """Find the records on which the sink has failed, and keep them; first settle an unfinished run that died.

        A dry run only reads. Otherwise the sink may run with one record a poll for a while; afterwards its own
        configuration and state are restored.

        Args:
            has_skipped: Whether the sink was resumed a moment ago, so that it may be about to fail again.

        Returns:
            Records, each the next one that the sink reads in its partition; in a dry run also other records.

        Raises:
            NotSkipped: The sink has failed, and no record is proved to be the cause.
            InvalidRequest: The connector isn't a sink, or tolerates errors.
            Overlap: Another run works on it.
            Rejected: The workers do not allow ``consumer.override.max.poll.records``.
            StoreError: A system does not answer, or refuses.
        """
        try:
            found = self._find(has_skipped=has_skipped)
        finally:
            self._remove_reports()
        self.kept.add(one for one in found.records if one.is_proved)
        log.info("%s", found.sentence)
        return found

    def skip(self, *, approved: Iterable[Place] | None = None) -> SkippedRecords:
        """Find the record, keep it, skip it and resume the sink; repeat that until it runs, or ``max_skips`` are done.

        Args:
            approved: The only records that may be skipped; None: any.

        Raises:
            NotSkipped: The sink has failed, and no record is proved to be the cause, or ``max_skips`` were skipped.
            PlanRefused: It fails on a record that is not approved.
            Drift: Its position was changed meanwhile; nothing was written.
            NotApplied: A skip was not made; prior offsets and state are restored.
            LeftStopped: Prior offsets and state could not be restored.
        """
        allowed = None if approved is None else set(approved)
        found = self.find()
        self.skipped.extend(self.kept.passed_places(found.sink.positions))  # by an earlier attempt of this task
        while found.records:
            chosen = self._choose_next(found, allowed)
            self._skip(chosen)
            self.skipped.extend(one.place for one in chosen)
            try:
                found = self.find(has_skipped=True)
            except NotSkipped as error:
                raise NotSkipped(f"{name_skipped(self.skipped)} {error}") from error
        return SkippedRecords(tuple(self.skipped), found.sink)

    def release(self) -> str | None:
        """Undo the unfinished work of the run's tasks: restore the sink's configuration, state and positions.

        Returns:
            A sentence about what was done; None if nothing was left.

        Raises:
            LeftStopped: They could not be restored; the message says what is stored.
            StoreError: A system does not answer, or refuses; something may be left.
        """
        name = self.request.connector
        left = settle_of(self.clients, name, self.owner, run=self.owner.run)
        if left is None:
            return None
        self._reports.append(reports_topic(name, cluster=self.clients.cluster))
        self._remove_reports()
        self.skipped.extend(self.kept.passed_places(observe_sink(self.clients, name).positions))
        return f"{name_skipped(self.skipped)} {left.sentence}".lstrip()

    def _choose_next(self, found: FoundRecords, allowed: set[Place] | None) -> list[FailedRecord]:
        """Return the records to skip now; raises :class:`NotSkipped` and :class:`PlanRefused`."""
        skipped, room = self.skipped, self.request.max_skips - len(self.skipped)
        if room <= 0:
            failing = " and ".join(str(one) for one in found.records)
            raise NotSkipped(
                f"{self.request.connector!r} has failed again, after max_skips ({self.request.max_skips}) records were "
                f"skipped. {name_skipped(skipped)} Now it fails on {failing}: {found.records[0].why}. Look at these "
                f"records in {self.kept.directory.poison_records} before you skip more."
            )
        others = [one for one in found.records if allowed is not None and one.place not in allowed]
        if others:
            raise PlanRefused(
                f"{self.request.connector!r} fails on {others[0]}, but nobody has approved skipping this record. "
                f"{name_skipped(skipped)} Start a new run, so that this record can be approved."
            )
        return list(found.records[:room])

    def _find(self, *, has_skipped: bool) -> FoundRecords:
        resumed = has_skipped or (not self.request.dry_run and self._settle())
        sink = observe_sink(self.clients, self.request.connector)
        if resumed:
            sink = self._watch(sink)
        if not sink.has_failed:
            return FoundRecords(sink)
        if not sink.is_of_one_record:
            raise NotSkipped(
                f"Nothing was skipped: {sink.name!r} has not failed on converting or transforming a record. The cause "
                f"is: {sink.status.cause}. If this cause passes or is repaired, the sink can deliver its records. "
                f"{_ADVICE}"
            )
        if known := select_still_next(sink, self.kept.read_found()):
            return FoundRecords(sink, tuple(known))
        read = read_unconvertible(sink, self.kafka, most=self.request.max_records)
        proved = [one for one in read if one.is_proved]
        if proved or self.request.dry_run:
            return FoundRecords(sink, tuple(proved or read))
        return self._run_one_by_one(sink)

    def _run_one_by_one(self, sink: FailedSink) -> FoundRecords:
        """Let the sink run with one record a poll until it fails, and read what Connect reports."""
        self._refuse_run(sink)
        topic = reports_topic(sink.name, cluster=self.clients.cluster)
        since = reports_end(self.clients, topic)
        self._reports.append(topic)
        run, resume = (
            RunOneByOne(sink.name, self.clients, topic),
            ResumeConnector(sink.name, self.clients, may_fail=True),
        )
        stages = [StopConnector(sink.name, self.clients), run, resume]
        record = self._operate("the search for the poison record", stages)
        failed = record.stage(run.name).facts["failed"]
        # With its own configuration it fails at once, at the position that it has reached now.
        sink = self._watch(observe_sink(self.clients, sink.name))
        if not failed:
            log.warning("%r did not fail again with one record a poll.", sink.name)
            return FoundRecords(sink)
        reported = read_reported(sink, self.clients, self.kafka, topic, since=since)
        if found := [one for one in reported if one.is_proved]:
            return FoundRecords(sink, tuple(found))
        raise NotSkipped(self._describe_unproved(sink, reported))

    def _refuse_run(self, sink: FailedSink) -> None:
        """Raise :class:`InvalidRequest` for a sink that isn't RUNNING, or has errors.tolerance=all."""
        if sink.status.state is not State.RUNNING:
            raise InvalidRequest(
                f"Nothing was skipped: {sink.name!r} is {sink.status.state}, but it must run to find the record. "
                f"First {self.clients.control.by_hand(sink.name, State.RUNNING)}."
            )
        if sink.info.config.get("errors.tolerance", "none").strip().lower() == "all":
            raise InvalidRequest(
                f"Nothing was skipped: {sink.name!r} tolerates errors (errors.tolerance=all), so it already skips "
                "records that can't be converted or transformed. It has failed for another reason: "
                f"{as_sentence(sink.status.cause)}"
            )

    def _describe_unproved(self, sink: FailedSink, reported: Sequence[FailedRecord]) -> str:
        name = repr(sink.name)
        if reported:
            one = reported[0]
            return (
                f"Nothing was skipped: {name} fails on {one}, but has committed only position {one.position}. Skipping "
                f"this record would also skip {quantify(one.passed, 'record')} before it, which the sink may not have "
                "delivered yet."
            )
        places = [
            name_record((where.topic, where.partition, sink.start(where))) for where in sorted(sink.unread_counts)
        ]
        return (
            f"Nothing was skipped: {name} failed again with one record a poll, but Connect has not reported the "
            f"record ({sink.status.cause}). It may be {join_first(places, 3)}. Check that the workers may create and "
            f"write the topic {reports_topic(sink.name, cluster=self.clients.cluster)!r}. {_ADVICE}"
        )

    def _skip(self, records: Sequence[FailedRecord]) -> None:
        """Make the skip as a saga: stop, alter, resume; the sink may fail again after it."""
        name = self.request.connector
        skip = SkipRecords(name, self.clients, records)
        stages = [StopConnector(name, self.clients), skip, ResumeConnector(name, self.clients)]
        try:
            self._operate(f"the skip of {quantify(len(records), 'record')}", stages)
        except NotRunning as error:
            record = self._record()
            if record is None or record.state is not SagaState.DONE:
                raise
            log.warning("%s", error)
        log.warning("%s", name_skipped([one.place for one in records]))

    def _watch(self, before: FailedSink) -> FailedSink:
        """Wait until a sink that runs has failed, or has read on in all partitions; at most until the timeout."""
        if before.status.state is not State.RUNNING or before.has_failed:
            return before
        starts = {where: before.start(where) for where in before.unread_counts}
        return self.clients.settle(
            lambda: observe_sink(self.clients, before.name),
            until=lambda now: now.has_failed or all(now.start(where) > start for where, start in starts.items()),
        )

    def _operate(self, name: str, stages: Sequence[Stage]) -> SagaRecord:
        """Make the stages as a saga; each attempt makes it again, as the sink may fail on another record."""
        made = operation_on_connector(self.clients, self.request.connector, name, lambda _left: stages, key=_KEY)
        return operate(replace(made, is_made_once=False, stops=[stages[0].name]), self.owner).saga

    def _settle(self) -> bool:
        """Settle a dead run's saga; return whether that, or an earlier saga of this run, may have resumed the sink."""
        left = settle_of(self.clients, self.request.connector, self.owner, toward=None)
        return left is not None or self._record() is not None

    def _record(self) -> SagaRecord | None:
        """Return the record of this run's saga; None if it has none."""
        return journal_of(self.clients, self.request.connector).record_of(self.owner.run, _KEY)

    def _remove_reports(self) -> None:
        """Delete the topic of the reports; if that fails, warn that it is left."""
        for topic in self._reports:
            try:
                if self.clients.logs is not None and self.clients.logs.counts_of([topic]):
                    self.kafka.delete_topic(topic)
            except Exception:  # of any client: the search itself has ended
                log.warning(
                    "The topic %r could not be deleted. Delete it: it has copies of records.", topic, exc_info=True
                )
        self._reports.clear()

"""The files of one generation of a journal: read by anybody, written by the process that has its lease."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from dataclasses import replace
from types import MappingProxyType
from typing import Any, TypeVar

from airflow_provider_connect_offsets.exceptions import DatasetError, JournalDamaged, JournalLost, Overlap
from airflow_provider_connect_offsets.saga.lease import SILENT_AFTER, Heartbeat, Owner
from airflow_provider_connect_offsets.saga.record import SagaRecord, SagaState, StageRecord
from airflow_provider_connect_offsets.saga.stage import Captures, Stage
from airflow_provider_connect_offsets.workspace.journals.audit import AuditEvent, AuditLog
from airflow_provider_connect_offsets.workspace.journals.journal_store import JournalStore

log = logging.getLogger(__name__)
_T = TypeVar("_T")


class JournalEntry:
    """One generation whose lease this process has; its record is written before each step.

    Args:
        home: URI of the generation, without the names of its files.
        number: The generation's number.
        record: What a dead predecessor left unfinished, or an empty record.
        store: The store of all journals.
        owner: This process.
        taken_over: URI of the predecessor's record; None if nothing was left.
        taken_over_by: Returns who has the lease of a newer generation of a covered resource; None if nobody has.

    Attributes:
        record: The record as last written; the predecessor's, until :meth:`begin` replaces it.
        heartbeat: Renews the lease; None while nothing does.
        others: Name and journal URI of each other resource that the lease covers.
    """

    def __init__(  # noqa: PLR0913 - one for each part of a generation
        self,
        home: str,
        number: int,
        record: SagaRecord,
        *,
        store: JournalStore,
        owner: Owner,
        taken_over: str | None,
        taken_over_by: Callable[[], str | None],
    ) -> None:
        self._store = store
        self._owner = owner
        self.home = home
        self.number = number
        self.record = record
        self.heartbeat: Heartbeat | None = None
        self.others: tuple[tuple[str, str], ...] = ()
        self._taken_over = taken_over
        self._taken_over_by = [taken_over_by]
        self._in_memory = False
        self._is_open = record.state.is_unfinished  # by the audit log

    def cover(self, others: Iterable[tuple[str, str]], taken_over_by: Iterable[Callable[[], str | None]]) -> None:
        """Add resources that the lease covers, each with a function that names who has taken it over."""
        self.others = tuple(others)
        self._taken_over_by += taken_over_by

    def file(self, name: str) -> str:
        """Return the URI of one of this generation's files."""
        return f"{self.home}.{name}.json"

    def keep(self, name: str, value: Any) -> str:
        """Write a JSON value beside the record, and return its URI."""
        uri = self.file(name)
        self._store.write(uri, value)
        return uri

    def begin(
        self,
        owner: Owner,
        *,
        operation: str,
        key: str,
        stages: Iterable[Stage],
        inherited: Captures = MappingProxyType({}),
    ) -> None:
        """Begin a saga of this process; the predecessor's record, settled by now, is kept in its own file.

        Args:
            owner: Who makes the saga.
            operation: What is done, in words, like ``the change of offsets``.
            key: Identifies the saga for a retry; empty: a retry does not look for it.
            stages: Its stages.
            inherited: Stage name → what the predecessor has captured for a stage that was not undone.

        Raises:
            Overlap: Another run took over.
            JournalLost: The journal can't be written.
        """
        if self._taken_over is not None:
            self.may_change()
            ended = _end_record(self.record)
            self._audit(ended)
            # The predecessor's own file first: until the new record is durable, this generation still has the old one.
            self._store.write(self._taken_over, ended.as_json())
            self._taken_over = None
        record = SagaRecord(self.record.resource, owner, operation=operation, key=key, beside=self.others)
        begun = SagaState.FORWARD if inherited else SagaState.CLAIMED
        self.write(replace(record.with_stages(stages, inherited), state=begun))

    def add(self, stages: Iterable[Stage]) -> None:
        """Add stages to the saga."""
        self.write(self.record.with_stages(stages))

    def note(self, state: SagaState, *, stage: StageRecord | None = None) -> None:
        """Write the saga's state and what was remembered; ``stage`` replaces the record of the same name."""
        record = replace(self.record, state=state)
        self.write(record if stage is None else record.with_stage(stage))

    def remember(self, stage: StageRecord) -> None:
        """Replace the record of a stage in memory; the next write makes it durable."""
        self.record = self.record.with_stage(stage)

    def go_on_in_memory(self) -> None:
        """Tolerate from now on that the journal can't be written: what was done must be undone in any case."""
        self._in_memory = True

    def write(self, record: SagaRecord) -> None:
        """Make ``record`` durable.

        Raises:
            Overlap: Another run took over.
            JournalLost: The journal can't be written, or the lease was not renewed for too long.
        """
        try:
            self.refuse_lost()
            self._audit(record)
            self._store.write(self.file("record"), record.as_json())
        except Overlap:
            raise
        except Exception as error:
            if not self._in_memory:
                if isinstance(error, JournalLost):
                    raise
                raise JournalLost(
                    f"The journal of {record.resource!r} can't be written: {self.file('record')} ({error!r})."
                ) from error
            log.warning("The journal %s could not be written.", self.file("record"), exc_info=True)
        self.record = record

    def _audit(self, record: SagaRecord) -> None:
        """Add the beginning or the end of a saga that changes something to the audit log, before the journal has it.

        So a process that dies in between leaves a saga that is settled later, whose end is then added once more.

        Raises :class:`JournalLost` if the audit log can't be written.
        """
        if not self._store.audit or record.state.is_unfinished == self._is_open:
            return
        owner, event = record.owner, AuditEvent.BEGUN if record.state.is_unfinished else AuditEvent.ENDED
        try:
            AuditLog.of(self._store).append(
                event,
                resource=record.resource,
                operation=record.operation,
                result=record.state.value,
                digest=record.key,
                run=owner.run,
                task=owner.task,
                host=owner.host,
                by=f"{self._owner.run} (task {self._owner.task})",
                triggered_by=owner.triggered_by,
                approved_by=owner.approved_by,
                journal=self.file("record"),
                stages=tuple(_audited(one) for one in record.stages),
            )
        except Exception as error:  # of any file system
            raise JournalLost(
                f"The audit log {self._store.audit} can't be written for {record.operation} of {record.resource!r} "
                f"({error!r})."
            ) from error
        self._is_open = not self._is_open

    def refuse_lost(self) -> None:
        """Raise an error if this process may no longer change anything; called before each changing request.

        Raises:
            Overlap: Another run took over.
            JournalLost: The lease was not renewed for too long, and what was done is not being undone yet.
        """
        holder = next(filter(None, (ask() for ask in self._taken_over_by)), None)
        if holder is None and self.heartbeat is not None and self.heartbeat.is_lost:
            holder = "another run"
        if holder is not None:
            raise Overlap(
                f"{self.record.resource!r} was taken over by {holder}, because this run did not renew its lease in "
                "time. This run changes nothing more."
            )
        silent = 0.0 if self.heartbeat is None else self.heartbeat.silent_for
        if silent > SILENT_AFTER and not self._in_memory:
            raise JournalLost(
                f"The lease of {self.record.resource!r} could not be renewed for {silent:.0f} s, so another run may "
                f"soon take it over: {self.file('lease')}."
            )

    def may_change(self) -> None:
        """Raise as :meth:`refuse_lost` does, and also if the journal can't be read, except during an undo."""
        try:
            self.refuse_lost()
        except (Overlap, JournalLost):
            raise
        except Exception as error:
            if not self._in_memory:
                raise JournalLost(
                    f"The journal of {self.record.resource!r} can't be read: {self.file('lease')} ({error!r})."
                ) from error
            log.warning("The journal %s could not be read.", self.file("lease"), exc_info=True)


def _audited(stage: StageRecord) -> dict[str, Any]:
    return {name: value for name, value in stage.as_json().items() if name not in {"spec", "facts"}}


def _end_record(record: SagaRecord) -> SagaRecord:
    """Return the record as settled: the next saga inherits what this one has not undone."""
    return replace(record, state=SagaState.UNDONE) if record.state.is_unfinished else record


def read_stored(store: JournalStore, resource: str, uri: str, parse: Callable[[dict[str, Any]], _T]) -> _T | None:
    """Read one of the two files of a generation; a file that can't be read is an error, and never counts as missing.

    Args:
        store: The store of all journals.
        resource: Name of the journal's resource, for messages.
        uri: URI of the file.
        parse: Converts the JSON object.

    Returns:
        None if the file does not exist.

    Raises:
        JournalDamaged: The file can't be read.
    """
    try:
        fields = store.read(uri)
        return None if fields is None else parse(fields)
    except (DatasetError, AttributeError, KeyError, TypeError, ValueError) as error:
        raise JournalDamaged(
            f"Nothing was done: the journal of {resource!r} is damaged, so it is unknown what a change has left "
            f"there: {uri} ({error!r}). Check the connector's state and offsets. Once they are right, move that file "
            "away and try again."
        ) from error

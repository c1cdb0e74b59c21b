"""One generation of a journal, as the process that holds it writes it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from airflow_provider_connect_offsets.exceptions import JournalLost, Overlap
from airflow_provider_connect_offsets.saga.lease import SILENT_AFTER, Heartbeat, Owner
from airflow_provider_connect_offsets.saga.record import SagaRecord, SagaState, StageRecord
from airflow_provider_connect_offsets.saga.stage import Stage
from airflow_provider_connect_offsets.workspace import files

log = logging.getLogger(__name__)


class JournalEntry:
    """One generation, held by this process: its record is written before each step.

    ``record`` is what a dead predecessor left unfinished, until :meth:`begin` puts this process's own in its place.
    ``home``: the generation's URI, to which the names of its files are added. ``taken_over``: the file in which the
    predecessor's record lies, None where nothing was left. ``taken_over_by``: who holds a newer generation, if anyone.
    ``beside``: name and journal of each other resource that is held as well.
    """

    def __init__(
        self,
        home: str,
        number: int,
        record: SagaRecord,
        *,
        taken_over: str | None,
        taken_over_by: Callable[[], str | None],
    ) -> None:
        self.home = home
        self.number = number
        self.record = record
        self.heartbeat: Heartbeat | None = None
        self.beside: tuple[tuple[str, str], ...] = ()
        self._taken_over = taken_over
        self._taken_over_by = taken_over_by
        self._in_memory = False

    def file(self, name: str) -> str:
        """The URI of one of this generation's files."""
        return f"{self.home}.{name}.json"

    def keep(self, name: str, value: Any) -> str:
        """Write a JSON value beside the record, and return where it lies."""
        uri = self.file(name)
        files.write_json(uri, value)
        return uri

    def begin(self, owner: Owner, *, operation: str, key: str, stages: Iterable[Stage]) -> None:
        """Start a saga of one's own, once nothing unfinished is left; what was left keeps how it ended."""
        if self._taken_over is not None:
            files.write_json(self._taken_over, self.record.as_json())
            self._taken_over = None
        record = SagaRecord(self.record.resource, owner, operation=operation, key=key, beside=self.beside)
        self.write(record.with_stages(stages))

    def add(self, stages: Iterable[Stage]) -> None:
        """Take the saga up with more stages."""
        self.write(self.record.with_stages(stages))

    def note(self, state: SagaState, *, stage: StageRecord | None = None) -> None:
        """Make durable where the saga is on its way, what is remembered by now, and ``stage`` as it is from now on."""
        record = replace(self.record, state=state)
        self.write(record if stage is None else record.with_stage(stage))

    def remember(self, stage: StageRecord) -> None:
        """Take a stage as it is from now on, which the next write makes durable."""
        self.record = self.record.with_stage(stage)

    def go_on_in_memory(self) -> None:
        """Take what is noted from now on as it is, durable or not: what was done has to be undone all the same."""
        self._in_memory = True

    def write(self, record: SagaRecord) -> None:
        """Make ``record`` durable.

        Raises :class:`Overlap` where another run took over, and :class:`JournalLost` where the journal can't be
        written, or the lease was not renewed for too long.
        """
        try:
            self._refuse_taken_over()
            files.write_json(self.file("record"), record.as_json())
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

    def _refuse_taken_over(self) -> None:
        holder = self._taken_over_by()
        if holder is not None:
            raise Overlap(
                f"{self.record.resource!r} was taken over by {holder}, as this run was not heard of for too long. "
                "Nothing more is done here."
            )
        silent = 0.0 if self.heartbeat is None else self.heartbeat.silent_for
        if silent > SILENT_AFTER and not self._in_memory:
            raise JournalLost(
                f"The lease of {self.record.resource!r} could not be renewed for {silent:.0f} s, so that another run "
                f"may soon take it: {self.file('lease')}."
            )

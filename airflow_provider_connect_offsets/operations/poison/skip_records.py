"""The stage that moves a sink past the records on which it has failed."""

from __future__ import annotations

from collections.abc import Sequence

from airflow_provider_connect_offsets.exceptions import Drift
from airflow_provider_connect_offsets.observe.clients import Clients
from airflow_provider_connect_offsets.observe.failed_records import FailedRecord
from airflow_provider_connect_offsets.offsets.document import Entry, Offsets
from airflow_provider_connect_offsets.operations.connector.direct import WriteOffsets


class SkipRecords(WriteOffsets):
    """Moves the positions of a STOPPED sink past the records on which it has failed."""

    def __init__(self, connector: str, clients: Clients, records: Sequence[FailedRecord]) -> None:
        super().__init__(connector, clients, Offsets.of(_entry(one, one.record.offset + 1) for one in records))
        self._records = records

    def changes(self, prior: Offsets) -> Offsets:
        """Return the next positions; raises :class:`Drift` if a position is no longer what the search found."""
        stored = prior.by_partition()
        for one in self._records:
            expected = _entry(one, one.position)
            if stored.get(expected.partition) != expected.offset:
                raise Drift(
                    f"Nothing was skipped: {self.subject!r} failed on {one} at position {one.position}, but is now at "
                    f"{stored.get(expected.partition, 'no offset')}. Run the task again."
                )
        return super().changes(prior)


def _entry(failed: FailedRecord, position: int | None) -> Entry:
    where = failed.record.where
    partition: dict[str, str | int | float | bool | None] = {
        "kafka_topic": where.topic,
        "kafka_partition": where.partition,
    }
    return Entry.of(partition, None if position is None else {"kafka_offset": position})

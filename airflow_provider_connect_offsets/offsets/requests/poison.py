"""The request to find, and to skip, the record on which a sink failed."""

from __future__ import annotations

from dataclasses import dataclass

from airflow_provider_connect_offsets.exceptions import InvalidRequest
from airflow_provider_connect_offsets.offsets.requests.values import count


@dataclass(frozen=True, slots=True)
class PoisonRequest:
    """Which sink, and how much may be done to it.

    Attributes:
        connector: Name of the sink.
        max_skips: Most records that one run skips.
        max_records: Most records that are read in each partition.
        keep_content: Whether key, value and headers of a record are kept; else only where it was, and its digest.
        dry_run: Whether only to read: nothing is stopped, and the sink's configuration stays.
    """

    connector: str
    max_skips: int = 1
    max_records: int = 10_000
    keep_content: bool = True
    dry_run: bool = False

    @classmethod
    def parse(
        cls,
        *,
        connector: str,
        max_skips: object = 1,
        max_records: object = 10_000,
        keep_content: bool = True,
        dry_run: bool = False,
    ) -> PoisonRequest:
        """Parse what a person typed; raises :class:`InvalidRequest`."""
        if not connector.strip():
            raise InvalidRequest("connector: name the sink that failed.")
        skips, records = count(max_skips, param="max_skips"), count(max_records, param="max_records")
        for name, number in (("max_skips", skips), ("max_records", records)):
            if number < 1:
                raise InvalidRequest(f"{name}: {number} is less than 1.")
        return cls(connector, skips, records, keep_content, dry_run)

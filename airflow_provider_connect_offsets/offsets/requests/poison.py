"""The request to find, and to skip, the record on which a sink failed."""

from __future__ import annotations

from airflow_provider_connect_offsets.offsets.requests.fields import Parameters, Section, count, flag, required
from airflow_provider_connect_offsets.offsets.requests.values import Flag, Name


class PoisonRequest(Parameters, section=Section.LIMITS):
    """Which sink has failed, how far its topics are read, and what is kept of a record."""

    connector: Name = required("Connector", "Name of the failed sink.", section=Section.WHAT, example="orders-sink")
    max_skips: int = count(
        "Records at most",
        "How many records the run skips at most. If the sink fails again after that, the run fails.",
        default=1,
    )
    max_records: int = count(
        "Records to read",
        "How many offsets are read at most from the committed position of each partition on, to find the record "
        "without running the sink.",
        default=10_000,
    )
    keep_content: Flag = flag(
        "Keep content",
        "Whether to keep the key, value, headers and error message of a record. If not, only its place, its sizes and "
        "a digest are kept.",
        section=Section.SAFETY,
        default=True,
    )
    dry_run: Flag = flag(
        "Dry run",
        "Whether to only find and report the record. Nothing is stopped or changed then.",
        section=Section.SAFETY,
        default=False,
    )

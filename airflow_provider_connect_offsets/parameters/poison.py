"""The record on which a sink has failed."""

from __future__ import annotations

from typing import Any

from airflow_provider_connect_offsets.offsets.requests.poison import PoisonRequest
from airflow_provider_connect_offsets.parameters.fields import (
    Flag,
    Parameters,
    Section,
    Text,
    argument,
    count,
    flag,
    required,
)


class PoisonedSinkParams(Parameters, section=Section.LIMITS):
    """Which sink has failed, how far its topics are read, and what is kept of a record."""

    connector: Text = required("Connector", "Name of the failed sink.", section=Section.WHAT, example="orders-sink")
    max_skips: int = count(
        "Records at most",
        "How many records the run skips at most; if the sink fails again after that, the run fails.",
        default=1,
    )
    max_records: int = count(
        "Records to read",
        "How many offsets are read from the committed position of each partition, to find the record without a run of "
        "the sink.",
        default=10_000,
    )
    keep_content: Flag = flag(
        "Keep content",
        "Whether key, value, headers and error message of a record are kept; if not, only where it was, its sizes and "
        "a digest.",
        section=Section.SAFETY,
        default=True,
    )
    dry_run: Flag = flag(
        "Dry run",
        "Whether only to read, and to say which record it is; nothing is stopped or changed then.",
        section=Section.SAFETY,
        default=False,
    )

    def request(self) -> PoisonRequest:
        """Parse the request; raises :class:`InvalidRequest`."""
        return PoisonRequest.parse(**self.model_dump())


class SkipApprovalParams(Parameters, section=Section.SAFETY):
    """Whether a person is asked."""

    approval: Flag = flag(
        "Ask for approval", "Whether someone has to approve that the record is skipped.", default=True
    )


class ApprovedRecordsParams(Parameters):
    """The records that may be skipped."""

    found: Any = argument(
        "What the search returned; with ``only_found`` only its records are skipped. None: ``max_skips`` at most.",
        default=None,
    )
    only_found: Flag = argument("Whether only the records of ``found`` are skipped.", default=True)

"""The record on which a sink has failed."""

from __future__ import annotations

from typing import Any

from airflow_provider_connect_offsets.offsets.requests.fields import Parameters, Section, argument, flag
from airflow_provider_connect_offsets.offsets.requests.values import Flag


class SkipApprovalParams(Parameters, section=Section.SAFETY):
    """Whether a person is asked."""

    approval: Flag = flag("Ask for approval", "Whether someone has to approve the skip of the record.", default=True)


class ApprovedRecordsParams(Parameters):
    """The records that may be skipped."""

    found: Any = argument(
        "What the search returned. With ``only_found``, only its records are skipped. None: up to ``max_skips`` "
        "records.",
        default=None,
    )
    only_found: Flag = argument("Whether only the records of ``found`` are skipped.", default=True)

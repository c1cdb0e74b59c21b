"""Stored offsets whose connector no longer exists."""

from __future__ import annotations

from airflow_provider_connect_offsets.offsets.requests.fields import Parameters, Section, flag
from airflow_provider_connect_offsets.offsets.requests.values import Flag


class RemovalParams(Parameters, section=Section.SAFETY):
    """Whether what is found is removed, and whether a person is asked before."""

    remove: Flag = flag("Remove", "Whether to remove what is found; otherwise the run only reports it.", default=False)
    approval: Flag = flag("Ask for approval", "Whether someone has to approve the removal.", default=True)

"""Stored offsets whose connector no longer exists."""

from __future__ import annotations

from datetime import datetime

from airflow_provider_connect_offsets.offsets.requests.orphans import OrphanRequest
from airflow_provider_connect_offsets.parameters.fields import Flag, Parameters, Section, Text, flag, optional, required


class OrphanedOffsetsParams(Parameters, section=Section.WHAT):
    """Which stored offsets are searched for."""

    connectors: Text = optional(
        "Connectors",
        "Regular expression that matches whole names of deleted connectors. Empty: all.",
        example="orders-.*",
    )
    older_than: Text = optional(
        "Older than",
        "ISO 8601 duration: only connectors none of whose offsets was written since. Empty: of any age.",
        example="P30D",
    )
    offsets_topic: Text = required(
        "Offsets topic",
        "The offset.storage.topic of the Connect cluster's workers.",
        section=Section.CONNECTIONS,
        example="connect-offsets",
        default="connect-offsets",
    )

    def request(self, *, now: datetime) -> OrphanRequest:
        """Parse the request; raises :class:`InvalidRequest`."""
        return OrphanRequest.parse(
            topic=self.offsets_topic, connectors=self.connectors, older_than=self.older_than, now=now
        )


class RemovalParams(Parameters, section=Section.SAFETY):
    """Whether what is found is removed, and whether a person is asked before."""

    remove: Flag = flag("Remove", "Whether to remove what is found; otherwise the run only reports it.", default=False)
    approval: Flag = flag("Ask for approval", "Whether someone has to approve the removal.", default=True)

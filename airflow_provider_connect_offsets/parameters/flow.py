"""A MirrorMaker 2 flow: its reset, its offset syncs, its readiness for a failover."""

from __future__ import annotations

from typing import Annotated, ClassVar

from airflow_provider_connect_offsets.offsets.requests.fields import (
    Parameters,
    Section,
    argument,
    choice,
    count,
    flag,
    optional,
    required,
)
from airflow_provider_connect_offsets.offsets.requests.place import TO, ResumePoint, To, parse_to
from airflow_provider_connect_offsets.offsets.requests.values import Flag, Text


class FlowConnectorsParams(Parameters, section=Section.WHAT):
    """The connectors of a flow, and which of its own topics are emptied."""

    source_connector: Text = required(
        "MirrorSource", "Name of the flow's MirrorSourceConnector.", example="orders-mirror"
    )
    checkpoint_connector: Text = optional(
        "MirrorCheckpoint",
        "Name of the flow's MirrorCheckpointConnector. It is stopped meanwhile, so it forgets the old syncs. "
        "Empty: there is none.",
        example="orders-checkpoints",
    )
    checkpoints: Flag = flag(
        "Checkpoints",
        "Whether to remove the flow's checkpoints, too. Needed if the remote topics were recreated.",
        section=Section.WHERE,
        default=False,
    )


class FlowResetParams(ResumePoint, FlowConnectorsParams, section=Section.WHERE):
    """Where a flow's MirrorSource resumes, and what is emptied with it."""

    first: ClassVar[tuple[str, ...]] = ("source_connector", "checkpoint_connector", "to", "value")

    to: Annotated[To, parse_to] = choice(
        "Resume at",
        "Where the MirrorSource resumes: earliest replicates everything again, current replicates nothing again.",
        section=Section.WHAT,
        values={to: words for to, words in TO.items() if to != "skip"},
        default="earliest",
    )


class ClearedSyncsParams(FlowConnectorsParams):
    """Whose offset syncs are emptied."""

    foreign: Flag = argument(
        "Whether syncs of topics that the MirrorSource does not replicate may be deleted, too.", default=False
    )


class HistoryParams(Parameters, section=Section.LIMITS):
    """How many runs are kept."""

    keep: int = count("History", "How many runs are kept, with their reports.", default=672)

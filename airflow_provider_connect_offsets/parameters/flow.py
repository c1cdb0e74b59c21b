"""A MirrorMaker 2 flow: its reset, its offset syncs, its readiness for a failover."""

from __future__ import annotations

from typing import Any, ClassVar

from airflow_provider_connect_offsets.offsets.requests.readiness import ReadinessRequest, Thresholds
from airflow_provider_connect_offsets.parameters.change import TO, PlaceParams
from airflow_provider_connect_offsets.parameters.fields import (
    Flag,
    Parameters,
    Section,
    Text,
    argument,
    choice,
    count,
    flag,
    limit,
    optional,
    prefilled,
    required,
    share,
)

_DEFAULTS = Thresholds()


class FlowConnectorsParams(Parameters, section=Section.WHAT):
    """The connectors of a flow, and which of its own topics are emptied."""

    source_connector: Text = required(
        "MirrorSource", "Name of the flow's MirrorSourceConnector.", example="orders-mirror"
    )
    checkpoint_connector: Text = optional(
        "MirrorCheckpoint",
        "Name of the flow's MirrorCheckpointConnector, which is stopped meanwhile and forgets the old syncs. "
        "Empty: there is none.",
        example="orders-checkpoints",
    )
    checkpoints: Flag = flag(
        "Checkpoints",
        "Whether to remove the flow's checkpoints, too; needed if the remote topics were created anew.",
        section=Section.WHERE,
        default=False,
    )


class FlowResetParams(PlaceParams, FlowConnectorsParams, section=Section.WHERE):
    """Where a flow's MirrorSource resumes, and what is emptied with it."""

    first: ClassVar[tuple[str, ...]] = ("source_connector", "checkpoint_connector", "to", "value")

    to: Text = choice(
        "Resume at",
        "Where the MirrorSource resumes; earliest replicates everything again, current nothing.",
        section=Section.WHAT,
        values={to: words for to, words in TO.items() if to != "skip"},
        default="earliest",
    )


class ClearedSyncsParams(FlowConnectorsParams):
    """Whose offset syncs are emptied."""

    foreign: Flag = argument(
        "Whether syncs of topics that the MirrorSource does not replicate may go, too.", default=False
    )


class ReadinessThresholdsParams(Parameters, section=Section.LIMITS):
    """Where a finding becomes an error; 0: it is only shown."""

    max_lag_records: Any = limit(
        "Records",
        "How many records of a partition may not be replicated yet. 0: not judged.",
        default=_DEFAULTS.max_lag_records,
    )
    max_lag_seconds: Any = limit(
        "Seconds",
        "How old the oldest record that is not replicated may be. More than the workers' offset.flush.interval.ms, "
        "as what they have not flushed yet is not observed. 0: not judged.",
        default=_DEFAULTS.max_lag_seconds,
    )
    max_sync_age: Any = limit(
        "Age of syncs",
        "Seconds for which records may be replicated without an offset sync. 0: not judged.",
        default=_DEFAULTS.max_sync_age,
    )
    max_checkpoint_age: Any = limit(
        "Age of checkpoints",
        "Seconds for which a checkpoint may stay behind what the offset syncs allow. 0: not judged.",
        default=_DEFAULTS.max_checkpoint_age,
    )
    stuck_after: Any = limit(
        "Stuck after",
        "Seconds without progress in spite of a lag, by the history. 0: not judged.",
        default=_DEFAULTS.stuck_after,
    )
    min_coverage: Any = share(
        "Coverage",
        "Share of each group's partitions that a failover now would have to translate, planned or not.",
        default=_DEFAULTS.min_coverage,
    )
    max_rereads: Any = limit(
        "Re-reads",
        "How many records a group may read again after a planned failover now. 0: not judged.",
        default=_DEFAULTS.max_rereads,
    )


class ObservedFlowParams(Parameters, section=Section.WHAT):
    """Which flow is observed, and which of its groups."""

    source_connector: Text = prefilled(
        "Source connector", "Name of the flow's MirrorSourceConnector.", default="MirrorSourceConnector"
    )
    checkpoint_connector: Text = optional(
        "Checkpoint connector",
        "Name of the flow's MirrorCheckpointConnector. Empty: nothing is reported of groups.",
        example="orders-checkpoints",
    )
    groups: Text = optional(
        "Groups",
        "Regular expression that matches whole names of the source's consumer groups. Empty: all.",
        example="orders-.*",
    )
    thresholds: Any = argument(
        "Thresholds by name (``offsets.requests.readiness.Thresholds``); 0: a finding is only shown.", default=None
    )

    def request(self) -> ReadinessRequest:
        """Parse the request; raises :class:`InvalidRequest`."""
        return ReadinessRequest.parse(**{**self.model_dump(), "thresholds": self.thresholds or {}})


class HistoryParams(Parameters, section=Section.LIMITS):
    """How many runs are kept."""

    keep: int = count("History", "How many runs are kept, with their reports.", default=672)

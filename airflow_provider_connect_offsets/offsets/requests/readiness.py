"""The request for a readiness report of a MirrorMaker 2 flow: connectors, groups, and thresholds of its findings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from airflow_provider_connect_offsets.exceptions import InvalidRequest
from airflow_provider_connect_offsets.offsets.json_codec import JsonRecord
from airflow_provider_connect_offsets.offsets.requests.fields import (
    Parameters,
    Section,
    argument,
    fields_of,
    limit,
    optional,
    prefilled,
    share,
)
from airflow_provider_connect_offsets.offsets.requests.values import Name, OptionalName, PatternOrEmpty


class Thresholds(Parameters, JsonRecord, section=Section.LIMITS):
    """Values beyond which a finding is an error; 0: the finding is shown only.

    What MirrorMaker 2 has done since its worker last flushed offsets (``offset.flush.interval.ms``, by default a
    minute) is not observed, so thresholds in seconds should exceed that.
    """

    max_lag_records: int = limit(
        "Records",
        "How many records of a partition may be left to replicate. 0: not checked.",
        default=0,
    )
    max_lag_seconds: int = limit(
        "Seconds",
        "How old, in seconds, the oldest record that is not replicated may be. Choose more than the workers' "
        "offset.flush.interval.ms, because offsets that are not flushed yet are not observed. 0: not checked.",
        default=300,
    )
    max_sync_age: int = limit(
        "Age of syncs",
        "How many seconds records may be replicated without a new offset sync. 0: not checked.",
        default=600,
    )
    max_checkpoint_age: int = limit(
        "Age of checkpoints",
        "How many seconds a checkpoint may stay behind an offset sync that its group has passed. 0: not checked.",
        default=600,
    )
    stuck_after: int = limit(
        "Stuck after",
        "How many seconds a partition with a lag may make no progress, by the history. 0: not checked.",
        default=300,
    )
    min_coverage: float = share(
        "Coverage",
        "Share of each group's partitions that a failover now must be able to translate, planned or not.",
        default=0.9,
    )
    max_rereads: int = limit(
        "Re-reads",
        "How many records a group may read again after a planned failover now. 0: not checked.",
        default=0,
    )

    @classmethod
    def by_name(cls, given: Mapping[str, object]) -> Thresholds:
        """Parse thresholds by name, numbers or strings; raises :class:`InvalidRequest`, also for an unknown name."""
        known = fields_of(cls)
        if unknown := sorted(set(given) - set(known)):
            names = ", ".join(sorted(known))
            raise InvalidRequest(f"There is no threshold {unknown[0]!r}. The thresholds are {names}.")
        return cls.parse(**given)


def _thresholds(value: Any, _param: str) -> Thresholds:
    return value if isinstance(value, Thresholds) else Thresholds.by_name(value or {})


class ReadinessRequest(Parameters, JsonRecord, section=Section.WHAT):
    """Which flow is observed, and which of its groups."""

    source_connector: Name = prefilled(
        "Source connector", "Name of the flow's MirrorSourceConnector.", default="MirrorSourceConnector"
    )
    checkpoint_connector: OptionalName = optional(
        "Checkpoint connector",
        "Name of the flow's MirrorCheckpointConnector. Empty: the report has no groups.",
        example="orders-checkpoints",
        default="",
    )
    groups: PatternOrEmpty = optional(
        "Groups",
        "Regular expression that matches whole names of the source's consumer groups. Empty: all.",
        example="orders-.*",
        default="",
    )
    thresholds: Annotated[Thresholds, _thresholds] = argument(
        "Thresholds by name (``offsets.requests.readiness.Thresholds``). A threshold of 0 is not checked.",
        default=Thresholds(),
    )

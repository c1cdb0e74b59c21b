"""The request for a readiness report of a MirrorMaker 2 flow: connectors, groups, and thresholds of its findings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from airflow_provider_connect_offsets.exceptions import InvalidRequest
from airflow_provider_connect_offsets.offsets.json_codec import JsonRecord
from airflow_provider_connect_offsets.offsets.requests.patterns import selection
from airflow_provider_connect_offsets.offsets.requests.values import MAX_COUNT, count, share

_SHARE = "min_coverage"


@dataclass(frozen=True, slots=True, kw_only=True)
class Thresholds(JsonRecord):
    """Values beyond which a finding is an error; 0: the finding is shown only.

    What MirrorMaker 2 has done since its worker last flushed offsets (``offset.flush.interval.ms``, by default a
    minute) is not observed, so thresholds in seconds should exceed that.

    Attributes:
        max_lag_records: Records of a partition that are not replicated yet.
        max_lag_seconds: Age of the oldest of them, in seconds.
        max_sync_age: Seconds in which records were replicated without an offset sync.
        max_checkpoint_age: Seconds by which a checkpoint may be older than the syncs allow.
        stuck_after: Seconds without progress in spite of a lag.
        min_coverage: Share of a group's partitions, 0 to 1, that a failover would translate; of a planned failover and
            of one without the source.
        max_rereads: Records that a group would read again after a planned failover.
    """

    max_lag_records: int = 0
    max_lag_seconds: int = 300
    max_sync_age: int = 600
    max_checkpoint_age: int = 600
    stuck_after: int = 300
    min_coverage: float = 0.9
    max_rereads: int = 0

    @classmethod
    def parse(cls, values: Mapping[str, object]) -> Thresholds:
        """Parse thresholds by name, numbers or texts; raises :class:`InvalidRequest`."""
        known = {field.name for field in fields(cls)}
        unknown = sorted(set(values) - known)
        if unknown:
            raise InvalidRequest(f"There is no threshold {unknown[0]!r}; there are {', '.join(sorted(known))}.")
        return cls(**{name: _threshold(name, str(value).strip()) for name, value in values.items()})


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadinessRequest(JsonRecord):
    """Which flow and groups to report on.

    Attributes:
        source_connector: Name of the flow's MirrorSourceConnector.
        checkpoint_connector: Name of its MirrorCheckpointConnector; empty: only replication is observed, and the report
            says that groups are not translated.
        groups: Pattern for whole names of consumer groups; empty: all.
        thresholds: Values beyond which a finding is an error.
    """

    source_connector: str
    checkpoint_connector: str = ""
    groups: str = ""
    thresholds: Thresholds = Thresholds()

    @classmethod
    def parse(
        cls, *, source_connector: str, checkpoint_connector: str, groups: str, thresholds: Mapping[str, object]
    ) -> ReadinessRequest:
        """Parse what a person typed; raises :class:`InvalidRequest`."""
        if not source_connector.strip():
            raise InvalidRequest("source_connector: name the flow's MirrorSourceConnector.")
        return cls(
            source_connector=source_connector.strip(),
            checkpoint_connector=checkpoint_connector.strip(),
            groups=selection(groups, param="groups") or "",
            thresholds=Thresholds.parse(thresholds),
        )


def _threshold(name: str, text: str) -> Any:
    return share(text, param=name) if name == _SHARE else count(text, param=name, most=MAX_COUNT)

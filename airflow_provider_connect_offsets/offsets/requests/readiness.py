"""What a look at a MirrorMaker 2 flow's readiness is asked for: which connectors and groups, and what is too much."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from airflow_provider_connect_offsets.exceptions import InvalidRequest
from airflow_provider_connect_offsets.offsets.requests.patterns import typed_pattern

# Thresholds that are whole numbers, and the one that is a share.
_SHARE = "min_coverage"


@dataclass(frozen=True, slots=True, kw_only=True)
class Thresholds:
    """Where a finding becomes an error; 0: it is not judged, only shown.

    ``max_lag_records``: records of a partition that are not replicated yet. ``max_lag_seconds``: age of the oldest of
    them. ``max_sync_age``: seconds for which records were replicated without an offset sync. ``max_checkpoint_age``:
    seconds for which a checkpoint may be older than what the syncs allow. ``stuck_after``: seconds without progress in
    spite of a lag. ``min_coverage``: share of a group's partitions that a failover would translate (0 to 1), planned,
    and were the source lost. ``max_rereads``: records that a group would read again after a planned one. What
    MirrorMaker 2 has done since its worker last flushed offsets (``offset.flush.interval.ms``, a minute by default) is
    not seen, so seconds should be more than that.
    """

    max_lag_records: int = 0
    max_lag_seconds: int = 300
    max_sync_age: int = 600
    max_checkpoint_age: int = 600
    stuck_after: int = 300
    min_coverage: float = 0.9
    max_rereads: int = 0

    @classmethod
    def parse(cls, asked: Mapping[str, object]) -> Thresholds:
        """Read what a template may have made texts; raises :class:`InvalidRequest`."""
        known = {field.name for field in fields(cls)}
        unknown = sorted(set(asked) - known)
        if unknown:
            raise InvalidRequest(f"There is no threshold {unknown[0]!r}; there are {', '.join(sorted(known))}.")
        given = {name: str(value).strip() for name, value in asked.items()}
        numbers = {name: _whole(name, text) for name, text in given.items() if name != _SHARE}
        return cls(**numbers, **({_SHARE: _share(given[_SHARE])} if _SHARE in given else {}))  # type: ignore[arg-type]

    def as_json(self) -> dict[str, Any]:
        """Write them."""
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadinessRequest:
    """A flow's connectors, a pattern for whole names of groups (empty: all), and the thresholds.

    ``checkpoint_connector`` may be empty: then only replication is looked at, and that no group is translated is told.
    """

    source_connector: str
    checkpoint_connector: str = ""
    groups: str = ""
    thresholds: Thresholds = Thresholds()

    @classmethod
    def parse(
        cls, *, source_connector: str, checkpoint_connector: str, groups: str, thresholds: Mapping[str, object]
    ) -> ReadinessRequest:
        """Read what was asked for; raises :class:`InvalidRequest`."""
        if not source_connector.strip():
            raise InvalidRequest("source_connector: name the flow's MirrorSourceConnector.")
        return cls(
            source_connector=source_connector.strip(),
            checkpoint_connector=checkpoint_connector.strip(),
            groups=typed_pattern(groups, param="groups").pattern.strip(),
            thresholds=Thresholds.parse(thresholds),
        )

    def as_json(self) -> dict[str, Any]:
        """Write it; :meth:`from_json` reads it."""
        return asdict(self)

    @classmethod
    def from_json(cls, written: Mapping[str, Any]) -> ReadinessRequest:
        """Read what :meth:`as_json` wrote."""
        return cls(**{**written, "thresholds": Thresholds(**written["thresholds"])})


def _whole(name: str, text: str) -> int:
    if not re.fullmatch(r"\d{1,15}", text, re.ASCII):
        raise InvalidRequest(f"{name}: {text!r} is no whole number, 0 or greater.")
    return int(text)


def _share(text: str) -> float:
    try:
        share = float(text)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise InvalidRequest(f"{_SHARE}: {text!r} is no share between 0 and 1.")
    return share

"""The same change for many connectors: which ones, looked at together, and what became of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from airflow_provider_connect_offsets.exceptions import (
    AccessDenied,
    FleetIncomplete,
    InvalidRequest,
    RecordsDeleted,
    Rejected,
    StoreError,
    UnknownConnector,
)
from airflow_provider_connect_offsets.observe.clients import Bounds, Clients, Logs, Retained
from airflow_provider_connect_offsets.observe.snapshot import take_snapshot
from airflow_provider_connect_offsets.offsets.families import TopicPartition
from airflow_provider_connect_offsets.offsets.requests.patterns import typed_pattern
from airflow_provider_connect_offsets.offsets.requests.request import Request
from airflow_provider_connect_offsets.workspace.fleet import FleetDirectory

_LASTING = (AccessDenied, Rejected, UnknownConnector)


def take_snapshots(requests: Sequence[Request], clients: Clients, fleet: FleetDirectory, *, cluster: str) -> None:
    """Write the snapshot of each request's connector under ``fleet``, then the list; the logs are looked at once.

    Raises as ``take_snapshot`` does, at the first connector of which none can be taken; nothing is changed.
    """
    together = replace(
        clients, logs=None if clients.logs is None else _ObservedAtOnce(clients.logs, clients.logs.servers)
    )
    for request in requests:
        take_snapshot(request, together, fleet.member(request.connector), cluster=cluster)
    fleet.publish(request.connector for request in requests)


def select(connectors: Iterable[str], pattern: str) -> list[str]:
    """The connectors whose whole name matches ``pattern``; raises :class:`InvalidRequest` where none does."""
    there, wanted = sorted(connectors), typed_pattern(pattern, param="connectors")
    found = [name for name in there if wanted.fullmatch(name)]
    if not found:
        raise InvalidRequest(f"connectors: {pattern!r} matches none of the {len(there)} connectors: {_some(there)}.")
    return found


def refuse_incomplete(ended: Mapping[str, object], connectors: Sequence[str]) -> None:
    """Raise where any of ``connectors`` has not ended, or ended with an exception, and say which.

    :class:`FleetIncomplete`, or plain :class:`StoreError` where each failure may pass by itself.
    """
    failed = {name: error for name, error in ended.items() if isinstance(error, Exception)}
    waiting = [name for name in connectors if name not in ended]
    if not failed and not waiting:
        return
    short = sorted(name for name, error in failed.items() if isinstance(error, RecordsDeleted))
    unchanged = sorted(failed.keys() - set(short))
    parts = [f"{len(unchanged) + len(waiting)} of {len(connectors)} connectors were not changed."]
    parts += [f"Failed: {_some(unchanged)}."] if unchanged else []
    parts += [f"Changed, but records at their positions were deleted: {_some(short)}."] if short else []
    parts += [f"Not begun: {_some(waiting)}."] if waiting else []
    parts += [f"The other {len(ended) - len(failed)} are as planned.", *map(str, list(failed.values())[:3])]
    text = " ".join(parts)
    passing = all(isinstance(error, StoreError) and not isinstance(error, _LASTING) for error in failed.values())
    raise (StoreError if failed and passing else FleetIncomplete)(text) from next(iter(failed.values()), None)


@dataclass(slots=True)
class _ObservedAtOnce:
    """Logs as they were when first looked at: a fleet's connectors share most of their topics."""

    logs: Logs
    servers: str
    _topics: Mapping[str, int] | None = None
    _bounds: dict[tuple[frozenset[TopicPartition], datetime | None], Mapping[TopicPartition, Bounds]] = field(
        default_factory=dict
    )

    def topics(self) -> Mapping[str, int]:
        if self._topics is None:
            self._topics = self.logs.topics()
        return self._topics

    def bounds(
        self, partitions: Iterable[TopicPartition], *, moment: datetime | None = None
    ) -> Mapping[TopicPartition, Bounds]:
        asked = frozenset(partitions), moment
        if asked not in self._bounds:
            self._bounds[asked] = self.logs.bounds(asked[0], moment=moment)
        return self._bounds[asked]

    def retention(
        self, bounds: Mapping[TopicPartition, Any], *, now: datetime, soon: timedelta
    ) -> Mapping[TopicPartition, Retained]:
        return self.logs.retention(bounds, now=now, soon=soon)


def _some(names: Sequence[str], limit: int = 5) -> str:
    return ", ".join(names[:limit]) + (", …" if len(names) > limit else "")

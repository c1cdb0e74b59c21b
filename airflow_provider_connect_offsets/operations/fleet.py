"""The same change for many connectors: which ones, their snapshots, and the error for those that were not changed."""

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
from airflow_provider_connect_offsets.kafka.logs import LogBounds, Retention
from airflow_provider_connect_offsets.kafka.remaining import Remaining
from airflow_provider_connect_offsets.kafka.spans import Isolation
from airflow_provider_connect_offsets.observe.clients import Clients, Logs
from airflow_provider_connect_offsets.observe.partitions import first_few
from airflow_provider_connect_offsets.observe.snapshot import take_snapshot
from airflow_provider_connect_offsets.offsets.families import ConnectorType, TopicPartition
from airflow_provider_connect_offsets.offsets.requests.patterns import typed_pattern
from airflow_provider_connect_offsets.offsets.requests.request import Request
from airflow_provider_connect_offsets.workspace.fleet import FleetDirectory

_LASTING = (AccessDenied, Rejected, UnknownConnector)
_NAMED = 5


def take_snapshots(
    requests: Sequence[Request], clients: Clients, fleet: FleetDirectory, *, cluster: str, notes: Iterable[str] = ()
) -> None:
    """Write the snapshot of each request's connector under ``fleet``, then the list with ``notes``; changes nothing.

    The logs are observed once for all. Raises as ``take_snapshot`` does, at the first connector that fails.
    """
    once = replace(clients, logs=None if clients.logs is None else _ObservedOnce(clients.logs, clients.logs.servers))
    for request in requests:
        take_snapshot(request, once, fleet.member(request.connector), cluster=cluster)
    fleet.publish((request.connector for request in requests), notes=notes)


def select(connectors: Iterable[str], pattern: str, *, noun: str = "connector") -> list[str]:
    """Return the connectors whose whole name matches ``pattern``; raises :class:`InvalidRequest` if none does.

    ``noun``: what they are: connectors, or consumer groups.
    """
    param = "groups" if noun == ConnectorType.GROUP.noun else "connectors"
    names, requested = sorted(connectors), typed_pattern(pattern, param=param)
    selected = [name for name in names if requested.fullmatch(name)]
    if not selected:
        raise InvalidRequest(
            f"{param}: {pattern!r} matches none of the {len(names)} {noun}s: {first_few(names, _NAMED)}."
        )
    return selected


def refuse_incomplete(ended: Mapping[str, object], connectors: Sequence[str], *, noun: str = "connector") -> None:
    """Raise an error that names the connectors that were not begun or have failed; nothing if there are none.

    Args:
        ended: Connector → its result, or its exception.
        connectors: All connectors of the fleet.
        noun: What they are: connectors, or consumer groups.

    Raises:
        FleetIncomplete: At least one failure needs attention.
        StoreError: All failures may pass by themselves.
    """
    failed = {name: error for name, error in ended.items() if isinstance(error, Exception)}
    waiting = [name for name in connectors if name not in ended]
    if not failed and not waiting:
        return
    deleted = sorted(name for name, error in failed.items() if isinstance(error, RecordsDeleted))
    unchanged = sorted(failed.keys() - set(deleted))
    parts = [f"{len(unchanged) + len(waiting)} of {len(connectors)} {noun}s were not changed."]
    parts += [f"Failed: {first_few(unchanged, _NAMED)}."] if unchanged else []
    parts += [f"Changed, but records at their positions were deleted: {first_few(deleted, _NAMED)}."] if deleted else []
    parts += [f"Not begun: {first_few(waiting, _NAMED)}."] if waiting else []
    parts += [f"The other {len(ended) - len(failed)} are as planned.", *map(str, list(failed.values())[:3])]
    text = " ".join(parts)
    passing = all(isinstance(error, StoreError) and not isinstance(error, _LASTING) for error in failed.values())
    raise (StoreError if failed and passing else FleetIncomplete)(text) from next(iter(failed.values()), None)


@dataclass(slots=True)
class _ObservedOnce:
    """Logs as first observed: a fleet's connectors share most of their topics."""

    logs: Logs
    servers: str
    _cluster: str | None = None
    _topics: Mapping[str, int] | None = None
    _bounds: dict[tuple[frozenset[TopicPartition], datetime | None], Mapping[TopicPartition, LogBounds]] = field(
        default_factory=dict
    )

    def cluster_id(self) -> str:
        if self._cluster is None:
            self._cluster = self.logs.cluster_id()
        return self._cluster

    def topics(self) -> Mapping[str, int]:
        if self._topics is None:
            self._topics = self.logs.topics()
        return self._topics

    def bounds(
        self, partitions: Iterable[TopicPartition], *, moment: datetime | None = None
    ) -> Mapping[TopicPartition, LogBounds]:
        requested = frozenset(partitions), moment
        if requested not in self._bounds:
            self._bounds[requested] = self.logs.bounds(requested[0], moment=moment)
        return self._bounds[requested]

    def retention(
        self, bounds: Mapping[TopicPartition, Any], *, now: datetime, soon: timedelta
    ) -> Mapping[TopicPartition, Retention]:
        return self.logs.retention(bounds, now=now, soon=soon)

    def first_remaining(
        self, positions: Mapping[TopicPartition, int], *, isolation: Isolation = Isolation.READ_UNCOMMITTED
    ) -> Mapping[TopicPartition, Remaining]:
        return self.logs.first_remaining(positions, isolation=isolation)

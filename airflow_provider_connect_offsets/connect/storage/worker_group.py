"""Connect's workers as Kafka sees them: the members of their group, and where each one's REST API is.

Worker groups have the protocol type ``connect``, so they are no consumer groups and the calls for those refuse them.
Source: ``ConnectProtocol`` (what a member tells begins with a version and the URL of its worker).
"""

from __future__ import annotations

import struct
import warnings
from dataclasses import dataclass
from typing import Any

from confluent_kafka.admin import AdminClient

from airflow_provider_connect_offsets.kafka.brokers import Brokers

_HEAD = struct.Struct(">hh")  # version, length of the URL


@dataclass(frozen=True, slots=True)
class Worker:
    """A member of a worker group: its client id, the host it comes from, and the URL of its REST API (or empty)."""

    client_id: str
    host: str
    url: str

    def __str__(self) -> str:
        """Name it as people look for it."""
        return f"{self.client_id} ({self.url or self.host})"


class WorkerGroups(Brokers):
    """The groups of Connect workers on one Kafka cluster; looked at, never joined."""

    def members(self, group: str) -> tuple[Worker, ...]:
        """Tell which workers are in ``group``; one that was killed stays until its session times out (10 s as a rule).

        Raises store errors.
        """
        return self.ask(f"look at the worker group {group!r}", lambda client: self._members(client, group))

    def _members(self, client: AdminClient, group: str) -> tuple[Worker, ...]:
        with warnings.catch_warnings():
            # Its successors answer for consumer groups only.
            warnings.simplefilter("ignore", DeprecationWarning)
            found = client.list_groups(group, timeout=self.timeout)
        members: list[Any] = [member for one in found if one.id == group for member in one.members]
        return tuple(
            Worker(member.client_id, member.client_host.removeprefix("/"), _url(member.metadata)) for member in members
        )


def _url(metadata: bytes | None) -> str:
    """The URL in a member's metadata; empty for one that tells none, as a dedicated MirrorMaker's."""
    if not metadata or len(metadata) < _HEAD.size:
        return ""
    _version, length = _HEAD.unpack_from(metadata)
    url = metadata[_HEAD.size : _HEAD.size + max(length, 0)]
    return url.decode(errors="replace").rstrip("/") if url.startswith((b"http://", b"https://")) else ""

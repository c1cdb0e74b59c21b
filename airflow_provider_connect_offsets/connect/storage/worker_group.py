"""Connect's workers as members of their group in Kafka, and the URLs of their REST APIs.

Worker groups have the protocol type ``connect``, so the calls for consumer groups refuse them. Source:
``ConnectProtocol`` (a member's metadata starts with a version and the URL of its worker).
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
    """A member of a worker group: its client id, its host, and the URL of its REST API (empty if it has none)."""

    client_id: str
    host: str
    url: str

    def __str__(self) -> str:
        return f"{self.client_id} ({self.url or self.host})"


class WorkerGroups(Brokers):
    """Client of the groups of Connect workers on one Kafka cluster; it joins no group."""

    def members(self, group: str) -> tuple[Worker, ...]:
        """Return the workers in ``group``, including killed ones until their session times out (10 s by default).

        Raises store errors.
        """
        return self.ask(f"describe the worker group {group!r}", lambda client: self._members(client, group))

    def _members(self, client: AdminClient, group: str) -> tuple[Worker, ...]:
        with warnings.catch_warnings():
            # Its successors support consumer groups only.
            warnings.simplefilter("ignore", DeprecationWarning)
            groups = client.list_groups(group, timeout=self.timeout)
        members: list[Any] = [member for one in groups if one.id == group for member in one.members]
        return tuple(
            Worker(member.client_id, member.client_host.removeprefix("/"), _url(member.metadata)) for member in members
        )


def _url(metadata: bytes | None) -> str:
    """Return the URL in a member's metadata; empty if it has none, as for a dedicated MirrorMaker."""
    if not metadata or len(metadata) < _HEAD.size:
        return ""
    _version, length = _HEAD.unpack_from(metadata)
    url = metadata[_HEAD.size : _HEAD.size + max(length, 0)]
    return url.decode(errors="replace").rstrip("/") if url.startswith((b"http://", b"https://")) else ""

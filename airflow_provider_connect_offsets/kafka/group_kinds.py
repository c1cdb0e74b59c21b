"""The groups of a cluster that aren't consumer groups: groups of Connect's workers, share groups, streams groups.

librdkafka's calls for consumer groups don't find these groups, or can't describe them: a share group (KIP-932) and a
streams group (KIP-1071) look like a consumer group that does not exist yet. Its older ``list_groups`` names them all.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient

#: The kind of a group whose kind librdkafka can't name. Of all other groups, only these have positions.
SHARE_OR_STREAMS = "a share group (KIP-932) or a streams group (KIP-1071)"
#: The kind of a group whose protocol type is unknown.
OTHER_TYPE = "a group of another protocol type"

COORDINATING = frozenset(
    {KafkaError.NOT_COORDINATOR, KafkaError.COORDINATOR_NOT_AVAILABLE, KafkaError.COORDINATOR_LOAD_IN_PROGRESS}
)
_CONSUMER = "consumer"


def why_left_alone(group: str, kind: str) -> str:
    """Say that a group of another kind is not changed."""
    return f"{group!r} isn't a consumer group but {kind}, so it is left alone."


def other_kinds(client: AdminClient, *, timeout: float) -> dict[str, str]:
    """Return the kind of each group that isn't a consumer group; raises ``KafkaException``.

    Consumer groups may come and go meanwhile: a group of another kind is listed before and after all consumer groups,
    and isn't among them.
    """
    before = _types(client, timeout)
    others = before.keys() - _consumer_groups(client, timeout)
    listed = others & _types(client, timeout).keys() if others else others
    return {name: _kind(before[name]) for name in sorted(listed)}


def listed_groups(answer: Any) -> list[str]:
    """Return the names in an answer to ``list_consumer_groups``; raises its first error."""
    for error in answer.errors or ():
        raise KafkaException(error)  # a KafkaError itself is not caught by any `except`
    return [listed.group_id for listed in answer.valid or ()]


def _consumer_groups(client: AdminClient, timeout: float) -> Iterable[str]:
    return listed_groups(client.list_consumer_groups(request_timeout=timeout).result())


def _types(client: AdminClient, timeout: float) -> dict[str, str]:
    """Return the protocol type of each group; empty if librdkafka's request does not return it."""
    with warnings.catch_warnings():
        # Its successor lists consumer groups only.
        warnings.simplefilter("ignore", DeprecationWarning)
        groups: list[Any] = client.list_groups(timeout=timeout)
    for group in groups:
        if group.error is not None and group.error.code() in COORDINATING:
            raise KafkaException(group.error)
    return {group.id: group.protocol_type or "" for group in groups}


def _kind(protocol_type: str) -> str:
    return f"a group of type {protocol_type!r}" if protocol_type not in {"", _CONSUMER} else SHARE_OR_STREAMS

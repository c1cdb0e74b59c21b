"""Sentences about consumer groups that a failover or its restore has left as they are, each by its name."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from airflow_provider_connect_offsets.kafka.groups import Committed
from airflow_provider_connect_offsets.offsets.families import TopicPartition

_NAMED = 5
MEMBERS = "it has members on the target: stop them, and run it again"


def place(where: TopicPartition) -> str:
    """Name a partition."""
    return f"topic {where.topic!r}, partition {where.partition}"


def shown(offset: int | Committed | None) -> str:
    """Write what is committed for a partition; None: nothing is."""
    if offset is None:
        return "no offset"
    if isinstance(offset, int):
        return f"{offset:,}"
    return f"{offset.offset:,} with metadata {offset.metadata!r}" if offset.metadata else f"{offset.offset:,}"


def reasons(left: Mapping[str, str]) -> str:
    """Name the groups that were left, the first five of them with the reason."""
    return _shortened([f"{name!r}: {reason}" for name, reason in sorted(left.items())], "; ")


def names(groups: Collection[str]) -> str:
    """Name the first five of ``groups``."""
    return _shortened([repr(name) for name in sorted(groups)], ", ")


def count(groups: Collection[str]) -> str:
    """Say how many groups there are, and name them: ``2 groups ('a', 'b')``."""
    return f"{len(groups):,} {'group' if len(groups) == 1 else 'groups'} ({names(groups)})"


def _shortened(told: list[str], between: str) -> str:
    more = len(told) - _NAMED
    return between.join([*told[:_NAMED], *([f"and {more:,} more"] if more > 0 else [])])

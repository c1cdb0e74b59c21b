"""Texts about consumer groups that a failover or its restore did not move."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from airflow_provider_connect_offsets.kafka.groups import Committed
from airflow_provider_connect_offsets.offsets.families import TopicPartition
from airflow_provider_connect_offsets.words import join_first, quantify

_NAMED = 5
MEMBERS = "it has members on the target: stop them, then run the task again"


def of_other_kind(kind: str) -> str:
    """Say that the target's group of that name is of another kind, so that it has no offsets to be set."""
    return f"on the target it isn't a consumer group but {kind}"


def partition_text(where: TopicPartition) -> str:
    """Name a partition."""
    return f"topic {where.topic!r}, partition {where.partition}"


def show_offset(offset: int | Committed | None) -> str:
    """Write the committed offset of a partition; None: there is none."""
    if offset is None:
        return "no offset"
    if isinstance(offset, int):
        return f"{offset:,}"
    return f"{offset.offset:,} with metadata {offset.metadata!r}" if offset.metadata else f"{offset.offset:,}"


def reasons(left: Mapping[str, str]) -> str:
    """Name the groups that were left, the first five of them with the reason."""
    return join_first([f"{name!r}: {reason}" for name, reason in sorted(left.items())], _NAMED, separator="; ")


def names(groups: Collection[str]) -> str:
    """Name the first five of ``groups``."""
    return join_first([repr(name) for name in sorted(groups)], _NAMED)


def count(groups: Collection[str]) -> str:
    """Count groups, and name the first five: ``2 groups ('a', 'b')``."""
    return f"{quantify(len(groups), 'group')} ({names(groups)})"

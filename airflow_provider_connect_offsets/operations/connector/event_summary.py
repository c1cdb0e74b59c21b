"""What an asset event says of a change: how many partitions moved where, in a few lines, however many there are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from airflow_provider_connect_offsets.offsets.document import Entry, parse_map
from airflow_provider_connect_offsets.offsets.families import Family
from airflow_provider_connect_offsets.operations.stages.captured import Alteration
from airflow_provider_connect_offsets.workspace.outcome import MovedOffset

#: Topics in a summary; the dataset ``offset_plan`` has all.
MOST_TOPICS = 20


def summary_of(moved: Sequence[MovedOffset]) -> dict[str, Any]:
    """Summarize the partitions of a change.

    Returns:
        ``partitions``, and of these ``moved_back`` and ``moved_forward`` (only partitions with positions) and
        ``removed``; ``before`` and ``after``: topic → ``partitions`` with a position, ``lowest`` and ``highest``
        position, for the first ``MOST_TOPICS`` topics by name; ``more_topics``: how many others there are.
    """
    topics = sorted({one.topic for one in moved if one.topic is not None})
    shown = set(topics[:MOST_TOPICS])
    differences = [
        one.stands_position - one.before_position
        for one in moved
        if one.stands_position is not None and one.before_position is not None
    ]
    return {
        "partitions": len(moved),
        "moved_back": sum(difference < 0 for difference in differences),
        "moved_forward": sum(difference > 0 for difference in differences),
        "removed": sum(one.stands is None and one.before is not None and one.stands_position is None for one in moved),
        "before": _by_topic((one.topic, one.before_position) for one in moved if one.topic in shown),
        "after": _by_topic((one.topic, one.stands_position) for one in moved if one.topic in shown),
        "more_topics": len(topics) - len(shown),
    }


def list_moved(alteration: Alteration, family: Family) -> tuple[MovedOffset, ...]:
    """Return the partitions that a change without a plan has written."""
    prior = alteration.prior_offsets.by_partition()
    return tuple(_describe_move(change, prior.get(change.partition), family) for change in alteration.changes)


def _describe_move(change: Entry, before: str | None, family: Family) -> MovedOffset:
    partition = parse_map(change.partition)
    where = family.topic_partition(partition)
    position = family.position_in(change.offset)
    return MovedOffset(
        partition=change.partition,
        topic=where.topic if where else None,
        kafka_partition=where.partition if where else None,
        before=before,
        before_position=family.position_in(before),
        after=change.offset,
        after_position=position,
        stands=change.offset,
        stands_position=position,
    )


def _by_topic(positions: Iterable[tuple[str | None, int | None]]) -> dict[str, dict[str, int]]:
    known: dict[str, list[int]] = {}
    for topic, position in positions:
        if topic is not None and position is not None:
            known.setdefault(topic, []).append(position)
    return {
        topic: {"partitions": len(found), "lowest": min(found), "highest": max(found)} for topic, found in known.items()
    }

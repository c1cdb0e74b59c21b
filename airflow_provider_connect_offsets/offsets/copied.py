"""The offsets of a copied connector: the original's, with source partitions named by the copy's settings."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from airflow_provider_connect_offsets.offsets.document import Entry, JsonMap, Offsets, parse_map
from airflow_provider_connect_offsets.offsets.family import Config, Family

# Shorter strings, like "1" or "db", may equal a setting's value by chance.
_SHORTEST = 3


def copy_offsets(
    offsets: Offsets, family: Family, config: Config, *, before: Config, reads: Callable[[str], bool] | None
) -> Offsets:
    """Return the offsets for a connector with settings ``config``.

    Args:
        offsets: The original's offsets.
        family: The family of both.
        config: The copy's settings.
        before: The original's settings.
        reads: Whether the copy reads a topic; offsets of other topics are left out. None: unknown, so all are kept.
    """
    return Offsets.of(_entries(offsets, family, config, before, reads))


def _entries(
    offsets: Offsets, family: Family, config: Config, before: Config, reads: Callable[[str], bool] | None
) -> Iterator[Entry]:
    for partition, offset in sorted(offsets.by_partition().items()):
        parsed = parse_map(partition)
        where = family.topic_partition(parsed)
        if where is None or reads is None or reads(where.topic):
            yield Entry.of(family.under(parsed, config, before=before), parse_map(offset))


def stale_setting(partition: JsonMap, config: Config, *, before: Config) -> str | None:
    """Return the setting whose former value a source partition still has; None if all its values are current.

    A connector of unknown class builds its source partitions from settings that only it knows (a database, a bucket, a
    prefix). If the copy changes such a setting, it looks for its offset under another partition and does not find it.
    """
    texts = {value for value in partition.values() if isinstance(value, str) and _is_telling(value)}
    return next((name for name, value in before.items() if value in texts and config.get(name) != value), None)


def _is_telling(value: str) -> bool:
    return len(value) >= _SHORTEST and not value.isdigit() and value.lower() not in {"true", "false"}

"""Diff: the differences between two offset documents, one line for each partition."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping

from airflow_provider_connect_offsets.cli.messages import tell
from airflow_provider_connect_offsets.offsets.document import Offsets
from airflow_provider_connect_offsets.words import quantify


def show(left: Mapping[str, Offsets], right: Mapping[str, Offsets], *, connectors: frozenset[str]) -> None:
    """Write a line for each partition that differs; ``connectors``: the connectors to compare, all if empty."""
    names = sorted(name for name in left.keys() | right.keys() if not connectors or name in connectors)
    count = 0
    for name in names:
        for line in list_differences(left.get(name, Offsets()), right.get(name, Offsets())):
            sys.stdout.write(f"{name}: {line}\n")
            count += 1
    tell(f"Different: {quantify(count, 'offset')} of {quantify(len(names), 'connector')}.")


def list_differences(before: Offsets, after: Offsets) -> Iterator[str]:
    """Yield a line for each partition whose offset differs: the partition, both offsets, and their distance."""
    left, right = before.by_partition(), after.by_partition()
    for partition in sorted(left.keys() | right.keys()):
        was, now = left.get(partition), right.get(partition)
        if was != now:
            yield f"{partition}: {was or 'none'} → {now or 'none'}{_distance(was, now)}"


def _distance(was: str | None, now: str | None) -> str:
    """Return by how much an offset's only field, a number, has grown; empty if either offset has another shape."""
    first, second = _number(was), _number(now)
    return "" if first is None or second is None else f" ({second - first:+,})"


def _number(offset: str | None) -> int | None:
    values = [] if offset is None else list(json.loads(offset).values())
    return values[0] if len(values) == 1 and type(values[0]) is int else None

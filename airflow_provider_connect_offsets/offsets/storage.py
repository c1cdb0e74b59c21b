"""What stands in Connect's stores of source offsets, byte by byte: the same in an offsets topic and in a file.

A key is the compact JSON ``["<connector>",{source partition}]``, a value that of the source offset, or null. Workers
look a key up by its exact bytes, so the order of its fields counts: it is that of a ``java.util.HashMap``, which
connectors make their maps with. Sources: ``OffsetUtils.processPartitionKey``, ``JsonConverter``, ``java.util.HashMap``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property

from airflow_provider_connect_offsets.exceptions import InvalidDocument
from airflow_provider_connect_offsets.offsets.document import (
    Entry,
    JsonMap,
    Offsets,
    canonical,
    flat_map,
    load_json,
    parse_map,
)

# The beginning of a compact key, which tells whose it is without reading all of it.
_START = re.compile(rb'\["(?:[^"\\]|\\.)*",(?=\{)')
_CONTROL = re.compile(r"\\u00[01][0-9a-f]")
_SMALLEST_TABLE = 16
_DECODER = json.JSONDecoder()
# The offset of most connectors: one whole number, written as it is in canonical JSON.
_ONE_NUMBER = re.compile(rb'\{"[^"\\\x00-\x1f]*":(?:0|-?[1-9][0-9]{0,17})\}')
# Values that are written in one way only, unlike fractions.
_EXACT = frozenset({str, int, bool, type(None)})


@dataclass(frozen=True, slots=True)
class StoredKey:
    """Whose offset a record holds: the connector, and the source partition as canonical JSON."""

    connector: str
    partition: str


def parse_key(raw: bytes | None) -> StoredKey | None:
    """Read a record's key; None for one of another shape, which Connect passes over as well."""
    try:
        value = load_json((raw or b"").decode())
        match value:
            case [str(connector), dict(partition)]:
                return StoredKey(connector, canonical(flat_map(partition, what="the partition")))
    except (ValueError, RecursionError, InvalidDocument):
        return None
    return None


def key_bytes(connector: str, partition: JsonMap) -> bytes:
    """Write the key that a worker would write for a partition it has never seen.

    Where a key stands in the store already, reuse its bytes: a connector may make its maps otherwise.
    """
    return _compact([connector, in_java_order(partition)])


def parse_value(raw: bytes | None) -> str | None:
    """Read a record's value as canonical JSON; None for a tombstone. Raises :class:`InvalidDocument`."""
    return None if raw is None or raw == b"null" else _canonical_map(raw)


def _canonical_map(raw: bytes) -> str:
    """Read a flat JSON map as canonical JSON; raises :class:`InvalidDocument`.

    What is as long as its canonical form is compact and has no field twice, as all that workers write; whatever else
    there is goes the long way, which takes four times as long.
    """
    try:
        text = raw.decode()
        if _ONE_NUMBER.fullmatch(raw):
            return text
        value, end = _DECODER.raw_decode(text)
    except (ValueError, RecursionError) as error:
        raise InvalidDocument(f"{raw[:80]!r} is no JSON: {error}") from error
    if type(value) is dict and end == len(text) and _EXACT.issuperset(map(type, value.values())):
        found = canonical(value)
        if len(found) == end:
            return found
    return canonical(parse_map(text))


def value_bytes(offset: JsonMap) -> bytes:
    """Write a source offset as a worker does."""
    return _compact(in_java_order(offset))


class StoredOffsets:
    """What a store holds: ``pairs`` of raw keys and values, the last one of each key."""

    def __init__(self, pairs: Mapping[bytes, bytes | None]) -> None:
        self.pairs = pairs
        self._misshapen: dict[str, int] = {}  # by connector: keys that only begin like one of its

    def connectors(self) -> list[str]:
        """Names of all connectors that have an offset, sorted."""
        return sorted(name for name in self._keys if any(value is not None for _, _, value in self._entries(name)))

    def passed_over(self) -> int:
        """How many keys are of another shape, and so no offsets of a connector."""
        for name in self._keys.keys() - self._misshapen.keys():
            for _entry in self._entries(name):
                pass  # what has been read already needs no second look
        return len(self.pairs) - sum(map(len, self._keys.values())) + sum(self._misshapen.values())

    def offsets_of(self, connector: str) -> Offsets:
        """The offsets of ``connector`` as a worker sees them; raises :class:`InvalidDocument` for a value that is none.

        Where one partition stands under keys of several spellings, a worker looks up the one that it would write.
        """
        found: dict[str, str | None] = {}
        for partition, raw, value in self._entries(connector):
            if partition not in found or raw == _own_spelling(connector, partition):
                found[partition] = parse_value(value)
        return Offsets.of(Entry(partition, found[partition]) for partition in sorted(found) if found[partition])

    def removal_of(self, connector: str) -> Offsets:
        """The changes that leave ``connector`` without any offset, also one that can't be read."""
        standing = {partition for partition, _, value in self._entries(connector) if value is not None}
        return Offsets.of(Entry(partition, None) for partition in sorted(standing))

    def changed(self, connector: str, changes: Offsets) -> dict[bytes, bytes | None]:
        """The pairs to write for ``changes`` (offset None removes), under every spelling of a key that stands there.

        A removal of what isn't there is left out.
        """
        spellings: dict[str, list[bytes]] = {}
        for partition, raw, _value in self._entries(connector):
            spellings.setdefault(partition, []).append(raw)
        written: dict[bytes, bytes | None] = {}
        for change in changes:
            raws = spellings.get(change.partition)
            if change.offset is not None:
                value = value_bytes(parse_map(change.offset))
                written.update(dict.fromkeys(raws or [_own_spelling(connector, change.partition)], value))
            elif raws:
                written.update(dict.fromkeys(raws))
        return written

    @cached_property
    def _keys(self) -> Mapping[str, list[bytes]]:
        """By connector: the keys that are its, as far as their beginning tells."""
        by_start: dict[bytes, list[bytes]] = {}
        for raw in self.pairs:
            start = _START.match(raw)
            by_start.setdefault(start[0] + b"{}]" if start else raw, []).append(raw)
        found: dict[str, list[bytes]] = {}
        for whole, raws in by_start.items():
            key = parse_key(whole)
            if key is not None:
                found.setdefault(key.connector, []).extend(raws)
        return found

    def _entries(self, connector: str) -> Iterator[tuple[str, bytes, bytes | None]]:
        """Give partition (canonical), raw key and value of each pair of ``connector``."""
        misshapen = 0
        for raw in self._keys.get(connector, ()):
            partition = _partition_of(raw)
            if partition is None:
                misshapen += 1
            else:
                yield partition, raw, self.pairs[raw]
        self._misshapen[connector] = misshapen


def _partition_of(raw: bytes) -> str | None:
    start = _START.match(raw)
    if start and raw.endswith(b"]"):
        with suppress(InvalidDocument):
            return _canonical_map(raw[start.end() : -1])
    key = parse_key(raw)
    return None if key is None else key.partition


def _own_spelling(connector: str, partition: str) -> bytes:
    return key_bytes(connector, parse_map(partition))


def in_java_order(fields: JsonMap) -> JsonMap:
    """The fields in the order in which a ``java.util.HashMap`` of them is walked through."""
    size = _SMALLEST_TABLE
    while len(fields) > size * 3 // 4:
        size *= 2
    return {name: fields[name] for name in sorted(fields, key=lambda name: _bucket(name, size))}


def _bucket(name: str, size: int) -> int:
    spread = java_hash(name)
    return (spread ^ (spread >> 16)) & (size - 1)


def java_hash(text: str) -> int:
    """``String.hashCode`` as an unsigned 32-bit number."""
    units = text.encode("utf-16-be")
    pairs: Iterable[int] = (units[place] << 8 | units[place + 1] for place in range(0, len(units), 2))
    found = 0
    for unit in pairs:
        found = (31 * found + unit) & 0xFFFFFFFF
    return found


def _compact(value: object) -> bytes:
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    # Jackson writes the escapes of control characters with capital letters.
    return _CONTROL.sub(lambda found: found[0][:4] + found[0][4:].upper(), text).encode()

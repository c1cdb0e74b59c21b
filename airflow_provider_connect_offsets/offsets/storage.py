"""What stands in Connect's stores of source offsets, byte by byte: the same in an offsets topic and in a file.

A key is the compact JSON ``["<connector>",{source partition}]``, a value that of the source offset, or null. Workers
look a key up by its exact bytes, so the order of its fields counts: it is that of a ``java.util.HashMap``, which
connectors make their maps with. Sources: ``OffsetUtils.processPartitionKey``, ``JsonConverter``, ``java.util.HashMap``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

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

_CONTROL = re.compile(r"\\u00[01][0-9a-f]")
_SMALLEST_TABLE = 16


@dataclass(frozen=True, slots=True)
class StoredKey:
    """Whose offset a record holds: the connector, and the source partition as canonical JSON."""

    connector: str
    partition: str


def parse_key(raw: bytes | None) -> StoredKey | None:
    """Read a record's key; None for one of another shape, which Connect passes over as well."""
    try:
        value = load_json((raw or b"").decode())
    except (ValueError, RecursionError):
        return None
    match value:
        case [str(connector), dict(partition)]:
            try:
                return StoredKey(connector, canonical(flat_map(partition, what="the partition")))
            except InvalidDocument:
                return None
    return None


def key_bytes(connector: str, partition: JsonMap) -> bytes:
    """Write the key that a worker would write for a partition it has never seen.

    Where a key stands in the store already, reuse its bytes: a connector may make its maps otherwise.
    """
    return _compact([connector, in_java_order(partition)])


def parse_value(raw: bytes | None) -> str | None:
    """Read a record's value as canonical JSON; None for a tombstone. Raises :class:`InvalidDocument`."""
    if raw is None or raw == b"null":
        return None
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        raise InvalidDocument(f"{raw[:80]!r} is no text: {error}") from error
    return canonical(parse_map(text))


def value_bytes(offset: JsonMap) -> bytes:
    """Write a source offset as a worker does."""
    return _compact(in_java_order(offset))


@dataclass(frozen=True, slots=True)
class StoredOffsets:
    """What a store holds: raw keys and values, the last one of each key."""

    pairs: Mapping[bytes, bytes | None]

    def connectors(self) -> list[str]:
        """Names of all connectors that have an offset, sorted."""
        return sorted({key.connector for key, _raw, value in self._entries() if value is not None})

    def passed_over(self) -> int:
        """How many keys are of another shape, and so no offsets of a connector."""
        return sum(parse_key(raw) is None for raw in self.pairs)

    def offsets_of(self, connector: str) -> Offsets:
        """The offsets of ``connector`` as a worker sees them; raises :class:`InvalidDocument` for a value that is none.

        Where one partition stands under keys of several spellings, a worker looks up the one that it would write.
        """
        found: dict[str, str | None] = {}
        for key, raw, value in self._entries():
            if key.connector == connector and (key.partition not in found or raw == _own_spelling(key)):
                found[key.partition] = parse_value(value)
        return Offsets.of(Entry(partition, found[partition]) for partition in sorted(found) if found[partition])

    def removal_of(self, connector: str) -> Offsets:
        """The changes that leave ``connector`` without any offset; raises as :meth:`offsets_of` does."""
        return Offsets.of(Entry(entry.partition, None) for entry in self.offsets_of(connector))

    def changed(self, connector: str, changes: Offsets) -> dict[bytes, bytes | None]:
        """The pairs to write for ``changes`` (offset None removes), under every spelling of a key that stands there."""
        spellings: dict[StoredKey, list[bytes]] = {}
        for key, raw, _value in self._entries():
            spellings.setdefault(key, []).append(raw)
        wanted = {StoredKey(connector, change.partition): change.offset for change in changes}
        return {
            raw: None if offset is None else value_bytes(parse_map(offset))
            for key, offset in wanted.items()
            for raw in spellings.get(key) or [_own_spelling(key)]
        }

    def _entries(self) -> Iterator[tuple[StoredKey, bytes, bytes | None]]:
        for raw, value in self.pairs.items():
            key = parse_key(raw)
            if key is not None:
                yield key, raw, value


def _own_spelling(key: StoredKey) -> bytes:
    return key_bytes(key.connector, parse_map(key.partition))


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

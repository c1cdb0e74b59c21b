"""Raw keys and values of Connect's stores of source offsets, the same in an offsets topic and in a file.

A key is the compact JSON ``["<connector>",{source partition}]``, a value that of the source offset, or null. Workers
look up a key by its exact bytes, so the order of its fields matters: it is that of a ``java.util.HashMap``, which
connectors use. Sources: ``OffsetUtils.processPartitionKey``, ``JsonConverter``, ``java.util.HashMap``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property

from airflow_provider_connect_offsets.exceptions import InvalidDocument
from airflow_provider_connect_offsets.offsets.document import (
    MAX_LONG,
    Entry,
    JsonMap,
    Offsets,
    canonical_json,
    flat_map,
    load_json,
    parse_map,
)

# The start of a compact key, which has the connector's name.
_START = re.compile(rb'\["(?:[^"\\]|\\.)*",(?=\{)')
# An escape, and characters that need two units in UTF-16, which Jackson writes as escapes.
_ESCAPED = re.compile("\\\\(?:u00[01][0-9a-f]|.)|[\U00010000-\U0010ffff]")
_SMALLEST_TABLE = 16
_BLANKS, _NO_OFFSET = b" \t\r\n", frozenset({b"", b"null"})
_DECODER = json.JSONDecoder()
_ENCODER = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False)
# The offset of most connectors: one whole number, in canonical JSON.
_ONE_NUMBER = re.compile(rb'\{"[^"\\\x00-\x1f]*":(?:0|-?[1-9][0-9]{0,17})\}')
# Types whose values have one form in JSON, unlike fractions.
_EXACT = frozenset({str, int, bool, type(None)})


@dataclass(frozen=True, slots=True)
class StoredKey:
    """A record's key: the connector, and the source partition (canonical JSON)."""

    connector: str
    partition: str


def parse_key(raw: bytes | None) -> StoredKey | None:
    """Read a record's key; None for a key of another shape, which Connect ignores too."""
    try:
        value = load_json((raw or b"").decode())
        match value:
            case [str(connector), dict(partition)]:
                return StoredKey(connector, canonical_json(flat_map(partition, what="the partition")))
    except (ValueError, RecursionError, InvalidDocument):
        return None
    return None


def key_bytes(connector: str, partition: JsonMap) -> bytes:
    """Return the key that a worker writes for a new partition.

    For a partition that is stored already, reuse its key's bytes: a connector may order its maps differently.
    """
    return _compact([connector, in_java_order(partition)])


def parse_value(raw: bytes | None) -> str | None:
    """Read a record's value as canonical JSON; None for a tombstone. Raises :class:`InvalidDocument`.

    ``JsonConverter`` also reads an empty value, as a console producer writes it, as the absence of an offset.
    """
    return None if raw is None or raw.strip(_BLANKS) in _NO_OFFSET else _canonical_map(raw)


def _canonical_map(raw: bytes) -> str:
    """Read a flat JSON map as canonical JSON; raises :class:`InvalidDocument`.

    A whole number of more than 64 bits is refused: a worker would read another number, and writes none.

    A text as long as its canonical form is compact and has no field twice, like every text that workers write. Any
    other text is parsed strictly, which takes four times as long.
    """
    try:
        text = raw.decode()
        if _ONE_NUMBER.fullmatch(raw):
            return text
        value, end = _DECODER.raw_decode(text)
    except (ValueError, RecursionError) as error:
        raise InvalidDocument(f"{raw[:80]!r} is not valid JSON: {error}") from error
    if type(value) is dict and not all(map(_fits, value.values())):
        raise InvalidDocument(
            f"{raw[:80]!r} has a number that does not fit into 64 bits: Connect would read another number"
        )
    if type(value) is dict and end == len(text) and _EXACT.issuperset(map(type, value.values())):
        written = canonical_json(value)
        if len(written) == end:
            return written
    return canonical_json(parse_map(text))


def _fits(value: object) -> bool:
    return type(value) is not int or -MAX_LONG - 1 <= value <= MAX_LONG


def value_bytes(offset: JsonMap) -> bytes:
    """Return the value that a worker writes for a source offset."""
    return _compact(in_java_order(offset))


class StoredOffsets:
    """The content of a store: ``records`` has the last value of each raw key (None: a tombstone)."""

    def __init__(self, records: Mapping[bytes, bytes | None]) -> None:
        self.records = records
        self._misshapen: dict[str, int] = {}  # by connector: number of keys that only start like its own

    def connectors(self) -> list[str]:
        """Return the names of all connectors that have an offset, sorted."""
        return sorted(name for name in self._keys if any(value is not None for _, _, value in self._entries(name)))

    def count_passed_over(self) -> int:
        """Return the number of keys of another shape, which belong to no connector."""
        for name in self._keys.keys() - self._misshapen.keys():
            for _entry in self._entries(name):
                pass  # counts the misshapen keys of connectors that were not read yet
        return len(self.records) - sum(map(len, self._keys.values())) + sum(self._misshapen.values())

    def offsets_of(self, connector: str) -> Offsets:
        """Return the offsets of ``connector`` as a worker reads them; raises :class:`InvalidDocument`.

        If one partition has keys of several spellings, the one that a worker would write counts.
        """
        offsets: dict[str, str | None] = {}
        for partition, raw, value in self._entries(connector):
            if partition not in offsets or raw == _own_spelling(connector, partition):
                offsets[partition] = parse_value(value)
        return Offsets.of(Entry(partition, offset) for partition, offset in sorted(offsets.items()) if offset)

    def removal_of(self, connector: str) -> Offsets:
        """Return the changes that remove all offsets of ``connector``, also those that can't be read."""
        stored = {partition for partition, _, value in self._entries(connector) if value is not None}
        return Offsets.of(Entry(partition, None) for partition in sorted(stored))

    def records_for(self, connector: str, changes: Offsets) -> dict[bytes, bytes | None]:
        """Return the raw keys and values to write for ``changes``, for every stored spelling of a key.

        An offset of None writes a tombstone, or nothing if the partition is not stored.
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
        """Raw keys by connector, according to their start."""
        by_start: dict[bytes, list[bytes]] = {}
        for raw in self.records:
            start = _START.match(raw)
            by_start.setdefault(start[0] + b"{}]" if start else raw, []).append(raw)
        by_connector: dict[str, list[bytes]] = {}
        for whole, raws in by_start.items():
            key = parse_key(whole)
            if key is not None:
                by_connector.setdefault(key.connector, []).extend(raws)
        return by_connector

    def _entries(self, connector: str) -> Iterator[tuple[str, bytes, bytes | None]]:
        """Yield partition (canonical JSON), raw key and value of each record of ``connector``."""
        misshapen = 0
        for raw in self._keys.get(connector, ()):
            partition = _partition_of(raw)
            if partition is None:
                misshapen += 1
            else:
                yield partition, raw, self.records[raw]
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
    """Return the fields in the iteration order of a ``java.util.HashMap`` of them."""
    size = _SMALLEST_TABLE
    while len(fields) > size * 3 // 4:
        size *= 2
    return {name: fields[name] for name in sorted(fields, key=lambda name: _bucket(name, size))}


def _bucket(name: str, size: int) -> int:
    spread = java_hash(name)
    return (spread ^ (spread >> 16)) & (size - 1)


def java_hash(text: str) -> int:
    """Return ``String.hashCode`` as an unsigned 32-bit number."""
    units = text.encode("utf-16-be")
    result = 0
    for high, low in zip(units[::2], units[1::2], strict=True):
        result = (31 * result + (high << 8 | low)) & 0xFFFFFFFF
    return result


def _compact(value: object) -> bytes:
    return _ESCAPED.sub(_escape, _json(value)).encode()


def _json(value: object) -> str:
    """Write compact JSON as Java does; only fractions differ from Python's."""
    if isinstance(value, list):
        return f"[{','.join(map(_json, value))}]"
    if isinstance(value, Mapping) and float in map(type, value.values()):
        return f"{{{','.join(f'{_json(name)}:{_json(field)}' for name, field in value.items())}}}"
    return _java_double(value) if isinstance(value, float) else _ENCODER.encode(value)


def _escape(match: re.Match[str]) -> str:
    """Write an escape, or a character, as Jackson does: hexadecimal digits are capital letters."""
    text = match[0]
    if not text.startswith("\\"):
        units = text.encode("utf-16-be").hex().upper()
        return f"\\u{units[:4]}\\u{units[4:]}"
    return text[:2] + text[2:].upper()


def _java_double(number: float) -> str:
    """Write a fraction as ``Double.toString`` does: with a point, and a power of ten for small and large ones."""
    sign, digits, exponent = Decimal(repr(number)).as_tuple()
    text = "".join(map(str, digits)).lstrip("0") or "0"
    power = len(text) + int(exponent) - 1
    significant = text.rstrip("0") or "0"
    if number == 0:
        shown = "0.0"
    elif -3 <= power < 0:
        shown = f"0.{'0' * (-power - 1)}{significant}"
    elif 0 <= power < 7:
        whole = significant.ljust(power + 1, "0")
        shown = f"{whole[: power + 1]}.{whole[power + 1 :] or '0'}"
    else:
        shown = f"{significant[0]}.{significant[1:] or '0'}E{power}"
    return f"{'-' if sign else ''}{shown}"

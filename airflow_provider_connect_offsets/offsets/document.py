"""Offset documents, Connect's REST body and KIP-199's file, and the partitions and offsets in both.

A *source partition* and a *source offset* are flat JSON maps (Connect allows primitives only). Here they are canonical
JSON text (sorted keys, no spaces), so that equal maps are equal strings in Python, in Parquet and in Spark.

REST (``GET /connectors/{c}/offsets``, KIP-875)::

    {"offsets": [{"partition": {…}, "offset": {…} | null}, …]}

KIP-199::

    {"<connector>": [{"partition": {…}, "offset": {…} | null}, …], …}
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from airflow_provider_connect_offsets.exceptions import InvalidDocument

JsonPrimitive: TypeAlias = str | int | float | bool | None
JsonMap: TypeAlias = Mapping[str, JsonPrimitive]

MAX_LONG = 2**63 - 1
_OFFSETS = "offsets"  # the only field of a REST document


def canonical_json(value: JsonMap) -> str:
    """Write a partition or offset map as canonical JSON: sorted keys, no spaces, no ASCII escapes."""
    return _CANONICAL.encode(value)


_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def parse_map(text: str) -> dict[str, JsonPrimitive]:
    """Read a flat JSON map; raises :class:`InvalidDocument` for any other text."""
    try:
        value = load_json(text)
    except (ValueError, RecursionError) as error:
        raise InvalidDocument(f"{text[:80]!r} is not valid JSON: {error}") from error
    return flat_map(value, what="a partition or offset")


def flat_map(value: object, *, what: str) -> dict[str, JsonPrimitive]:
    """Return ``value`` if it is a JSON object of primitives, as Connect requires.

    Args:
        value: Parsed JSON.
        what: Names the value in an error's message.

    Raises:
        InvalidDocument: It is another value, or one that can't be written as JSON again.
    """
    if not isinstance(value, dict):
        raise InvalidDocument(f"{what} must be a JSON object, not {json.dumps(value)[:80]}")
    for key, field in value.items():
        if isinstance(field, dict | list):
            raise InvalidDocument(
                f"{what} may have only primitive values, but its field {key!r} is {json.dumps(field)[:80]}"
            )
        if not _is_storable(key) or not _is_storable(field):
            raise InvalidDocument(f"{what} has {json.dumps({key: field})[:80]}, which can't be written as JSON")
    return value


def _is_storable(value: JsonPrimitive) -> bool:
    """Whether a value can be written again: Python also reads 1e999 (infinity) and half a surrogate pair."""
    if isinstance(value, float):
        return math.isfinite(value)
    return not isinstance(value, str) or _is_utf8(value)


def _is_utf8(text: str) -> bool:
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


@dataclass(frozen=True, slots=True, order=True)
class Entry:
    """One source partition with its offset, both canonical JSON; ``offset`` is None if none is stored."""

    partition: str
    offset: str | None

    @classmethod
    def of(cls, partition: JsonMap, offset: JsonMap | None) -> Entry:
        """Make an entry from maps."""
        return cls(canonical_json(partition), None if offset is None else canonical_json(offset))

    def as_json(self) -> dict[str, Any]:
        """Return the entry as a REST body or a KIP-199 file has it."""
        return {
            "partition": json.loads(self.partition),
            "offset": None if self.offset is None else json.loads(self.offset),
        }


@dataclass(frozen=True, slots=True)
class Offsets:
    """The offsets of one connector, in the given order; a partition may occur more than once."""

    entries: tuple[Entry, ...] = ()

    @classmethod
    def of(cls, entries: Iterable[Entry]) -> Offsets:
        """Collect ``entries``."""
        return cls(tuple(entries))

    def __iter__(self) -> Iterator[Entry]:
        """Iterate over the entries."""
        return iter(self.entries)

    def __len__(self) -> int:
        """Number of entries."""
        return len(self.entries)

    def by_partition(self) -> dict[str, str]:
        """Return partition → offset of the entries with an offset; the last entry of a partition counts."""
        last = {entry.partition: entry.offset for entry in self.entries}
        return {partition: offset for partition, offset in last.items() if offset is not None}

    def with_changes(self, changes: Offsets) -> Offsets:
        """Return what is stored after ``changes`` are written: an offset replaces, None removes, all others stay."""
        merged: dict[str, str | None] = dict(self.by_partition())
        merged.update({entry.partition: entry.offset for entry in changes})
        return Offsets.of(Entry(p, o) for p, o in sorted(merged.items()) if o is not None)

    def removals(self) -> Offsets:
        """Return the changes that remove the offsets of all these partitions."""
        return Offsets.of(Entry(partition, None) for partition in sorted(self.by_partition()))

    def select(self, partitions: Iterable[str]) -> Offsets:
        """Return the entries of these partitions, sorted; the offset is None if none is stored."""
        stored = self.by_partition()
        return Offsets.of(Entry(partition, stored.get(partition)) for partition in sorted(set(partitions)))

    def as_json(self) -> dict[str, Any]:
        """Return the body of ``PATCH /connectors/{c}/offsets``."""
        return {"offsets": [entry.as_json() for entry in self.entries]}

    @classmethod
    def from_json(cls, body: object) -> Offsets:
        """Read the body of ``GET /connectors/{c}/offsets``; raises :class:`InvalidDocument`."""
        return parse_rest(body)


def parse_rest(body: object) -> Offsets:
    """Read the body of ``GET /connectors/{c}/offsets``; raises :class:`InvalidDocument`."""
    if not isinstance(body, dict) or set(body) != {_OFFSETS} or not isinstance(body[_OFFSETS], list):
        raise InvalidDocument('an offsets document must look like {"offsets": [{"partition": {…}, "offset": {…}}, …]}')
    return Offsets.of(_entry(item, where=f"entry {number}") for number, item in enumerate(body["offsets"], start=1))


def parse_kip199(body: object) -> dict[str, Offsets]:
    """Read a KIP-199 document: connector name → its offsets; raises :class:`InvalidDocument`."""
    if not isinstance(body, dict) or not all(isinstance(entries, list) for entries in body.values()):
        raise InvalidDocument(
            'a KIP-199 document must look like {"<connector>": [{"partition": {…}, "offset": {…}}, …]}'
        )
    return {
        connector: Offsets.of(
            _entry(item, where=f"connector {connector!r}, entry {number}") for number, item in enumerate(items, start=1)
        )
        for connector, items in body.items()
    }


def parse_text(text: str, connectors: Collection[str]) -> dict[str, Offsets]:
    """Read REST or KIP-199 JSON, and return the offsets of those of these connectors that it has.

    A REST document names no connector, so it is for each of them.

    Raises:
        InvalidDocument: The text is empty, truncated, no JSON, has nested values, or only other connectors' offsets.
    """
    if not text.strip():
        raise InvalidDocument("the file is empty")
    try:
        body = load_json(text)
    except (ValueError, RecursionError) as error:
        raise InvalidDocument(f"the file is not valid JSON, or was cut off: {error}") from error
    # A connector may be called offsets, too: for it, the file is KIP-199's.
    nameless = [name for name in connectors if name != _OFFSETS]
    if isinstance(body, dict) and set(body) == {_OFFSETS} and nameless:
        return dict.fromkeys(nameless, parse_rest(body)) | _select(body, set(connectors) & {_OFFSETS})
    found = _select(body, set(connectors))
    if not found and connectors:
        names = ", ".join(repr(name) for name in sorted(body)[:5]) or "none"
        raise InvalidDocument(f"the file has no offsets of {_named(connectors)} (its connectors: {names})")
    return found


def _select(body: object, connectors: Collection[str]) -> dict[str, Offsets]:
    return {name: offsets for name, offsets in parse_kip199(body).items() if name in connectors} if connectors else {}


def _named(connectors: Collection[str]) -> str:
    return f"connector {next(iter(connectors))!r}" if len(connectors) == 1 else "any of these connectors"


def kip199_document(offsets: Mapping[str, Offsets]) -> str:
    """Write a KIP-199 document, sorted and with one entry a line, so that exports can be compared as text."""
    return "".join(
        kip199_text(
            (connector, sorted(offsets[connector], key=lambda entry: (entry.partition, entry.offset or "")))
            for connector in sorted(offsets)
        )
    )


def kip199_text(offsets: Iterable[tuple[str, Iterable[Entry]]]) -> Iterator[str]:
    """Write a KIP-199 document piece by piece, in the given order."""
    before = "{"
    for connector, entries in offsets:
        yield f"{before}\n  {json.dumps(connector, ensure_ascii=False)}: ["
        comma = ""
        for entry in entries:
            yield f'{comma}\n    {{"partition": {entry.partition}, "offset": {entry.offset or "null"}}}'
            comma = ","
        yield "\n  ]"
        before = ","
    yield "\n}\n" if before == "," else "{}\n"


def _entry(item: object, *, where: str) -> Entry:
    if not isinstance(item, dict) or "partition" not in item or not set(item) <= {"partition", "offset"}:
        raise InvalidDocument(f'{where} must be {{"partition": {{…}}, "offset": {{…}} or null}}')
    partition = flat_map(item["partition"], what=f"{where}: the partition")
    offset = item.get("offset")
    return Entry.of(partition, None if offset is None else flat_map(offset, what=f"{where}: the offset"))


def check_given(offsets: Offsets) -> Offsets:
    """Return offsets that a person gives; raises :class:`InvalidDocument` for a whole number beyond 64 bits.

    A worker would read another number (``JsonConverter`` calls ``longValue``), and no worker has written such a number.
    """
    for entry in offsets:
        for fields in (entry.partition, entry.offset or "{}"):
            for name, value in parse_map(fields).items():
                if isinstance(value, int) and not -MAX_LONG - 1 <= value <= MAX_LONG:
                    raise InvalidDocument(
                        f"partition {entry.partition} has {name}={value}, which does not fit into 64 bits: Connect "
                        "would read another number"
                    )
    return offsets


def load_json(text: str) -> Any:
    """Read JSON; raises :class:`ValueError`, also for a duplicate field and for NaN. A byte order mark is allowed."""
    return _STRICT.decode(text.removeprefix("\ufeff"))


def _unique_fields(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the fields of a JSON object; refuse an object that has a field twice, as either might count."""
    fields = dict(pairs)
    if len(fields) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"field {twice!r} occurs twice in one object")
    return fields


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not a JSON number")


# Made once: it costs as much as reading a source partition does, of which a plan may have a million.
_STRICT = json.JSONDecoder(object_pairs_hook=_unique_fields, parse_constant=_refuse_constant)

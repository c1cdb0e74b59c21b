"""Reads a map of byte arrays in Java's serialization, in linear time.

It accepts only the part of the grammar ("Java Object Serialization Specification", chapter 6) that such a map needs,
whichever program wrote it. Anything else is an error, so a hostile file can neither load a class, nor cost more memory
or recursion than its size allows.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import Any

_START = (0xACED, 5)  # magic number and version
_NULL, _REFERENCE, _CLASS, _OBJECT, _ARRAY, _BLOCK, _END = b"p", b"q", b"r", b"s", b"u", b"w", b"x"
_FIRST_HANDLE = 0x7E0000
_MAP_CLASS, _BYTES_CLASS = "java.util.HashMap", "[B"
# Fields of a HashMap: its load factor and the threshold of its table.
_FIELDS = {"loadFactor": "F", "threshold": "I"}
_SERIALIZABLE, _WRITES_MORE = 0x02, 0x01


def parse_map_of_bytes(content: bytes) -> dict[bytes, bytes | None]:
    """Return the entries of a serialized ``HashMap`` of byte arrays, in the stream's order.

    Raises :class:`ValueError` if the stream is damaged or contains another object.
    """
    stream = _Stream(content)
    if stream.take(">HH") != _START:
        raise ValueError("it isn't a Java serialization stream")
    stream.expect(_OBJECT, "content other than one map")
    stream.expect_class(_MAP_CLASS, _SERIALIZABLE | _WRITES_MORE, _FIELDS)
    stream.handles.append(None)  # the map itself
    stream.take(">4s4s")  # values of its fields, which readers ignore
    stream.expect(_BLOCK, "no number of entries")
    length, _capacity, size = stream.take(">Bii")
    if length != struct.calcsize(">ii") or size < 0:
        raise ValueError("the map has no number of entries")
    entries: dict[bytes, bytes | None] = {}
    for number in range(size):
        key, value = stream.byte_array(), stream.byte_array()
        if key is None or key in entries:
            raise ValueError(f"the key of entry {number} of {size} is null" if key is None else "a key occurs twice")
        entries[key] = value
    stream.expect(_END, f"more than its {size} entries")
    if stream.offset != len(content):
        raise ValueError("it has more content after the map")
    return entries


@dataclass(slots=True)
class _Stream:
    """The bytes of a stream, how far they are read, and what later bytes may refer to.

    Attributes:
        handles: Class names, byte arrays, and None for objects to which nothing in a map of byte arrays refers.
    """

    content: bytes
    offset: int = 0
    handles: list[str | bytes | None] = field(default_factory=list)

    def take(self, layout: str) -> tuple[Any, ...]:
        """Read values; ``layout`` as in :mod:`struct`."""
        try:
            values = struct.unpack_from(layout, self.content, self.offset)
        except struct.error as error:
            raise ValueError(f"it ends within the value at byte {self.offset}") from error
        self.offset += struct.calcsize(layout)
        return values

    def expect(self, mark: bytes, otherwise: str) -> None:
        """Read a mark; raises :class:`ValueError` with the message ``otherwise`` for another mark."""
        if self.take("c") != (mark,):
            raise ValueError(f"byte {self.offset - 1}: it has {otherwise}")

    def expect_class(self, name: str, flags: int, fields: dict[str, str]) -> None:
        """Read the description of a class, or a reference to an earlier one; raises if it is another class."""
        start, (mark,) = self.offset, self.take("c")
        if mark == _REFERENCE:
            found: object = self._read_reference()
        elif mark == _CLASS:
            found = self._class(flags, fields)
        else:
            found = None
        if found != name:
            raise ValueError(f"byte {start}: there is something other than {name}")

    def byte_array(self) -> bytes | None:
        """Read a byte array, null, or a reference to an earlier one."""
        start, (mark,) = self.offset, self.take("c")
        if mark == _NULL:
            return None
        if mark == _ARRAY:
            self.expect_class(_BYTES_CLASS, _SERIALIZABLE, {})
            [size] = self.take(">i")
            self.handles.append(self._bytes(size))
            found = self.handles[-1]
        else:
            found = self._read_reference() if mark == _REFERENCE else None
        if not isinstance(found, bytes):
            raise ValueError(f"byte {start}: an entry isn't a byte array")  # noqa: TRY004 - the file's fault
        return found

    def _class(self, flags: int, fields: dict[str, str]) -> str:
        name = self._text()
        self.handles.append(name)
        _version, found, count = self.take(">qBH")
        described = dict(self._field() for _ in range(count))
        if found != flags or described != fields:
            raise ValueError(f"class {name!r} does not have the expected fields")
        self.expect(_END, "an annotated class")
        self.expect(_NULL, f"a superclass of {name!r}")
        return name

    def _field(self) -> tuple[str, str]:
        [code] = self.take("c")
        return self._text(), code.decode("latin-1")

    def _read_reference(self) -> str | bytes | None:
        [handle] = self.take(">i")
        index = handle - _FIRST_HANDLE
        if not 0 <= index < len(self.handles):
            raise ValueError(f"it refers to an object {handle:#x}, which it does not contain")
        referred: str | bytes | None = self.handles[index]
        return referred

    def _text(self) -> str:
        [size] = self.take(">H")
        return self._bytes(size).decode("utf-8", "replace")

    def _bytes(self, size: int) -> bytes:
        if not 0 <= size <= len(self.content) - self.offset:
            raise ValueError(f"it does not have {size} bytes from byte {self.offset} on")
        self.offset += size
        return self.content[self.offset - size : self.offset]

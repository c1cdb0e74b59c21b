"""Parses a map of byte arrays in Java's serialization, whichever program wrote it."""

from __future__ import annotations

import struct
from io import BytesIO
from typing import Any

from javaobj.constants import TypeCode
from javaobj.v2.api import ObjectTransformer
from javaobj.v2.beans import BlockData, JavaArray, JavaInstance
from javaobj.v2.core import JavaStreamParser

_MAP_CLASS = "java.util.HashMap"


def parse_map_of_bytes(content: bytes) -> dict[bytes, bytes | None]:
    """Return the entries of a serialized ``HashMap`` of byte arrays, in the stream's order.

    Raises:
        Exception: The stream is damaged, or another object; :class:`ValueError`, or any error of the library.
    """
    objects = JavaStreamParser(BytesIO(content), [_Bytes()]).run()
    if len(objects) != 1 or not isinstance(objects[0], JavaInstance) or objects[0].classdesc.name != _MAP_CLASS:
        raise ValueError("it has other content than one map")
    [(declared, *written)] = objects[0].annotations.values()
    if not isinstance(declared, BlockData) or len(declared.data) != struct.calcsize(">ii"):
        raise ValueError("the map has no number of entries")
    _capacity, size = struct.unpack(">ii", declared.data)
    if len(written) != 2 * size:
        raise ValueError(f"the map has {len(written) // 2} of {size} entries")
    keys, values = written[::2], written[1::2]
    entries = {_bytes(key): None if value is None else _bytes(value) for key, value in zip(keys, values, strict=True)}
    if len(entries) != size:
        raise ValueError("a key occurs twice")
    return entries


def _bytes(array: object) -> bytes:
    content: object = array.data if isinstance(array, JavaArray) and array.classdesc.name == "[B" else None
    if not isinstance(content, bytes):
        raise ValueError(f"an entry is no byte array but {array!r}")  # noqa: TRY004 - the file's fault
    return content


class _Bytes(ObjectTransformer):
    """Converts byte arrays to bytes; all else stays as parsed."""

    def load_array(self, reader: Any, type_code: Any, size: int) -> Any:
        """Read a byte array; None for another array."""
        if type_code is not TypeCode.TYPE_BYTE:
            return None
        [content] = reader.read(f">{size}s")
        return content

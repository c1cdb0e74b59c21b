"""The grammar of Java's serialization, as far as a map of bytes goes: read by a library, whoever wrote the stream."""

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
    """Read a serialized ``HashMap`` of arrays of bytes, in the stream's order.

    Raises :class:`ValueError`, or whatever else parsing runs into, for a stream that is damaged or something else.
    """
    found = JavaStreamParser(BytesIO(content), [_Bytes()]).run()
    if len(found) != 1 or not isinstance(found[0], JavaInstance) or found[0].classdesc.name != _MAP_CLASS:
        raise ValueError("it holds something else than one map")
    [(declared, *written)] = found[0].annotations.values()
    if not isinstance(declared, BlockData) or len(declared.data) != struct.calcsize(">ii"):
        raise ValueError("the map does not say how many entries it has")
    _capacity, size = struct.unpack(">ii", declared.data)
    if len(written) != 2 * size:
        raise ValueError(f"the map has {len(written) // 2} of {size} entries")
    keys, values = written[::2], written[1::2]
    pairs = {_bytes(key): None if value is None else _bytes(value) for key, value in zip(keys, values, strict=True)}
    if len(pairs) != size:
        raise ValueError("a key stands there twice")
    return pairs


def _bytes(array: object) -> bytes:
    content: object = array.data if isinstance(array, JavaArray) and array.classdesc.name == "[B" else None
    if not isinstance(content, bytes):
        raise ValueError(f"an entry is no array of bytes but {array!r}")  # noqa: TRY004 - the file's fault
    return content


class _Bytes(ObjectTransformer):
    """Reads an array of bytes as bytes; everything else stays as it was parsed."""

    def load_array(self, reader: Any, type_code: Any, size: int) -> Any:
        """Read it whole; None for an array of anything else."""
        if type_code is not TypeCode.TYPE_BYTE:
            return None
        [content] = reader.read(f">{size}s")
        return content

"""The file of a standalone worker (``offset.storage.file.filename``): a serialized ``HashMap`` of key and value bytes.

Connect takes a file that it can't read whole for an empty one, and so loses every offset without a word. Here such a
file is refused. Reading goes by the grammar of Java's serialization, as other writers may lay the stream out otherwise;
writing gives the very layout of ``ObjectOutputStream``, which workers from Kafka 4.4 on insist upon.
"""

from __future__ import annotations

import os
import struct
import tempfile
from collections.abc import Iterator, Mapping
from io import BytesIO
from pathlib import Path
from typing import Any

from javaobj.constants import TypeCode
from javaobj.v2.api import ObjectTransformer
from javaobj.v2.beans import BlockData, JavaArray, JavaInstance
from javaobj.v2.core import JavaStreamParser

from airflow_provider_connect_offsets.exceptions import StoreDamaged

Pairs = Mapping[bytes, bytes | None]

_MAP_CLASS = "java.util.HashMap"
_SMALLEST_TABLE = 16
_HEAD = (
    b"\xac\xed\x00\x05sr\x00\x11java.util.HashMap\x05\x07\xda\xc1\xc3\x16\x60\xd1\x03\x00\x02"
    b"F\x00\x0aloadFactorI\x00\x09thresholdxp\x3f\x40\x00\x00"
)
_FIRST_ARRAY = b"ur\x00\x02[B\xac\xf3\x17\xf8\x06\x08\x54\xe0\x02\x00\x00xp"
_LATER_ARRAY = b"uq\x00\x7e\x00\x02"
_NULL, _END = b"p", b"x"


def read_pairs(path: Path) -> dict[bytes, bytes | None]:
    """Read all keys and values, in the file's order; raises :class:`StoreDamaged` for a file that is not whole."""
    content = path.read_bytes()
    try:
        return _parse(content)
    # The library tells of a damaged stream by whatever its parsing ran into.
    except Exception as error:
        raise StoreDamaged(
            f"{path} is no whole file of a standalone worker ({len(content):,} bytes; {error}). It was left as it is: "
            "put back a copy of it that can be read."
        ) from error


def write_pairs(path: Path, pairs: Pairs) -> Path | None:
    """Put a new file in place of ``path`` at once, and return the copy of the old one (None: there was none).

    The worker must be down: it reads the file only when it starts, and overwrites it.
    """
    kept = _keep(path)
    _replace(path, serialize(pairs))
    return kept


def serialize(pairs: Pairs) -> bytes:
    """Write the stream that ``ObjectOutputStream`` writes for a ``HashMap<byte[], byte[]>`` of these pairs."""
    size = _SMALLEST_TABLE
    while len(pairs) > size * 3 // 4:
        size *= 2
    threshold = size * 3 // 4 if pairs else 0
    head = _HEAD + struct.pack(">i", threshold) + b"w\x08" + struct.pack(">ii", size, len(pairs))
    return b"".join((head, *_arrays(pairs), _END))


def _arrays(pairs: Pairs) -> Iterator[bytes]:
    start = _FIRST_ARRAY
    for pair in pairs.items():
        for content in pair:
            if content is None:
                yield _NULL
                continue
            yield start + struct.pack(">i", len(content)) + content
            start = _LATER_ARRAY


def _parse(content: bytes) -> dict[bytes, bytes | None]:
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


def _keep(path: Path) -> Path | None:
    """Copy what stands there to a name beside it that is free."""
    if not path.exists():
        return None
    content, number = path.read_bytes(), 1
    while True:
        kept = path.with_name(f"{path.name}.{number:03d}.bak")
        try:
            with kept.open("xb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
        except FileExistsError:
            number += 1
        else:
            return kept


def _replace(path: Path, content: bytes) -> None:
    """Write beside, sync and rename, so that nobody ever sees half a file."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise

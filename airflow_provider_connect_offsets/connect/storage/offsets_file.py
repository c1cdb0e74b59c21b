"""The file of a standalone worker (``offset.storage.file.filename``): a serialized ``HashMap`` of key and value bytes.

Connect takes a file that it can't read whole for an empty one, and so loses every offset without a word. Here such a
file is refused. Reading goes by the grammar of Java's serialization, as other writers may lay the stream out otherwise;
writing gives the very layout of ``ObjectOutputStream``, which workers from Kafka 4.4 on insist upon.
"""

from __future__ import annotations

import fcntl
import os
import stat
import struct
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from airflow_provider_connect_offsets.exceptions import StoreDamaged, StoreError

Pairs = Mapping[bytes, bytes | None]

_SMALLEST_TABLE = 16
_HEAD = (
    b"\xac\xed\x00\x05sr\x00\x11java.util.HashMap\x05\x07\xda\xc1\xc3\x16\x60\xd1\x03\x00\x02"
    b"F\x00\x0aloadFactorI\x00\x09thresholdxp\x3f\x40\x00\x00"
)
_FIRST_ARRAY = b"ur\x00\x02[B\xac\xf3\x17\xf8\x06\x08\x54\xe0\x02\x00\x00xp"
_LATER_ARRAY = b"uq\x00\x7e\x00\x02"
_NULL, _END = b"p", b"x"


def read_mappings(path: Path) -> dict[bytes, bytes | None]:
    """Read all keys and values, in the file's order; raises :class:`StoreDamaged` for a file that is not whole."""
    # Its library brings much along, which is of use for files only.
    from airflow_provider_connect_offsets.connect.storage.java_stream import parse_map_of_bytes  # noqa: PLC0415

    content = path.read_bytes()
    try:
        return parse_map_of_bytes(content)
    # The library tells of a damaged stream by whatever its parsing ran into.
    except Exception as error:
        raise StoreDamaged(
            f"{path} is no whole file of a standalone worker ({len(content):,} bytes; {error}). It was left as it is: "
            "put back a copy of it that can be read."
        ) from error


def write_mappings(path: Path, pairs: Pairs) -> Path | None:
    """Put a new file in place of ``path`` at once, and return the copy of the old one (None: there was none).

    The worker must be down: it reads the file only when it starts, and overwrites it. Raises :class:`StoreError` where
    another process has locked the file, with the file as it was.
    """
    _refuse_locked(path)
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


def _refuse_locked(path: Path) -> None:
    """Workers lock nothing; who starts them may, with ``flock`` or as Java's ``FileChannel.lock`` does it."""
    if not path.exists():
        return
    with path.open("rb+") as file:
        try:
            for lock in (fcntl.flock, fcntl.lockf):
                lock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise StoreError(
                f"Nothing was written: another process has locked {path}, so that its worker may be running. Stop it "
                "first."
            ) from error


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
        _make_alike(Path(name), path)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _make_alike(new: Path, path: Path) -> None:
    """Give the new file the mode and owner of the one that it replaces: its worker may run as another user."""
    if not path.exists():
        return
    was, now = path.stat(), new.stat()
    new.chmod(stat.S_IMODE(was.st_mode))
    if (was.st_uid, was.st_gid) != (now.st_uid, now.st_gid):
        try:
            os.chown(new, was.st_uid, was.st_gid)
        except PermissionError as error:
            raise StoreError(
                f"Nothing was written: {path} belongs to user {was.st_uid} and group {was.st_gid}, and a new file in "
                "its place can't be given to them. Run this as its owner, so that the worker can read it."
            ) from error

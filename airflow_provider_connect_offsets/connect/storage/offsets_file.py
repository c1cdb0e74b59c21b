"""The file of a standalone worker (``offset.storage.file.filename``): a serialized ``HashMap`` of key and value bytes.

Connect takes a file that it can't read completely for an empty one and silently loses all offsets; here such a file is
refused. Reading allows other layouts of the same map, since other programs may write the file; writing has exactly
the layout of ``ObjectOutputStream``, which workers require since Kafka 4.4.
"""

from __future__ import annotations

import fcntl
import os
import stat
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path

from airflow_provider_connect_offsets import disk
from airflow_provider_connect_offsets.connect.storage.java_stream import parse_map_of_bytes
from airflow_provider_connect_offsets.exceptions import StoreDamaged, StoreError

Records = Mapping[bytes, bytes | None]

_SMALLEST_TABLE = 16
_HEAD = (
    b"\xac\xed\x00\x05sr\x00\x11java.util.HashMap\x05\x07\xda\xc1\xc3\x16\x60\xd1\x03\x00\x02"
    b"F\x00\x0aloadFactorI\x00\x09thresholdxp\x3f\x40\x00\x00"
)
_FIRST_ARRAY = b"ur\x00\x02[B\xac\xf3\x17\xf8\x06\x08\x54\xe0\x02\x00\x00xp"
_LATER_ARRAY = b"uq\x00\x7e\x00\x02"
_NULL, _END = b"p", b"x"


def read_mappings(path: Path) -> dict[bytes, bytes | None]:
    """Return all keys and values in the file's order.

    Raises:
        StoreDamaged: The file is incomplete.
        StoreError: The file can't be read.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise StoreError(f"{path} can't be read: {error.strerror}. Run this as a user who may read it.") from error
    try:
        return parse_map_of_bytes(content)
    except ValueError as error:
        raise StoreDamaged(
            f"{path} isn't a complete offsets file of a standalone worker ({len(content):,} bytes; {error}). It was "
            "not changed. Restore a copy of it that can be read."
        ) from error


def write_mappings(path: Path, records: Records) -> Path | None:
    """Replace the file ``path`` atomically and return the backup of the old one, None if there was none.

    The worker must be down: it reads the file only when it starts, and overwrites it.

    Raises:
        StoreError: Another process has locked the file, or it can't be replaced; nothing was written.
    """
    try:
        _refuse_locked(path)
        backup = _back_up(path)
        disk.replace(path, serialize(records), umask=0o077, prepare=lambda new: _copy_owner(new, path))
    except OSError as error:
        raise StoreError(
            f"Nothing was written: {path} can't be replaced ({error.filename or path}: {error.strerror}). Run this "
            "where the file and its directory can be written."
        ) from error
    return backup


def serialize(records: Records) -> bytes:
    """Return the stream of an ``ObjectOutputStream`` for a ``HashMap<byte[], byte[]>``; a value may be null."""
    size = _SMALLEST_TABLE
    while len(records) > size * 3 // 4:
        size *= 2
    threshold = size * 3 // 4 if records else 0
    head = _HEAD + struct.pack(">i", threshold) + b"w\x08" + struct.pack(">ii", size, len(records))
    return b"".join((head, *_arrays(records), _END))


def _arrays(records: Records) -> Iterator[bytes]:
    start = _FIRST_ARRAY
    for record in records.items():
        for content in record:
            if content is None:
                yield _NULL
                continue
            yield start + struct.pack(">i", len(content)) + content
            start = _LATER_ARRAY


def _refuse_locked(path: Path) -> None:
    """Refuse a file that another process, which may run its worker, has locked (``flock``, ``FileChannel.lock``)."""
    if not path.exists():
        return
    with path.open("rb+") as file:
        try:
            for lock in (fcntl.flock, fcntl.lockf):
                lock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise StoreError(
                f"Nothing was written: another process has locked {path}, so the worker may be running. Stop the "
                "worker first."
            ) from error


def _back_up(path: Path) -> Path | None:
    """Copy the file to an unused name in its directory."""
    if not path.exists():
        return None
    content, number = path.read_bytes(), 1
    while True:
        backup = path.with_name(f"{path.name}.{number:03d}.bak")
        if disk.create(backup, content, umask=0o077):
            backup.chmod(stat.S_IMODE(path.stat().st_mode))
            return backup
        number += 1


def _copy_owner(new: Path, path: Path) -> None:
    """Give the new file the mode and owner of the old one, since its worker may run as another user."""
    if not path.exists():
        return
    old, created = path.stat(), new.stat()
    new.chmod(stat.S_IMODE(old.st_mode))
    if (old.st_uid, old.st_gid) != (created.st_uid, created.st_gid):
        try:
            os.chown(new, old.st_uid, old.st_gid)
        except PermissionError as error:
            raise StoreError(
                f"Nothing was written: {path} belongs to user {old.st_uid} and group {old.st_gid}, and this user can't "
                "give a new file to them. Run this as the owner of the file, so that the worker can read it."
            ) from error

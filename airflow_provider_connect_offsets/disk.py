"""Whole files on a local disk, published at once: synced and renamed, so that no reader gets half of one."""

from __future__ import annotations

import errno
import os
import uuid
from collections.abc import Callable
from pathlib import Path


def make(directory: Path, *, umask: int) -> None:
    """Make a directory and its missing parents, all with ``umask``; ``Path.mkdir`` gives its mode to the last only."""
    if not directory.is_dir():
        make(directory.parent, umask=umask)
        try:
            directory.mkdir(0o777 & ~umask, exist_ok=True)
        except FileExistsError:
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(directory)) from None


def replace(
    path: Path, content: bytes, *, umask: int, prepare: Callable[[Path], None] = lambda _temporary: None
) -> None:
    """Publish a file, replacing an earlier one.

    Args:
        path: Its path.
        content: Its content.
        umask: Bits of its mode that a new file does not get.
        prepare: Called with the written file before it gets its name; if it raises, the file is removed.
    """
    temporary = _temporary(path, content, umask)
    try:
        prepare(temporary)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _sync(path.parent)


def create(path: Path, content: bytes, *, umask: int) -> bool:
    """Publish a file unless it exists, and return whether this call did; of two callers only one succeeds.

    A hard link is atomic, unlike opening with ``O_EXCL`` and then writing. Arguments: see :func:`replace`.
    """
    temporary = _temporary(path, content, umask)
    try:
        os.link(temporary, path)
    except FileExistsError:
        # On NFS also if the answer was lost, and the link was requested again: then there are two links (open(2)).
        if temporary.stat().st_nlink != 2:
            return False
    finally:
        temporary.unlink()
    _sync(path.parent)
    return True


def _temporary(path: Path, content: bytes, umask: int) -> Path:
    """Write a temporary file that has the mode of the published file from its first byte on."""
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666 & ~umask)
    try:
        with open(descriptor, "wb") as file:  # noqa: PTH123 - a path takes no descriptor
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    return temporary


def _sync(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

"""Whole files on any file system that fsspec reaches, published at once or not at all."""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import fsspec
from fsspec.implementations.local import LocalFileSystem
from packaging.version import Version

from airflow_provider_connect_offsets.exceptions import DatasetError, WorkspaceUnwritable

# Where a file can be created by one caller alone: the package of each protocol, which has that since 2024.12.0
# (``mode="create"``: If-None-Match of S3, ifGenerationMatch of GCS, overwrite=False of Azure). fsspec's own way, which
# all others have, looks whether there is a file and writes it then.
_CREATES_ONCE: Mapping[str, str] = {
    "s3": "s3fs",
    "s3a": "s3fs",
    "gs": "gcsfs",
    "gcs": "gcsfs",
    "abfs": "adlfs",
    "abfss": "adlfs",
    "az": "adlfs",
}
_SINCE = "2024.12.0"


def locate(uri: str) -> tuple[fsspec.AbstractFileSystem, str]:
    """Find the file system and the path on it; raises :class:`DatasetError` for a URI nobody here understands."""
    try:
        file_system, path = fsspec.core.url_to_fs(uri)
    except (ValueError, ImportError) as error:
        raise DatasetError(f"{uri!r} can't be reached: {error}") from error
    return file_system, path


def write_bytes(uri: str, content: bytes) -> None:
    """Publish a file: on a local disk written beside, synced and renamed; on an object store one upload.

    Raises :class:`WorkspaceUnwritable`.
    """
    file_system, path = locate(uri)
    with _written(uri):
        if isinstance(file_system, LocalFileSystem):
            _replace_local(Path(path), content)
        else:
            file_system.makedirs(path.rpartition("/")[0], exist_ok=True)
            file_system.pipe_file(path, content)


def create_bytes(uri: str, content: bytes) -> bool:
    """Publish a file only where none stands; tell whether this call made it. Two callers never both succeed.

    Raises :class:`DatasetError` on a file system where they might, and :class:`WorkspaceUnwritable`.
    """
    file_system, path = locate(uri)
    if isinstance(file_system, LocalFileSystem):
        with _written(uri):
            return _link_local(Path(path), content)
    _refuse_unless_it_creates_once(file_system, uri)
    with _written(uri):
        file_system.makedirs(path.rpartition("/")[0], exist_ok=True)
        try:
            file_system.pipe_file(path, content, mode="create")
        except FileExistsError:
            return False
        return True


@contextmanager
def _written(uri: str) -> Iterator[None]:
    """Whatever a file system says where it can't write: each has exceptions of its own."""
    try:
        yield
    except Exception as error:
        raise WorkspaceUnwritable(
            f"{uri} can't be written: {error!r}. Mend the workspace, then run it again."
        ) from error


def read_bytes(uri: str) -> bytes | None:
    """Read a file whole; None where there is none."""
    file_system, path = locate(uri)
    file_system.invalidate_cache()
    try:
        content = file_system.cat_file(path)
    except FileNotFoundError:
        return None
    return bytes(content)


def exists(uri: str) -> bool:
    """True where there is a file or directory."""
    file_system, path = locate(uri)
    file_system.invalidate_cache()
    return bool(file_system.exists(path))


def read_chunks(uri: str, *, size: int = 1 << 20) -> Iterator[bytes] | None:
    """Read a file of any size piece by piece, of at most ``size`` bytes; None where there is none."""
    file_system, path = locate(uri)
    file_system.invalidate_cache()
    try:
        file = file_system.open(path, "rb")
    except (FileNotFoundError, NotADirectoryError):
        return None
    return _pieces(file, size)


def write_json(uri: str, value: Any) -> None:
    """Publish a JSON file."""
    write_bytes(uri, to_json(value))


def to_json(value: Any) -> bytes:
    """Write JSON that people can read and compare."""
    return (json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False) + "\n").encode()


def read_json(uri: str) -> Any:
    """Read a JSON file; raises :class:`DatasetError` where there is none, or a damaged one."""
    value = read_json_if_any(uri)
    if value is None:
        raise DatasetError(f"{uri} does not exist")
    return value


def read_json_if_any(uri: str) -> Any | None:
    """Read a JSON file; None where there is none. Raises :class:`DatasetError` for a damaged one."""
    content = read_bytes(uri)
    if content is None:
        return None
    try:
        return json.loads(content)
    except ValueError as error:
        raise DatasetError(f"{uri} is damaged: {error}") from error


def list_names(uri: str) -> list[str]:
    """Names of what lies directly under a directory, sorted; empty where there is none."""
    file_system, path = locate(uri)
    file_system.invalidate_cache()
    try:
        found = file_system.ls(path, detail=False)
    except FileNotFoundError:
        return []
    return sorted(entry.rstrip("/").rsplit("/", 1)[-1] for entry in found)


def remove_tree(uri: str) -> None:
    """Remove a directory with all that is in it, where there is one."""
    file_system, path = locate(uri)
    if file_system.exists(path):
        file_system.rm(path, recursive=True)


def _refuse_unless_it_creates_once(file_system: fsspec.AbstractFileSystem, uri: str) -> None:
    protocols = [file_system.protocol] if isinstance(file_system.protocol, str) else list(file_system.protocol)
    package = next((_CREATES_ONCE[name] for name in protocols if name in _CREATES_ONCE), None)
    try:
        found = None if package is None else version(package)
    except PackageNotFoundError:
        found = None
    if found is None or Version(found) < Version(_SINCE):
        named = f"{protocols[0]!r}" if package is None else f"{package} {found or 'of an unknown version'}"
        raise DatasetError(
            f"{uri} can't be a lock: with {named}, two runs might both create it, and change the same connector at "
            "once. Let [connect_offsets] workspace be on a local or shared disk, on S3 (s3fs), Google Cloud Storage "
            f"(gcsfs) or Azure (adlfs), each {_SINCE} or later."
        )


def _pieces(file: Any, size: int) -> Iterator[bytes]:
    with file:
        while piece := file.read(size):
            yield bytes(piece)


def _replace_local(path: Path, content: bytes) -> None:
    temporary = _write_beside(path, content)
    temporary.replace(path)
    _sync_directory(path.parent)


def _link_local(path: Path, content: bytes) -> bool:
    """A hard link is created whole or not at all, which opening with O_EXCL and then writing is not."""
    temporary = _write_beside(path, content)
    try:
        os.link(temporary, path)
    except FileExistsError:
        return False
    finally:
        temporary.unlink()
    _sync_directory(path.parent)
    return True


def _write_beside(path: Path, content: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    with temporary.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    return temporary


def _sync_directory(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

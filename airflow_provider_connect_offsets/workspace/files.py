"""Read and atomically publish whole files on any file system that fsspec supports."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Self, TypeVar

import fsspec
from fsspec.implementations.local import LocalFileSystem
from packaging.version import Version

from airflow_provider_connect_offsets import disk
from airflow_provider_connect_offsets.exceptions import DatasetError, WorkspaceUnreadable, WorkspaceUnwritable
from airflow_provider_connect_offsets.masking import mask_text
from airflow_provider_connect_offsets.offsets.json_codec import JsonRecord
from airflow_provider_connect_offsets.settings import umask
from airflow_provider_connect_offsets.workspace.paths import MARKER

_Item = TypeVar("_Item")
_Read = TypeVar("_Read")
# Files that are read at once: an object store takes a moment for each.
_AT_ONCE = 8
# Object stores on which only one of two callers can create a file: the package of each protocol, since 2024.12.0
# (``mode="create"``: If-None-Match of S3, ifGenerationMatch of GCS, overwrite=False of Azure). All others use fsspec's
# default, which checks whether the file exists before it writes.
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
# File systems of fsspec that can't hold a workspace: addresses on the web, archives, caches of other file systems.
_NO_STORES = frozenset(
    {
        "http",
        "https",
        "ftp",
        "reference",
        "zip",
        "tar",
        "libarchive",
        "simplecache",
        "filecache",
        "blockcache",
        "cached",
    }
    | {"dir", "generic", "github", "gist", "git", "jupyter", "data", "async_wrapper"}
)
# How file systems say that there is nothing; the second one, if a file is where a directory was expected.
_MISSING = (FileNotFoundError, NotADirectoryError)


def locate(uri: str) -> tuple[fsspec.AbstractFileSystem, str]:
    """Return the file system of a URI and the path on it.

    Raises :class:`DatasetError` for a URI that is not supported, or that names no disk or object store: a chain of
    file systems (``::``) or an address on the web would be opened for whoever has given the URI.
    """
    if "::" in uri or uri.partition("://")[0].lower() in _NO_STORES:
        named = mask_text(uri).partition("?")[0]
        raise DatasetError(f"{named!r} can't be used: it must be a directory or file on a disk or object store.")
    refuse_login(uri)
    try:
        file_system, path = fsspec.core.url_to_fs(uri)
    except (ValueError, ImportError) as error:
        named = mask_text(uri).partition("?")[0]
        raise DatasetError(f"{named!r} can't be reached: {mask_text(str(error))}") from error
    return file_system, path


def refuse_login(uri: str) -> None:
    """Raise :class:`DatasetError` for a URI with a password, a key or a signature: URIs are shown and stored."""
    authority, _, rest = uri.partition("://")[2].partition("/")
    if ":" in authority.rpartition("@")[0] or ("://" in uri and not uri.startswith("file:") and "?" in rest):
        raise DatasetError(
            f"{mask_text(uri).partition('?')[0]!r} can't be used: it has a login or a signature, but URIs are shown in "
            "logs and reports. Remove it from the URI. Give it to the workers in their environment (AWS_PROFILE, "
            "GOOGLE_APPLICATION_CREDENTIALS, a role of the machine), and to Spark in its configuration."
        )


def write_bytes(uri: str, content: bytes) -> None:
    """Publish a file, replacing an earlier one atomically.

    On a local disk a temporary file is written, synced and renamed; on an object store there is one upload.

    Raises:
        WorkspaceUnwritable: The file can't be written.
    """
    file_system, path = locate(uri)
    with _written(uri):
        if isinstance(file_system, LocalFileSystem):
            disk.make(Path(path).parent, umask=umask())
            disk.replace(Path(path), content, umask=umask())
        else:
            _make_parent(file_system, path)
            file_system.pipe_file(path, content)


def create_bytes(uri: str, content: bytes) -> bool:
    """Publish a file unless it exists; of two callers only one succeeds.

    Args:
        uri: The file.
        content: Must be the caller's own, as it names a run or a process. If an object store's answer is lost, its
            client asks again and is told that the file exists; then the content says whether this call has created it.

    Returns:
        Whether this call created the file.

    Raises:
        DatasetError: The file system can't guarantee that only one caller succeeds.
        WorkspaceUnwritable: The file can't be written.
    """
    file_system, path = locate(uri)
    if isinstance(file_system, LocalFileSystem):
        with _written(uri):
            disk.make(Path(path).parent, umask=umask())
            return disk.create(Path(path), content, umask=umask())
    _refuse_unless_it_creates_once(file_system, uri)
    with _written(uri):
        _make_parent(file_system, path)
        try:
            file_system.pipe_file(path, content, mode="create")
        except FileExistsError:
            return bool(file_system.cat_file(path) == content)
        return True


@contextmanager
def _written(uri: str) -> Iterator[None]:
    """Convert all errors of writing, because each file system has exceptions of its own."""
    try:
        yield
    except Exception as error:
        raise WorkspaceUnwritable(
            f"{uri} can't be written: {error!r}. Repair the workspace, then run it again."
        ) from error


@contextmanager
def _read(uri: str) -> Iterator[tuple[fsspec.AbstractFileSystem, str]]:
    """Locate a file, ignoring what was cached of its directory; convert all errors but that of a missing file."""
    file_system, path = locate(uri)
    try:
        file_system.invalidate_cache()
        yield file_system, path
    except _MISSING:
        raise
    except Exception as error:
        raise WorkspaceUnreadable(
            f"{uri} can't be read: {error!r}. Repair the workspace, then run it again."
        ) from error


def read_bytes(uri: str) -> bytes | None:
    """Read a file; None if it does not exist. Raises :class:`WorkspaceUnreadable`."""
    try:
        with _read(uri) as (file_system, path):
            return bytes(file_system.cat_file(path))
    except _MISSING:
        return None


def exists(uri: str) -> bool:
    """Whether there is a file or directory. Raises :class:`WorkspaceUnreadable`."""
    with _read(uri) as (file_system, path):
        return bool(file_system.exists(path))


def is_linked(uri: str, root: str) -> bool:
    """Whether a file on a disk is, or lies behind, a symbolic link below ``root``: it may lead anywhere."""
    file_system, path = locate(uri)
    if not isinstance(file_system, LocalFileSystem):
        return False
    top = Path(locate(root)[1])
    return Path(path).resolve() != top.resolve() / Path(path).relative_to(top)


def read_chunks(uri: str, *, size: int = 1 << 20) -> Iterator[bytes] | None:
    """Return an iterator over a file in pieces of at most ``size`` bytes; None if the file does not exist.

    Raises:
        WorkspaceUnreadable: The file can't be opened.
    """
    try:
        with _read(uri) as (file_system, path):
            return _pieces(file_system.open(path, "rb"), size)
    except _MISSING:
        return None


def write_json(uri: str, value: Any) -> None:
    """Publish a JSON file."""
    write_bytes(uri, to_json(value))


def to_json(value: Any) -> bytes:
    """Return JSON that people can read and compare: indented, with sorted keys."""
    return (json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False) + "\n").encode()


def read_json(uri: str) -> Any:
    """Read a JSON file; raises :class:`DatasetError` if it is missing or damaged."""
    value = read_json_if_any(uri)
    if value is None:
        raise DatasetError(f"{uri} does not exist")
    return value


def read_json_if_any(uri: str) -> Any | None:
    """Read a JSON file; None if it does not exist. Raises :class:`DatasetError` if it is damaged."""
    content = read_bytes(uri)
    if content is None:
        return None
    try:
        return json.loads(content)
    except ValueError as error:
        raise DatasetError(f"{uri} is damaged: {error}") from error


class JsonFile(JsonRecord):
    """Base of dataclasses that are published as a JSON file of their own."""

    __slots__ = ()

    def write(self, uri: str) -> None:
        """Publish it as the file at ``uri``."""
        write_json(uri, self.as_json())

    @classmethod
    def read(cls, uri: str) -> Self | None:
        """Read what :meth:`write` published; None if it was not. Raises :class:`DatasetError` if it is damaged."""
        fields = read_json_if_any(uri)
        return None if fields is None else cls.from_json(fields)


def list_names(uri: str) -> list[str]:
    """Return the names of files and directories directly under a directory, sorted; empty if there is none.

    Raises:
        WorkspaceUnreadable: It can't be listed.
    """
    try:
        with _read(uri) as (file_system, path):
            paths = file_system.ls(path, detail=False)
    except _MISSING:
        return []
    return sorted(entry.rstrip("/").rsplit("/", 1)[-1] for entry in paths)


def read_at_once(read: Callable[[_Item], _Read], items: Iterable[_Item]) -> list[_Read]:
    """Return what ``read`` returns for each of ``items``, in their order; several are read at once."""
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return list(pool.map(read, items))


def remove_tree(uri: str) -> None:
    """Remove a directory and all its content, if it exists.

    The markers of datasets go first: what a removal leaves that is killed never counts as a finished dataset.

    Raises :class:`WorkspaceUnwritable`.
    """
    file_system, path = locate(uri)
    with _written(uri):
        file_system.invalidate_cache()
        if file_system.exists(path):
            for marker in (one for one in file_system.find(path) if one.endswith(f"/{MARKER}")):
                file_system.rm_file(marker)
            if file_system.exists(path):  # as ``uri`` may be a marker
                file_system.rm(path, recursive=True)


def remove(uri: str) -> None:
    """Remove a file, if it exists. Raises :class:`WorkspaceUnwritable`."""
    file_system, path = locate(uri)
    with _written(uri), suppress(*_MISSING):
        file_system.rm_file(path)


def _make_parent(file_system: fsspec.AbstractFileSystem, path: str) -> None:
    """Make the directory of a file. An object store has none, and s3fs would make a bucket that is missing."""
    if not any(name in _CREATES_ONCE for name in _protocols_of(file_system)):
        file_system.makedirs(path.rpartition("/")[0], exist_ok=True)


def _protocols_of(file_system: fsspec.AbstractFileSystem) -> list[str]:
    return [file_system.protocol] if isinstance(file_system.protocol, str) else list(file_system.protocol)


def _refuse_unless_it_creates_once(file_system: fsspec.AbstractFileSystem, uri: str) -> None:
    protocols = _protocols_of(file_system)
    package = next((_CREATES_ONCE[name] for name in protocols if name in _CREATES_ONCE), None)
    try:
        installed = None if package is None else version(package)
    except PackageNotFoundError:
        installed = None
    if installed is None or Version(installed) < Version(_SINCE):
        named = f"{protocols[0]!r}" if package is None else f"{package} {installed or 'of an unknown version'}"
        raise DatasetError(
            f"{uri} can't be used as a lock: with {named}, two runs might both create it, and change the same "
            "connector at once. Put [connect_offsets] workspace on a local or shared disk, on S3 (s3fs), Google Cloud "
            f"Storage (gcsfs) or Azure (adlfs). These packages must have version {_SINCE} or later."
        )


def _pieces(file: Any, size: int) -> Iterator[bytes]:
    with file:
        while piece := file.read(size):
            yield bytes(piece)

"""Whole files are published atomically, on disk and elsewhere."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import fsspec
import pytest
from fsspec.implementations.memory import MemoryFileSystem

from airflow_provider_connect_offsets.exceptions import DatasetError, WorkspaceUnreadable, WorkspaceUnwritable
from airflow_provider_connect_offsets.workspace import files
from airflow_provider_connect_offsets.workspace.paths import join


@pytest.fixture(params=["disk", "memory"])
def root(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Return a directory that does not exist yet."""
    if request.param == "disk":
        yield str(tmp_path / "new")
        return
    uri = f"memory://{uuid.uuid4().hex}"
    yield uri
    fsspec.filesystem("memory").rm(f"/{uri.removeprefix('memory://')}", recursive=True)


def test_what_is_written_is_read(root: str) -> None:
    """Directories are created as needed, and a file is replaced completely."""
    uri = join(root, "a", "b")

    files.write_bytes(uri, b"a longer text")
    files.write_bytes(uri, b"\x00short")

    assert files.read_bytes(uri) == b"\x00short"
    assert files.list_names(join(root, "a")) == ["b"]


def test_nothing_is_there(root: str) -> None:
    """A missing file is None, a missing directory has an empty listing, and removing it does nothing."""
    files.write_bytes(join(root, "other"), b"")

    assert files.read_bytes(join(root, "none")) is None
    assert files.list_names(join(root, "none")) == []
    files.remove_tree(join(root, "none"))


def test_remove_tree(root: str) -> None:
    """Everything in the directory is removed, and nothing else."""
    for name in ("a/1", "a/b/2", "c"):
        files.write_bytes(join(root, name), b"x")

    files.remove_tree(join(root, "a"))

    assert files.list_names(root) == ["c"]


def test_create_makes_a_file_once(tmp_path: Path) -> None:
    """The second caller gets False and changes nothing."""
    root = str(tmp_path / "new")
    uri = join(root, "lock")

    assert files.create_bytes(uri, b"first")
    assert not files.create_bytes(uri, b"second")
    assert files.read_bytes(uri) == b"first"
    assert files.list_names(root) == ["lock"]


@pytest.mark.parametrize(
    ("protocol", "installed", "named"),
    [
        ("memory", None, "'memory'"),
        (("sftp", "ssh"), None, "'sftp'"),
        (("s3", "s3a"), "2024.10.0", "s3fs 2024.10.0"),
        (("gs", "gcs"), None, "gcsfs of an unknown version"),
        (("s3", "s3a"), "2024.12.0", ""),
        ("abfs", "2026.1.0", ""),
    ],
)
def test_locks_are_kept_only_where_one_caller_creates_them(
    monkeypatch: pytest.MonkeyPatch, protocol: str | tuple[str, ...], installed: str | None, named: str
) -> None:
    """Elsewhere fsspec checks before it writes; the message names suitable file systems."""

    def version(package: str) -> str:
        if installed is None:
            raise PackageNotFoundError(package)
        return installed

    uri, memory = f"memory://{uuid.uuid4().hex}/lock", fsspec.filesystem("memory")
    monkeypatch.setattr(type(memory), "protocol", protocol)
    monkeypatch.setattr(files, "version", version)

    if named:
        with pytest.raises(
            DatasetError, match=rf"{uri} can't be used as a lock: with {named}, two runs .*s3fs.*2024\.12\.0"
        ):
            files.create_bytes(uri, b"first")
    else:
        assert files.create_bytes(uri, b"first")
        assert not files.create_bytes(uri, b"second")


def test_of_many_who_create_one_file_one_succeeds(tmp_path: Path) -> None:
    """The file has the complete content of that one."""
    uri = str(tmp_path / "lock")
    start = threading.Barrier(16)
    won: list[int] = []

    def create(number: int) -> None:
        start.wait()
        if files.create_bytes(uri, str(number).encode() * 100_000):
            won.append(number)

    threads = [threading.Thread(target=create, args=[number]) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    [winner] = won
    assert files.read_bytes(uri) == str(winner).encode() * 100_000
    assert files.list_names(str(tmp_path)) == ["lock"]


def test_a_reader_never_sees_half_a_file(tmp_path: Path) -> None:
    """While a writer replaces it repeatedly, a reader always gets one complete content."""
    uri = str(tmp_path / "state")
    texts = [b"a" * 200_000, b"b" * 100_000]
    files.write_bytes(uri, texts[0])
    done = threading.Event()

    def write() -> None:
        for turn in range(40):
            files.write_bytes(uri, texts[turn % 2])
        done.set()

    writer = threading.Thread(target=write)
    writer.start()
    while not done.is_set():
        assert files.read_bytes(uri) in texts
    writer.join()


def test_a_write_that_fails_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full disk does not destroy the old content."""
    uri = str(tmp_path / "state")
    files.write_bytes(uri, b"old")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(WorkspaceUnwritable, match="No space left"):
        files.write_bytes(uri, b"new")

    assert files.read_bytes(uri) == b"old"


@pytest.mark.parametrize("name", ["exists", "list_names", "read_bytes", "read_chunks", "read_json", "read_json_if_any"])
def test_what_can_not_be_read_is_not_missing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each file system has errors of its own; all are one here, which names the file and the cause."""

    def refused(*_: object, **__: object) -> None:
        raise RuntimeError("the token has expired")

    for call in ("_open", "cat_file", "exists", "ls"):
        monkeypatch.setattr(f"fsspec.implementations.memory.MemoryFileSystem.{call}", refused)

    with pytest.raises(WorkspaceUnreadable, match=r"memory://runs/it can't be read: .*the token has expired"):
        getattr(files, name)("memory://runs/it")


def test_what_can_not_be_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error names the directory."""

    def refused(*_: object, **__: object) -> None:
        raise RuntimeError("the token has expired")

    monkeypatch.setattr("fsspec.implementations.memory.MemoryFileSystem.exists", refused)

    with pytest.raises(WorkspaceUnwritable, match=r"memory://runs/it can't be written: "):
        files.remove_tree("memory://runs/it")


def test_json(root: str) -> None:
    """JSON that people can read and compare."""
    uri = join(root, "value.json")

    files.write_json(uri, {"b": 1, "a": "ä"})

    assert files.read_bytes(uri) == '{\n  "a": "ä",\n  "b": 1\n}\n'.encode()
    assert files.read_json(uri) == files.read_json_if_any(uri) == {"a": "ä", "b": 1}


def test_json_that_is_none(root: str) -> None:
    """Missing and damaged files have different errors, and the message names the file."""
    uri = join(root, "value.json")

    assert files.read_json_if_any(uri) is None
    with pytest.raises(DatasetError, match=r"value\.json does not exist"):
        files.read_json(uri)
    files.write_bytes(uri, b'{"a":')
    with pytest.raises(DatasetError, match=r"value\.json is damaged: "):
        files.read_json(uri)


def test_a_file_system_that_nobody_knows() -> None:
    """The message has the URI."""
    with pytest.raises(DatasetError, match="'nosuch://x/y' can't be reached: "):
        files.read_bytes("nosuch://x/y")


def test_a_large_file_is_read_piece_by_piece(root: str) -> None:
    """In order, no piece larger than requested; None if there is no file."""
    uri = join(root, "table.csv")
    assert files.read_chunks(uri) is None
    assert not files.exists(uri)

    files.write_bytes(uri, b"0123456789")

    assert list(files.read_chunks(uri, size=4) or ()) == [b"0123", b"4567", b"89"]
    assert files.exists(uri)


def test_nothing_is_below_a_file(tmp_path: Path) -> None:
    """Where someone names a file instead of its directory, what is looked for is missing."""
    uri = (tmp_path / "file").as_uri()
    files.write_bytes(uri, b"x")
    below = join(uri, "below")

    assert files.read_bytes(below) is None
    assert files.read_chunks(below) is None
    assert files.list_names(below) == []
    assert not files.exists(below)
    with pytest.raises(DatasetError, match="does not exist"):
        files.read_json(below)


def test_what_another_process_has_written_is_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Object stores keep listings, which a removal must not trust."""
    uri = f"memory://{uuid.uuid4().hex}"
    files.write_bytes(join(uri, "file"), b"x")
    stale = {"is": True}
    exists = MemoryFileSystem.exists
    monkeypatch.setattr(MemoryFileSystem, "exists", lambda own, path: not stale["is"] and exists(own, path))
    monkeypatch.setattr(MemoryFileSystem, "invalidate_cache", lambda *_: stale.update({"is": False}))

    files.remove_tree(uri)

    assert files.list_names(uri) == []

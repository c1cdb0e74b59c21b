"""A standalone worker's file as a store of offsets."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from airflow_provider_connect_offsets.connect.storage.offsets_file import read_mappings, serialize
from airflow_provider_connect_offsets.connect.storage.standalone import StandaloneFile
from airflow_provider_connect_offsets.exceptions import StoreDamaged, StoreError
from airflow_provider_connect_offsets.offsets.document import Entry, Offsets

A, B = '{"filename":"a"}', '{"filename":"b"}'
FOREIGN = {b'["other",{"x":1}]': b'{"y":2}', b"no key": b"no value"}


@pytest.fixture
def store(tmp_path: Path) -> StandaloneFile:
    """A file with two partitions of ``lines``, and unrelated content."""
    path = tmp_path / "connect.offsets"
    own = {b'["lines",{"filename":"a"}]': b'{"position":4}', b'["lines",{"filename":"b"}]': b'{"position":9}'}
    path.write_bytes(serialize({**own, **FOREIGN}))
    return StandaloneFile(path)


def test_it_is_read_by_connector(store: StandaloneFile) -> None:
    """An unknown connector has no offsets."""
    assert store.connectors() == ["lines", "other"]
    assert store.read_offsets("lines").by_partition() == {A: '{"position":4}', B: '{"position":9}'}
    assert store.read_offsets("none") == Offsets()


def test_what_a_change_does_not_name_stays(store: StandaloneFile) -> None:
    """Other partitions, other connectors, and entries that are no offsets; the reply names the backup."""
    reply = store.write_offsets("lines", Offsets.of([Entry(A, '{"position":0}')]))

    assert store.read_offsets("lines").by_partition() == {A: '{"position":0}', B: '{"position":9}'}
    assert FOREIGN.items() <= read_mappings(store.path).items()
    assert reply.message.endswith("connect.offsets.001.bak.")


def test_a_reset_removes_all_of_one_connector(store: StandaloneFile) -> None:
    """All other records of the file stay."""
    store.reset_offsets("lines")

    assert read_mappings(store.path) == FOREIGN


def test_a_file_may_not_be_there_yet(tmp_path: Path) -> None:
    """A worker that never flushed has no file; it can be created."""
    store = StandaloneFile(tmp_path / "new.offsets")
    assert store.connectors() == []

    assert store.write_offsets("lines", Offsets.of([Entry(A, '{"position":4}')])).message.endswith("was written.")

    assert store.read_offsets("lines").by_partition() == {A: '{"position":4}'}


def test_a_damaged_file_is_refused_and_left_alone(store: StandaloneFile) -> None:
    """Every method refuses it, even if only a single value is not an offset."""
    whole = store.path.read_bytes()
    store.path.write_bytes(whole[:-1])
    for call in (store.connectors, lambda: store.read_offsets("lines"), lambda: store.reset_offsets("lines")):
        with pytest.raises(StoreDamaged):
            call()
    assert store.path.read_bytes() == whole[:-1]

    store.path.write_bytes(serialize({b'["lines",{"filename":"a"}]': b"[1]"}))
    with pytest.raises(StoreDamaged, match="an offset of connector 'lines' that can't be read"):
        store.read_offsets("lines")


def test_a_file_that_cannot_be_read_or_written_is_an_error_of_the_store(tmp_path: Path) -> None:
    """So that a change of it ends as any other: undone, with a sentence that names the file."""
    gone, folder = StandaloneFile(tmp_path / "gone" / "connect.offsets"), StandaloneFile(tmp_path)

    with pytest.raises(
        StoreError, match=r"Nothing was written: .*gone/connect.offsets can't be replaced.*No such file"
    ):
        gone.write_offsets("lines", Offsets.of([Entry(A, '{"position":0}')]))
    with pytest.raises(StoreError, match="can't be read: Is a directory"):
        folder.read_offsets("lines")


@pytest.mark.parametrize("lock", [fcntl.flock, fcntl.lockf])
def test_a_locked_file_is_left_alone(store: StandaloneFile, lock: Callable[[int, int], None]) -> None:
    """Locked by another process, for example one that starts workers."""
    before = store.path.read_bytes()
    locking = textwrap.dedent(
        f"""
        import fcntl, sys
        file = open({str(store.path)!r}, "rb+")
        fcntl.{lock.__name__}(file, fcntl.LOCK_EX)
        print("locking", flush=True)
        sys.stdin.read()
        """
    )
    with subprocess.Popen(
        [sys.executable, "-c", locking], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "locking\n"
        with pytest.raises(StoreError, match="another process has locked"):
            store.reset_offsets("lines")
        holder.communicate()

    assert store.path.read_bytes() == before
    assert list(store.path.parent.iterdir()) == [store.path]
    store.reset_offsets("lines")
    assert store.connectors() == ["other"]


def test_mode_and_owner_stay(store: StandaloneFile) -> None:
    """The worker's user may differ from the user who changes its file."""
    store.path.chmod(0o640)
    if os.geteuid() == 0:  # only root may give a file away
        os.chown(store.path, 4711, 4711)
    before = store.path.stat()

    store.reset_offsets("lines")

    after = store.path.stat()
    assert (after.st_mode, after.st_uid, after.st_gid) == (before.st_mode, before.st_uid, before.st_gid)
    assert after.st_ino != before.st_ino  # it is a new file

"""Files on a local disk: published whole, and readable only for those who may read them."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from airflow_provider_connect_offsets import disk
from airflow_provider_connect_offsets.exceptions import InvalidInput
from airflow_provider_connect_offsets.settings import umask
from airflow_provider_connect_offsets.workspace import files


@pytest.fixture
def permissive() -> Iterator[None]:
    """A process that hides nothing by itself."""
    before = os.umask(0)
    yield
    os.umask(before)


def mode(path: Path) -> str:
    return f"{path.stat().st_mode & 0o777:o}"


@pytest.mark.usefixtures("permissive")
@pytest.mark.parametrize(
    ("option", "file", "folder"), [(None, "640", "750"), ("022", "644", "755"), ("077", "600", "700")]
)
def test_others_read_no_file_of_a_workspace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, option: str | None, file: str, folder: str
) -> None:
    """They can't list its directories either; the directory above keeps its mode."""
    if option is not None:
        monkeypatch.setenv("AIRFLOW__CONNECT_OFFSETS__UMASK", option)
    tmp_path.chmod(0o755)
    one, other = tmp_path / "a" / "b" / "report.html", tmp_path / "a" / "c" / "lease.json"

    files.write_bytes(one.as_uri(), b"x")
    assert files.create_bytes(other.as_uri(), b"x")

    assert [mode(path) for path in (one, other)] == [file, file]
    assert [mode(path) for path in (one.parent, other.parent, tmp_path / "a", tmp_path)] == [folder] * 3 + ["755"]


@pytest.mark.usefixtures("permissive")
def test_nobody_reads_a_file_while_it_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its temporary one has the mode of the final one from its first byte on."""
    seen: list[str] = []
    monkeypatch.setattr(os, "fsync", lambda _descriptor: seen.extend(mode(path) for path in tmp_path.iterdir()))

    disk.replace(tmp_path / "a", b"x", umask=0o077)

    assert seen == ["600", "600"]


def test_a_file_that_can_not_be_prepared_is_not_published(tmp_path: Path) -> None:
    """No temporary file is left."""
    path = tmp_path / "a"
    path.write_bytes(b"before")

    def refuse(_temporary: Path) -> None:
        raise PermissionError(1, "Operation not permitted")

    with pytest.raises(PermissionError):
        disk.replace(path, b"after", umask=0o077, prepare=refuse)

    assert {one.name: one.read_bytes() for one in tmp_path.iterdir()} == {"a": b"before"}


def test_only_one_creates_a_file(tmp_path: Path) -> None:
    """Of many threads that create it at once, only one succeeds."""
    created: list[int] = []
    makers = [
        threading.Thread(
            target=lambda n=n: created.append(n) if disk.create(tmp_path / "a", b"%d" % n, umask=0o077) else None
        )
        for n in range(8)
    ]
    for one in makers:
        one.start()
    for one in makers:
        one.join()

    assert [b"%d" % n for n in created] == [(tmp_path / "a").read_bytes()]
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_a_file_is_created_though_the_answer_is_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """NFS repeats the request, and then says that the file exists; one of another caller does exist."""
    link = os.link

    def link_twice(temporary: Path, path: Path) -> None:
        with suppress(FileExistsError):
            link(temporary, path)
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path))

    monkeypatch.setattr(os, "link", link_twice)

    assert disk.create(tmp_path / "a", b"x", umask=0o077)
    assert not disk.create(tmp_path / "a", b"x", umask=0o077)
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


@pytest.mark.parametrize("text", ["rwx", "888", "-1", "1777"])
def test_an_umask_that_is_none_is_refused(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """Before anything is written."""
    monkeypatch.setenv("AIRFLOW__CONNECT_OFFSETS__UMASK", text)

    with pytest.raises(InvalidInput, match=rf"umask is '{text}', which is not an octal number like 027"):
        umask()


def test_the_options_of_a_changed_file_are_read_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of Airflow's own file, which has no such section by default."""
    config = tmp_path / "airflow.cfg"
    monkeypatch.setenv("AIRFLOW_CONFIG", str(config))
    monkeypatch.delenv("AIRFLOW__CONNECT_OFFSETS__UMASK", raising=False)
    seen = [umask()]
    for content in ("[core]\nx = %(y)s\n", "[connect_offsets]\numask = 022\n"):
        config.write_text(content)
        os.utime(config, ns=(len(seen), len(seen)))
        seen.append(umask())

    assert seen == [0o027, 0o027, 0o022]


def test_options_that_can_not_be_read_are_not_the_defaults(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An author's limits would be passed over: a file of another user, or no file at all."""
    folder, looped = tmp_path / "airflow.cfg", tmp_path / "looped"
    folder.mkdir()
    looped.symlink_to(looped)
    monkeypatch.delenv("AIRFLOW__CONNECT_OFFSETS__UMASK", raising=False)
    for config in (folder, looped):
        monkeypatch.setenv("AIRFLOW_CONFIG", str(config))
        with pytest.raises(InvalidInput, match=rf"{config} can't be read, so it is unknown which changes are allowed"):
            umask()

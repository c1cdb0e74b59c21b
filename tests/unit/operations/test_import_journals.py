"""Imports whose journal can't be written: nothing is written, or all of it is undone."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_connect_offsets.cli.journals import own_workspace
from airflow_provider_connect_offsets.cli.opened import open_storage
from airflow_provider_connect_offsets.connect.storage.standalone import StandaloneFile
from airflow_provider_connect_offsets.exceptions import (
    WorkspaceUnwritable,
)
from airflow_provider_connect_offsets.hooks.storage import open_storage as open_by_connection
from airflow_provider_connect_offsets.saga import journal, lease
from airflow_provider_connect_offsets.workspace import files
from tests.support.programs.shell import Shell
from tests.support.rows.imported_file import AFTER, BEFORE, REQUESTED, stored_in


def is_begin(uri: str, value: Any) -> bool:
    return uri.endswith(".record.json") and bool(value["stages"])


def is_captured(uri: str, value: Any) -> bool:
    return is_begin(uri, value) and value["stages"][0]["progress"] == "begun"


def is_end(uri: str, value: Any) -> bool:
    return is_begin(uri, value) and value["stages"][0]["progress"] == "done"


def is_prior(uri: str, value: Any) -> bool:
    del value
    return uri.endswith(".prior.json")


def is_lease(uri: str, value: Any) -> bool:
    del value
    return uri.endswith(".lease.json")


@contextmanager
def unwritable(monkeypatch: pytest.MonkeyPatch, is_it: Callable[[str, Any], bool]) -> Iterator[None]:
    """Let the journal be read-only from the first file on that fulfils a condition."""
    publish, create, broken = files.write_bytes, files.create_bytes, list[str]()

    def refuse(uri: str, content: bytes) -> None:
        if "/_journal/" in uri and (broken or is_it(uri, json.loads(content))):
            broken.append(uri)
            raise WorkspaceUnwritable(f"{uri} can't be written: Read-only file system.")

    def write_bytes(uri: str, content: bytes) -> None:
        refuse(uri, content)
        publish(uri, content)

    def create_bytes(uri: str, content: bytes) -> bool:
        refuse(uri, content)
        return create(uri, content)

    with monkeypatch.context() as patched:
        patched.setattr(files, "write_bytes", write_bytes)
        patched.setattr(files, "create_bytes", create_bytes)
        yield
    assert broken


@pytest.mark.parametrize("is_it", [is_lease, is_begin, is_prior, is_captured])
def test_nothing_is_written_without_a_journal(
    run: Shell,
    config: Path,
    store: StandaloneFile,
    monkeypatch: pytest.MonkeyPatch,
    is_it: Callable[[str, Any], bool],
) -> None:
    """It does not matter which file can't be written; the error names it, and the option for another directory."""
    with unwritable(monkeypatch, is_it):
        ended = run("import", "--config", config, stdin=REQUESTED)

    assert (ended.code, "Nothing was written: " in ended.err) == (1, True), ended.err
    assert "/state/connect-offsets/_journal/" in ended.err
    assert "Read-only file system" in ended.err
    assert "Choose another directory for the journal with --workspace." in ended.err
    assert stored_in(store) == BEFORE
    assert list(config.parent.glob("*.bak")) == []


def test_what_cannot_be_noted_is_undone_from_memory(
    run: Shell, config: Path, store: StandaloneFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is written and read back, but the next process could not know; once the journal is back, imports succeed."""
    # The lease could not be ended either, and its owner, this process, is alive.
    for module in (journal, lease):
        monkeypatch.setattr(module, "DEAD_AFTER", 1.0)
    with unwritable(monkeypatch, is_end):
        ended = run("import", "--config", config, stdin=REQUESTED)

    assert (ended.code, "can't be written" in ended.err) == (1, True), ended.err
    assert "All offsets were restored and are as before." in ended.err
    assert stored_in(store) == BEFORE
    assert list(config.parent.glob("*.bak")) != []
    assert run("import", "--config", config, "--file", "requested.json").code == 0
    assert stored_in(store) == AFTER


def test_a_directory_that_does_not_exist(
    run: Shell, config: Path, store: StandaloneFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A path that is no directory, or a user without a home."""
    monkeypatch.setenv("XDG_STATE_HOME", str(config))

    ended = run("import", "--config", config, stdin=REQUESTED)

    assert (ended.code, "Not a directory" in ended.err) == (1, True), ended.err
    assert stored_in(store) == BEFORE
    assert run("import", "--config", config, "--workspace", config.parent.as_uri(), stdin=REQUESTED).code == 0
    assert stored_in(store) == AFTER


def test_a_relative_directory_counts_as_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As the XDG Base Directory Specification has it."""
    monkeypatch.setenv("HOME", str(tmp_path))
    for given in ("state", ""):
        monkeypatch.setenv("XDG_STATE_HOME", given)

        assert own_workspace() == (tmp_path / ".local" / "state" / "connect-offsets").as_uri()


def test_a_change_by_airflow_has_the_same_journal(
    config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However the path of the file is written."""
    extra = {"offsets_file": str(tmp_path / "connect.offsets")}
    monkeypatch.setenv("AIRFLOW_CONN_STORED", json.dumps({"conn_type": "kafka_connect", "extra": extra}))
    config.write_text("offset.storage.file.filename=connect.offsets\n")

    assert open_storage(config, None).storage.cluster() == open_by_connection("stored").control.cluster_names()[0]

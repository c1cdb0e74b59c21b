"""The shell, and a standalone worker's file into which it imports."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_provider_connect_offsets.connect.storage.offsets_file import write_mappings
from airflow_provider_connect_offsets.connect.storage.standalone import StandaloneFile
from tests.support.programs.shell import Shell, shell
from tests.support.rows.imported_file import REQUESTED, STORED


@pytest.fixture(name="run")
def _run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Shell:
    return shell(monkeypatch, capsys)


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The properties of a standalone worker that is down, its file, and a directory for journals."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    write_mappings(tmp_path / "connect.offsets", STORED)
    path = tmp_path / "worker.properties"
    path.write_text(f"offset.storage.file.filename={tmp_path / 'connect.offsets'}\nlisteners=http://127.0.0.1:1\n")
    path.with_name("requested.json").write_text(REQUESTED)
    return path


@pytest.fixture
def store(config: Path) -> StandaloneFile:
    return StandaloneFile(config.with_name("connect.offsets"))

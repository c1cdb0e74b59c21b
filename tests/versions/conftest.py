"""Brokers and workers of other versions of Kafka in place of the shared ones; a test names its versions."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from sandbox import Sandbox
from tests.support.flows.flow_changer import FlowChanger
from tests.support.programs.shell import Shell, shell


@pytest.fixture(scope="session")
def sandbox(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    """Two clusters and a worker of the version that the test names (``kafka_versions``)."""
    version: str = request.param
    with Sandbox(version=version, keep_logs=Path("build/sandbox-logs", version)) as running:
        yield running


@pytest.fixture
def workspace(tmp_path: Path) -> str:
    """A workspace of the test's own."""
    return tmp_path.as_uri()


@pytest.fixture
def flows(sandbox: Sandbox, spark: SparkSession, workspace: str) -> FlowChanger:
    """Resets flows of the sandbox."""
    return FlowChanger.on(sandbox, workspace, spark)


@pytest.fixture(name="run")
def _run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Shell:
    monkeypatch.chdir(tmp_path)  # where an import keeps the offsets of before
    return shell(monkeypatch, capsys)

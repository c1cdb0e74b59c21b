"""Connectors and changes on the shared sandbox."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from flows import Changer, MirrorFlow, SinkFlow
from pyspark.sql import SparkSession

from sandbox import Sandbox


@pytest.fixture
def workspace(tmp_path: Path) -> str:
    """A workspace of the test's own."""
    return tmp_path.as_uri()


@pytest.fixture
def mirror(sandbox: Sandbox) -> Iterator[MirrorFlow]:
    """A running MirrorSource that has caught up."""
    flow = MirrorFlow.start(sandbox)
    yield flow
    sandbox.connect.delete(flow.name)


@pytest.fixture
def sink(sandbox: Sandbox) -> Iterator[SinkFlow]:
    """A running FileStreamSink that has caught up."""
    flow = SinkFlow.start(sandbox)
    yield flow
    sandbox.connect.delete(flow.name)


@pytest.fixture
def source_changer(sandbox: Sandbox, spark: SparkSession, workspace: str) -> Changer:
    """Changes connectors whose positions refer to the source cluster."""
    return Changer(spark, workspace, sandbox.connect.url, sandbox.source)


@pytest.fixture
def target_changer(sandbox: Sandbox, spark: SparkSession, workspace: str) -> Changer:
    """Changes connectors whose positions refer to the worker's own cluster."""
    return Changer(spark, workspace, sandbox.connect.url, sandbox.target)

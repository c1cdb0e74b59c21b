"""Connectors and changes on the shared sandbox."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from sandbox import Sandbox
from tests.support.flows.flows import Changer


@pytest.fixture
def workspace(tmp_path: Path) -> str:
    """A workspace of the test's own."""
    return tmp_path.as_uri()


@pytest.fixture
def source_changer(sandbox: Sandbox, spark: SparkSession, workspace: str) -> Changer:
    """Changes connectors whose positions refer to the source cluster."""
    return Changer(spark, workspace, sandbox.connect.url, sandbox.source)


@pytest.fixture
def target_changer(sandbox: Sandbox, spark: SparkSession, workspace: str) -> Changer:
    """Changes connectors whose positions refer to the worker's own cluster."""
    return Changer(spark, workspace, sandbox.connect.url, sandbox.target)


@pytest.fixture
def nothing_created_left(sandbox: Sandbox) -> Iterator[None]:
    """Connectors ``created-…`` are deleted: other tests count which connectors of the sandbox are stopped."""
    yield
    for name in sandbox.connect.connectors():
        if name.startswith("created-"):
            sandbox.connect.delete(name)

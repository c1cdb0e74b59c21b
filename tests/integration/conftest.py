"""Connectors and changes on the shared sandbox."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox import Sandbox
from tests.support.flows.timed_topic import timed_topic


@pytest.fixture
def workspace(tmp_path: Path) -> str:
    """A workspace of the test's own."""
    return tmp_path.as_uri()


@pytest.fixture
def topic(sandbox: Sandbox) -> str:
    """A topic of two partitions on the worker's cluster: ten records, a second apart, in partition 0, none in 1."""
    return timed_topic(sandbox.target)


@pytest.fixture
def nothing_created_left(sandbox: Sandbox) -> Iterator[None]:
    """Connectors ``created-…`` are deleted: other tests count which connectors of the sandbox are stopped."""
    yield
    for name in sandbox.connect.connectors():
        if name.startswith("created-"):
            sandbox.connect.delete(name)

"""The versions of Kafka that ``make test-versions`` runs, and a mark for tests of them."""

from __future__ import annotations

import pytest

from sandbox.jars import KAFKA_VERSION, OLDER_VERSIONS

#: Its REST API can't change offsets.
READ_ONLY = "3.5.1"
CHANGING = tuple(version for version in (*OLDER_VERSIONS, KAFKA_VERSION) if version != READ_ONLY)


def on(*versions: str) -> pytest.MarkDecorator:
    """Run a test on servers of each of these versions; all tests of one version share them, in one process."""
    params = [pytest.param(version, marks=pytest.mark.xdist_group(version)) for version in versions]
    return pytest.mark.parametrize("sandbox", params, indirect=True, scope="session")

"""Files of the unit tests, whose thousands of journals need not outlast a crash of the machine."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest


@pytest.fixture(scope="session", autouse=True)
def _without_fsync() -> Iterator[None]:
    """No unit test needs it, as a killed process loses nothing that it has written; the other suites have it."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(os, "fsync", lambda _descriptor: None)
        yield

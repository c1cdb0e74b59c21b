"""A journal whose clocks tests move."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_provider_connect_offsets.saga.journal import Journal
from tests.support.faults.dead_holders import Time


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
def journal(tmp_path: Path, time: Time) -> Journal:
    return Journal(tmp_path.as_uri(), cluster="c", resource="a sink/ü", wall=time, age=time.age, clock=time.clock)

"""A journal whose clocks tests move."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from airflow_provider_connect_offsets.saga.journal import Journal
from airflow_provider_connect_offsets.workspace import files
from tests.support.faults.dead_holders import Time
from tests.support.faults.made_up_stages import World


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
def journal(tmp_path: Path, time: Time) -> Journal:
    return Journal(tmp_path.as_uri(), cluster="c", resource="a sink/ü", wall=time, age=time.age, clock=time.clock)


@pytest.fixture
def world() -> World:
    """A made-up world."""
    return World()


@pytest.fixture
def dying(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A dead process writes no journal, and ends no lease."""
    write = files.write_json

    def write_json(uri: str, value: Any) -> None:
        if not world.dead:
            write(uri, value)

    monkeypatch.setattr(files, "write_json", write_json)

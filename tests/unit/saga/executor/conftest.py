"""A made-up world, and the journal of its saga."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from airflow_provider_connect_offsets.saga.journal import Journal
from airflow_provider_connect_offsets.workspace import files
from tests.support.faults.made_up_stages import (
    World,
)


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    """A world in which dead processes write no journals."""
    made, write = World(), files.write_json

    def write_json(uri: str, value: Any) -> None:
        if uri.endswith("record.json"):  # its lease runs out, which nobody waits for in here
            made.refuse_dead()
        write(uri, value)

    monkeypatch.setattr(files, "write_json", write_json)
    return made


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    return Journal(tmp_path.as_uri(), cluster="c", resource="x")

"""The executor without a journal: what is made is undone from memory."""

from __future__ import annotations

from typing import Any

import pytest

from airflow_provider_connect_offsets.exceptions import (
    JournalLost,
    NotApplied,
)
from airflow_provider_connect_offsets.saga import Executor, Toward
from airflow_provider_connect_offsets.saga.journal import Journal
from airflow_provider_connect_offsets.saga.record import SagaState
from airflow_provider_connect_offsets.saga.stage import (
    Kind,
)
from airflow_provider_connect_offsets.workspace import files
from tests.support.faults.made_up_stages import (
    OWNER,
    SCRIPTS,
    MadeUpStage,
    PlainExplanation,
    World,
    attempt,
    settle,
)


@pytest.mark.parametrize("script", SCRIPTS)
@pytest.mark.parametrize("title", ["stop", "alter", "resume"])
def test_the_journal_fails(
    world: World, journal: Journal, monkeypatch: pytest.MonkeyPatch, script: str, title: str
) -> None:
    """It fails from the begin of a stage on: nothing more is made, and all is undone from memory."""
    write, broken = files.write_json, list[str]()

    def write_json(uri: str, value: Any) -> None:
        record = uri.endswith("record.json")
        begun = record and any(one["title"] == title and one["progress"] == "begun" for one in value["stages"])
        if begun or (record and broken):
            broken.append(uri)
            raise OSError(30, "Read-only file system")
        write(uri, value)

    with monkeypatch.context() as patched:
        patched.setattr(files, "write_json", write_json)
        past = title == "resume" and script != "plain"
        with pytest.raises(JournalLost if past else NotApplied, match="can't be written"):
            attempt(world, journal, script)

    if past:  # which nothing can take back: whoever comes next goes on
        assert settle(world, journal, script, Toward.BACK) is SagaState.DONE
    else:
        assert not any(world.in_effect.values())


def test_what_was_made_and_can_not_be_noted_is_undone(
    world: World, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next process could not know that it was done, and would undo it, whatever uses it by then."""
    write = files.write_json

    def write_json(uri: str, value: Any) -> None:
        if uri.endswith("record.json") and value["state"] == SagaState.DONE:
            raise OSError(30, "Read-only file system")
        write(uri, value)

    monkeypatch.setattr(files, "write_json", write_json)
    with journal.claim(OWNER) as entry:
        stages = [MadeUpStage(world, *one) for one in SCRIPTS["plain"] if one[2] is Kind.UNDOABLE]
        entry.begin(OWNER, operation="a change", key="key", stages=stages)
        with pytest.raises(NotApplied, match=r"undone: The journal of 'x' can't be written"):
            Executor(entry, stages, PlainExplanation()).run()

    assert not any(world.in_effect.values())
    assert journal.read_left() is None

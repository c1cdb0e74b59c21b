"""Outcomes: reading returns what was written."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_connect_offsets.workspace.outcome import Approval, MovedOffset, Outcome, Result

LONGS = st.integers(0, 2**63 - 1)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
MOMENTS = st.datetimes(timezones=st.just(UTC))
OUTCOMES = st.builds(
    Outcome,
    connector=TEXTS,
    run=TEXTS,
    message=TEXTS,
    digest=TEXTS,
    prior_state=st.none() | TEXTS,
    final_state=st.none() | TEXTS,
    downtime_seconds=st.none() | st.floats(0, 1e6),
    started_at=MOMENTS,
    finished_at=MOMENTS,
    warnings=st.lists(TEXTS).map(tuple),
    offsets=st.lists(
        st.builds(
            MovedOffset,
            partition=TEXTS,
            topic=st.none() | TEXTS,
            kafka_partition=st.none() | st.integers(0, 2**31 - 1),
            before=st.none() | TEXTS,
            before_position=st.none() | LONGS,
            after=st.none() | TEXTS,
            after_position=st.none() | LONGS,
            stands=st.none() | TEXTS,
            stands_position=st.none() | LONGS,
        ),
        max_size=3,
    ).map(tuple),
)


@given(outcome=OUTCOMES)
def test_an_outcome_survives_json(outcome: Outcome) -> None:
    """Every field survives JSON."""
    assert Outcome.from_json(json.loads(json.dumps(outcome.as_json()))) == outcome


def test_where_no_change_has_ended_there_is_no_outcome(tmp_path: Path) -> None:
    """A missing file is None."""
    assert Outcome.read((tmp_path / "outcome.json").as_uri()) is None


def test_results_are_the_words_that_others_read() -> None:
    """Results are stored in files that outlive this version, so their names are fixed."""
    assert [result.value for result in Result] == [
        "applied",
        "unchanged",
        "restored",
        "refused",
        "left_stopped",
        "records_deleted",
        "unknown",
    ]


def test_the_json_of_an_outcome_is_that_of_earlier_versions() -> None:
    """The JSON has the same form as in earlier versions, so this version can read their outcomes."""
    moved = MovedOffset('{"p":1}', "orders", 0, '{"o":1}', 1, '{"o":2}', 2, None, None)
    at = datetime(2026, 1, 31, 12, tzinfo=UTC)
    outcome = Outcome("c", "dag/run", Result.APPLIED, "done", "d1", "RUNNING", None, 1.5, at, at, ("w",), (moved,))
    written = {
        "connector": "c",
        "run": "dag/run",
        "result": "applied",
        "message": "done",
        "digest": "d1",
        "prior_state": "RUNNING",
        "final_state": None,
        "downtime_seconds": 1.5,
        "started_at": "2026-01-31T12:00:00+00:00",
        "finished_at": "2026-01-31T12:00:00+00:00",
        "warnings": ["w"],
        "offsets": [
            {
                "partition": '{"p":1}',
                "topic": "orders",
                "kafka_partition": 0,
                "before": '{"o":1}',
                "before_position": 1,
                "after": '{"o":2}',
                "after_position": 2,
                "stands": None,
                "stands_position": None,
            }
        ],
    }

    assert outcome.as_json() == {**written, "approval": None, "undo": ""}
    assert Outcome.from_json(written) == outcome
    approved = replace(outcome, approval=Approval("Approve", "ada", at, "bob", "d1"))
    assert Outcome.from_json(approved.as_json()) == approved

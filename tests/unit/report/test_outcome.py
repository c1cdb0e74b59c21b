"""Outcomes are read as they were written."""

from __future__ import annotations

import json
from datetime import UTC
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_connect_offsets.workspace.outcome import MovedOffset, Outcome, Result

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

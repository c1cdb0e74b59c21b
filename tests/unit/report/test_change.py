"""The report of a change at each stage of its run, and its heading."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from airflow_provider_connect_offsets.exceptions import DatasetError
from airflow_provider_connect_offsets.offsets.plan import Action
from airflow_provider_connect_offsets.offsets.verdicts import Severity
from airflow_provider_connect_offsets.report import Change, Pending
from airflow_provider_connect_offsets.report.moves import ReadBack
from airflow_provider_connect_offsets.report.standing import Tone
from airflow_provider_connect_offsets.workspace import files
from airflow_provider_connect_offsets.workspace.layout import RunDirectory
from airflow_provider_connect_offsets.workspace.outcome import Result
from tests.support.rows.written import AFTERNOON, NOON, begin, finding, mirror_row, moved, request_for, rewound


def headed(change: Change) -> tuple[str, Tone, bool]:
    """Banner of a run."""
    return change.standing.headline, change.standing.tone, change.standing.applied


def test_a_run_without_a_request_is_none(tmp_path: Path) -> None:
    """A run without a request is an error."""
    with pytest.raises(DatasetError, match=r"request\.json does not exist"):
        Change.read(RunDirectory(tmp_path.as_uri()))


def test_a_request_alone(tmp_path: Path) -> None:
    """The banner says that nothing has been read."""
    change = Change.read(begin(tmp_path).run)

    assert headed(change) == ("Not planned yet", Tone.CALM, False)
    assert change.standing.sentence == "Nothing has been read, stopped or changed."
    assert (change.title, change.moves, change.records_again) == ("Offsets of flow", (), None)


def test_a_snapshot_without_a_plan(tmp_path: Path) -> None:
    """After the snapshot, the connector is known; there is no plan."""
    change = Change.read(begin(tmp_path).snapshot({}).run)

    assert headed(change) == ("Not planned yet", Tone.CALM, False)
    assert change.observed is not None
    assert change.observed.state == "RUNNING"


def test_a_plan_without_its_summary_is_no_plan(tmp_path: Path) -> None:
    """The job removes an older summary first and writes its own last."""
    written = rewound(tmp_path)
    (tmp_path / "summary.json").unlink()

    change = Change.read(written.run)

    assert (change.standing.headline, change.rows, change.verdicts) == ("Not planned yet", (), ())


@pytest.mark.parametrize(
    ("pending", "headline"),
    [
        (None, "Planned, not applied"),
        (Pending.APPROVAL, "Waiting for approval"),
        (Pending.DRY_RUN, "Dry run: nothing was changed"),
    ],
)
def test_a_plan_waits(tmp_path: Path, pending: Pending | None, headline: str) -> None:
    """Only the caller knows the reason; every banner says that the plan is not applied."""
    change = Change.read(rewound(tmp_path).run, pending=pending)

    assert headed(change) == (headline, Tone.CALM, False)


def test_a_plan_with_an_error_is_refused_whatever_it_waits_for(tmp_path: Path) -> None:
    """A plan with errors stops nothing."""
    errors = [finding(Severity.ERROR, "no such topic", rule="unknown_topic")]
    written = begin(tmp_path).snapshot({}).plan([mirror_row(0, 500, 500)], errors)

    for pending in (None, *Pending):
        change = Change.read(written.run, pending=pending)
        assert headed(change) == ("Refused: nothing was changed", Tone.BAD, False)
        assert change.standing.sentence == "The plan has 1 error, so nothing was stopped."


@pytest.mark.parametrize(
    ("result", "headline", "tone"),
    [
        (Result.APPLIED, "Applied", Tone.GOOD),
        (Result.UNCHANGED, "Unchanged: there was nothing to do", Tone.CALM),
        (Result.RESTORED, "Restored: the change was not applied", Tone.BAD),
        (Result.REFUSED, "Refused: nothing was changed", Tone.BAD),
        (Result.LEFT_STOPPED, "LEFT STOPPED: act now", Tone.ALARM),
        (Result.RECORDS_DELETED, "Applied, but records were deleted: check now", Tone.ALARM),
        (Result.UNKNOWN, "UNKNOWN: check now", Tone.ALARM),
    ],
)
def test_each_result_has_its_headline(tmp_path: Path, result: Result, headline: str, tone: Tone) -> None:
    """Only an applied change looks applied; the message is shown unchanged."""
    change = Change.read(rewound(tmp_path).outcome(result, "It happened so.").run)

    assert headed(change) == (headline, tone, result in {Result.APPLIED, Result.RECORDS_DELETED})
    assert change.standing.sentence == "It happened so."


@pytest.mark.parametrize(
    ("prior", "final", "headline", "tone"),
    [
        ("RUNNING", None, "Applied, but the connector is not RUNNING: check now", Tone.ALARM),
        ("PAUSED", "FAILED", "Applied, but the connector is not PAUSED: check now", Tone.ALARM),
        (None, "RUNNING", "Applied, but the connector is not in its prior state: check now", Tone.ALARM),
        (None, None, "Applied; the connector's state is not recorded", Tone.CALM),
        ("STOPPED", "STOPPED", "Applied", Tone.GOOD),
    ],
)
def test_a_connector_that_did_not_come_back_is_no_success(
    tmp_path: Path, prior: str | None, final: str | None, headline: str, tone: Tone
) -> None:
    """If the connector is not back in its prior state, a person must check it."""
    written = rewound(tmp_path).outcome(Result.APPLIED, prior_state=prior, final_state=final)

    assert headed(Change.read(written.run)) == (headline, tone, True)


def test_the_success_of_an_earlier_plan_is_not_this_ones(tmp_path: Path) -> None:
    """A new plan of the run waits again; the outcome of the earlier one is shown separately."""
    written = rewound(tmp_path).outcome(Result.APPLIED)
    again = written.plan([mirror_row(0, 500, 121)], again=379)

    change = Change.read(again.run)

    assert change.standing.headline == "Planned, not applied"
    assert change.outcome is None
    assert change.earlier_outcome is not None
    assert change.earlier_outcome.result is Result.APPLIED


def test_an_outcome_older_than_the_same_plan_is_an_earlier_ones_too(tmp_path: Path) -> None:
    """Two plans may have one digest; then the times decide."""
    written = rewound(tmp_path).outcome(Result.RESTORED, finished_at=NOON - timedelta(seconds=1))

    assert Change.read(written.run).outcome is None


def test_a_new_snapshot_makes_an_outcome_old(tmp_path: Path) -> None:
    """A run that is begun again has no plan."""
    written = rewound(tmp_path).outcome(Result.APPLIED, finished_at=NOON - timedelta(days=1))
    (tmp_path / "summary.json").unlink()

    assert Change.read(written.run).standing.headline == "Not planned yet"


def test_positions_are_those_of_the_stop(tmp_path: Path) -> None:
    """A connector reads on after its plan was made; records are counted from where it was stopped."""
    written = rewound(tmp_path)
    now = moved(written.rows[0], before=650, stands=120)
    change = Change.read(written.outcome(Result.APPLIED, offsets=(now,)).run)

    (move,) = change.moves
    assert (move.before, move.after, move.stored_position, move.read_back) == ("650", "120", "120", ReadBack.REQUESTED)
    assert (move.effect, change.records_again, change.records_never) == ("530 again", 530, 0)
    assert move.log is not None
    assert move.log == range(650)


def test_without_an_end_the_plans_numbers_count(tmp_path: Path) -> None:
    """The plan knows where auto.offset.reset starts; positions alone do not show it."""
    row = mirror_row(0, None, 40, reason="to=offset 40: 60 records again")
    written = begin(tmp_path).snapshot({("flights", 0): (0, 100)}).plan([row], again=60)
    change = Change.read(written.run)

    assert (change.records_again, change.moves[0].effect, change.moves[0].before) == (
        60,
        "60 records again",
        "no offset",
    )


def test_records_outside_of_the_log_are_not_counted(tmp_path: Path) -> None:
    """Records that retention deleted are not delivered again."""
    written = begin(tmp_path).snapshot({("flights", 0): (100, 600)}).plan([mirror_row(0, 500, 20)], again=400)

    (move,) = Change.read(written.run).moves
    assert (move.effect, move.side_of_log) == ("400 again", "before the log start")


def test_the_worst_comes_first(tmp_path: Path) -> None:
    """Errors, then records never delivered, then records delivered again, then names."""
    rows = [
        mirror_row(0, 500, 490),
        mirror_row(1, 500, 100),
        mirror_row(2, 100, 103),
        mirror_row(3, 500, 601),
        mirror_row(4, 500, 500),
        mirror_row(5, 500, 490),
    ]
    errors = [finding(Severity.ERROR, "beyond", rows[3], rule="beyond_log_end")]
    logs = {("flights", number): (0, 600) for number in range(6)}
    change = Change.read(begin(tmp_path).snapshot(logs).plan(rows, errors).run)

    assert [(move.row.kafka_partition, move.effect) for move in change.moves] == [
        (3, "beyond the log end"),
        (2, "3 never"),
        (1, "400 again"),
        (0, "10 again"),
        (5, "10 again"),
    ]


def test_verdicts_come_worst_first_and_partition_2_before_10(tmp_path: Path) -> None:
    """Partition 2 comes before partition 10."""
    found = [
        finding(Severity.INFO, "partition 1", rule="nothing_to_change"),
        finding(Severity.WARNING, "partition 10"),
        finding(Severity.WARNING, "partition 2"),
        finding(Severity.ERROR, "partition 3", rule="unknown_topic"),
    ]
    change = Change.read(begin(tmp_path).snapshot({}).plan([], found).run)

    assert [verdict.message[10:] for verdict in change.verdicts] == ["3", "2", "10", "1"]


def test_offsets_without_positions_are_shown_as_they_are(tmp_path: Path) -> None:
    """Offsets of another family are maps without positions."""
    row = replace(mirror_row(0, None, 1), partition='{"file":"a"}', topic=None, kafka_partition=None, before='{"at":7}')
    set_row = replace(row, after='{"at":1}', after_position=None)
    cleared = replace(row, partition='{"file":"b"}', action=Action.CLEAR, after=None, after_position=None)
    written = begin(tmp_path, request_for(to="clear")).snapshot({}).plan([set_row, cleared])
    first, second = Change.read(written.run).moves

    assert (first.where, first.before, first.after, first.effect) == (
        '{"file":"a"}',
        '{"at":7}',
        '{"at":1}',
        "unknown",
    )
    assert (second.after, second.effect) == ("no offset", "offset removed")


def test_what_was_read_back_is_neither(tmp_path: Path) -> None:
    """A partition with someone else's offset is among the worst."""
    written = rewound(tmp_path)
    lost = moved(written.rows[0], stands=7)
    change = Change.read(written.outcome(Result.LEFT_STOPPED, offsets=(lost,), finished_at=AFTERNOON).run)

    assert change.moves[0].read_back is ReadBack.NEITHER
    assert change.moves[0].is_wrong


def test_a_damaged_summary_is_named(tmp_path: Path) -> None:
    """An unfinished dataset does not count."""
    written = rewound(tmp_path)
    files.write_bytes(written.run.summary, b'{"set": ')

    with pytest.raises(DatasetError, match="is damaged"):
        Change.read(written.run)

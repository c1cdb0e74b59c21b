"""One run at a time on a connector, and a rewind never repeats what an earlier one has delivered."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from airflow_provider_connect_offsets.exceptions import InvalidRequest
from airflow_provider_connect_offsets.operations.connector.turns import Interval, RewindRun, Turns
from airflow_provider_connect_offsets.workspace.fleet import FleetDirectory
from airflow_provider_connect_offsets.workspace.layout import RunDirectory
from airflow_provider_connect_offsets.workspace.outcome import Outcome, Result

DAY = timedelta(days=1)
START = datetime(2026, 1, 1, tzinfo=UTC)


class Story:
    """Runs of one DAG, a day's interval each, from ``START`` on; moments are days after it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.turns = Turns(folder.as_uri(), dag_id="backfill", connector="orders-mirror")

    def run_of(self, day: int, *, topics: str = "", started: float | None = None, cleared: int = 0) -> RewindRun:
        interval = Interval(START + day * DAY, START + (day + 1) * DAY)
        started_at = None if started is None else START + started * DAY
        uri = (self._folder / f"day-{day}").as_uri()
        return RewindRun(f"day-{day}", uri, interval, topics, started_at, cleared)

    def applied(self, run_of: RewindRun, *, at: float, result: Result = Result.APPLIED) -> None:
        """Take the turn and end it."""
        assert self.turns.take(run_of, after=self.turns.newest_turn())
        self.turns.note(run_of)
        _outcome("orders-mirror", at=at, result=result).write(RunDirectory(run_of.run_uri).outcome)

    def delivering(self, run_of: RewindRun) -> str | None:
        turn = self.turns.find_delivering(run_of)
        return None if turn is None else turn.run_id


@pytest.fixture
def story(tmp_path: Path) -> Story:
    return Story(tmp_path)


def test_the_earliest_of_waiting_intervals_delivers_the_others(story: Story) -> None:
    """Those that had ended when it was applied; an interval that ended later has more records since."""
    story.applied(story.run_of(0), at=2.5)

    assert story.delivering(story.run_of(1)) == "day-0"
    assert story.delivering(story.run_of(2)) is None


@pytest.mark.parametrize("result", [Result.RESTORED, Result.REFUSED, Result.LEFT_STOPPED, Result.UNKNOWN])
def test_what_was_not_applied_delivers_nothing(story: Story, result: Result) -> None:
    """The next run then rewinds by itself."""
    story.applied(story.run_of(0), at=2.5, result=result)

    assert story.delivering(story.run_of(1)) is None


def test_a_later_interval_or_other_topics_deliver_nothing(story: Story) -> None:
    """Only a rewind to the begin of an interval or before, of the same topics, delivers all of it."""
    story.applied(story.run_of(1), at=9)
    story.applied(story.run_of(0, topics="orders"), at=9)

    assert story.delivering(story.run_of(0)) is None
    assert story.delivering(story.run_of(0, topics="payments")) is None


def test_what_is_requested_again_is_delivered_again(story: Story) -> None:
    """A run that is cleared after a rewind has delivered its interval requests another one."""
    story.applied(story.run_of(0), at=2.5)
    assert story.delivering(story.run_of(1)) == "day-0"
    story.turns.note(story.run_of(1))

    assert story.delivering(story.run_of(1)) == "day-0"  # its retry
    assert story.delivering(story.run_of(1, cleared=1, started=4)) is None
    assert story.delivering(replace(story.run_of(1, started=4), run_id="by hand")) is None


def test_several_that_are_requested_again_wait_for_the_earliest(story: Story) -> None:
    """As long as they were started before it was applied."""
    for day in (0, 1):
        story.applied(story.run_of(day), at=day + 1.1)
    story.applied(story.run_of(0, cleared=1), at=5)

    assert story.delivering(story.run_of(1, cleared=1, started=4.9)) == "day-0"


def test_one_turn_is_taken_once(story: Story) -> None:
    """Of two runs that observed the same last turn, one gets the next."""
    story.applied(story.run_of(0), at=1.1)
    newest = story.turns.newest_turn()

    assert [story.turns.take(story.run_of(day), after=newest) for day in (1, 2)] == [True, False]
    taken = story.turns.newest_turn()
    assert taken
    assert (taken.number, taken.run_id) == (2, "day-1")


def test_a_cleared_run_has_no_turn_any_more(story: Story) -> None:
    """It takes another one, as others may wait by now; its retry keeps the turn that it has."""
    run_of = story.run_of(0)
    story.applied(run_of, at=1.1)
    taken = story.turns.newest_turn()

    assert taken
    assert taken.is_of(run_of)
    assert not taken.is_of(story.run_of(0, cleared=1))
    assert not taken.is_of(story.run_of(1))
    assert not taken.ended

    story.turns.end(taken)

    ended = story.turns.newest_turn()
    assert ended == replace(taken, ended=True)
    assert story.turns.take(story.run_of(1), after=ended)
    assert [turn.ended for turn in [story.turns.newest_turn()] if turn] == [False]


@pytest.mark.parametrize(("begins", "ends"), [(None, None), (START, START), (START + DAY, START)])
def test_a_run_without_an_interval_is_refused(begins: datetime | None, ends: datetime | None) -> None:
    """Airflow 3 gives no data interval to a cron expression; the error names what to write instead."""
    with pytest.raises(InvalidRequest, match=r"^Nothing was changed: .*CronDataIntervalTimetable"):
        Interval.parse(begins, ends)


def test_never_further_back_than_allowed() -> None:
    """The limit is exact to the second; a string that is not a duration is refused, too."""
    interval = Interval.parse(START, START + DAY)

    interval.refuse_further_than("P2D", now=START + 2 * DAY)
    with pytest.raises(InvalidRequest, match=r"^Nothing was changed: the interval begins at 2026-01-01T00:00:00"):
        interval.refuse_further_than("P2D", now=START + 2 * DAY + timedelta(seconds=1))
    with pytest.raises(InvalidRequest, match="max_rewind: '2 days' is not an ISO 8601 duration"):
        interval.refuse_further_than("2 days", now=START)


def test_a_fleet_has_rewound_when_all_its_connectors_have(tmp_path: Path) -> None:
    """One that failed keeps the interval undelivered, and so does another pattern."""
    story = Story(tmp_path)
    fleet = Turns(tmp_path.as_uri(), dag_id="backfill", connector="")
    run_of = replace(story.run_of(0), connectors="orders-.*")
    directory = FleetDirectory(run_of.run_uri)
    assert fleet.take(run_of, after=None)
    later = replace(story.run_of(1), connectors="orders-.*")
    assert fleet.find_delivering(later) is None

    directory.publish(["a", "b"])
    for number, name in enumerate(("a", "b")):
        assert fleet.find_delivering(later) is None
        _outcome(name, at=2.5 + number).write(directory.member(name).outcome)

    assert fleet.find_delivering(later) == fleet.newest_turn()
    assert fleet.find_delivering(replace(later, connectors=".*")) is None
    _outcome("b", at=3, result=Result.RESTORED).write(directory.member("b").outcome)
    assert fleet.find_delivering(later) is None


def test_a_fleet_and_a_single_connector_see_each_other_and_replays_are_apart(tmp_path: Path) -> None:
    """So that no two runs rewind one connector; a replay rewinds none."""
    story = Story(tmp_path)
    root = tmp_path.as_uri()
    fleet, replays = (
        Turns(root, dag_id="backfill", connector=name, replay=bool(name)) for name in ("", "orders-mirror")
    )
    assert story.turns.take(story.run_of(0), after=None)
    assert fleet.take(replace(story.run_of(1), connectors=".*"), after=None)
    assert replays.take(story.run_of(2), after=None)

    assert [turn.run_id for turn in fleet.other_turns()] == ["day-0"]
    assert [turn.run_id for turn in story.turns.other_turns()] == ["day-1"]
    assert replays.other_turns() == []


def _outcome(connector: str, *, at: float, result: Result = Result.APPLIED) -> Outcome:
    moment = START + at * DAY
    return Outcome(
        connector=connector,
        run="backfill/run",
        result=result,
        message="",
        digest="",
        prior_state=None,
        final_state=None,
        downtime_seconds=None,
        started_at=moment,
        finished_at=moment,
        warnings=(),
        offsets=(),
    )

"""The journal: who holds a connector, and what a dead holder leaves to the next."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_connect_offsets.change.journal import Journal
from airflow_provider_connect_offsets.change.lease import DEAD_AFTER, Owner
from airflow_provider_connect_offsets.change.log_positions import LogPosition
from airflow_provider_connect_offsets.change.record import Phase, Record, moment
from airflow_provider_connect_offsets.exceptions import JournalDamaged, Overlap
from airflow_provider_connect_offsets.offsets.document import Entry, Offsets
from airflow_provider_connect_offsets.stores.clock import Clock
from airflow_provider_connect_offsets.stores.protocols import State
from airflow_provider_connect_offsets.workspace import files

ELSEWHERE = "another-host"
NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)
OFFSETS = Offsets.of([Entry('{"kafka_partition":0,"kafka_topic":"t"}', '{"kafka_offset":7}')])


class Time:
    """A wall clock that stands until it is moved, and one that goes on only as somebody sleeps."""

    def __init__(self) -> None:
        self.now = 1_000_000.0
        self.slept = 0.0

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept += seconds

    @property
    def clock(self) -> Clock:
        return Clock(lambda: self.slept, self.sleep)


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
def journal(tmp_path: Path, time: Time) -> Journal:
    return Journal(tmp_path.as_uri(), cluster="c", connector="a sink/ü", wall=time, clock=time.clock)


@pytest.mark.parametrize("connector", ["c" * 300, "..", "."])
def test_any_name_of_a_connector_has_a_journal(tmp_path: Path, connector: str) -> None:
    """Connect sets no limit to names; a journal's own directory never has to bear one of them as it is."""
    root = tmp_path / "workspace" / "_journal"
    journal = Journal(root.as_uri(), cluster="c", connector=connector)

    with journal.claim(Owner.here(run="run", task="apply")) as entry:
        assert entry.number == 1

    assert journal.record(1) is not None
    assert [path.parent.parent for path in tmp_path.rglob("*.json")] == [root / "c"] * 2


def test_only_one_of_many_gets_hold_of_a_connector(tmp_path: Path) -> None:
    """However many ask at the same moment."""
    ready, held, refused = threading.Barrier(8), [], []
    let_go = threading.Event()

    def ask(number: int) -> None:
        mine = Journal(tmp_path.as_uri(), cluster="c", connector="x")
        ready.wait()
        try:
            with mine.claim(Owner.here(run=f"run-{number}", task="apply")):
                held.append(number)
                let_go.wait(30)
        except Overlap as error:
            refused.append(str(error))
            if len(refused) == 7:
                let_go.set()

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(held) == 1
    assert [error for error in refused if f"'run-{held[0]}'" not in error] == []


def test_another_run_is_refused_and_the_first_is_named(journal: Journal) -> None:
    """The second fails at once."""
    with (
        journal.claim(Owner.here(run="dag/first", task="apply")),
        pytest.raises(Overlap, match=r"'a sink/ü' is being changed by run 'dag/first' \(task apply\)"),
        journal.claim(Owner.here(run="dag/second", task="apply")),
    ):
        pass


def test_a_finished_change_lets_the_next_one_in(journal: Journal) -> None:
    """Its record is kept, and the next generation begins with none of it."""
    first, second = Owner.here(run="dag/1", task="apply"), Owner.here(run="dag/2", task="apply")
    with journal.claim(first) as entry:
        entry.note(Phase.APPLIED, prior_offsets=OFFSETS)

    with journal.claim(second) as entry:
        assert entry.record == Record("a sink/ü", second)
    assert journal.newest() == 2
    kept = journal.record(1)
    assert kept is not None
    assert kept.prior_offsets == OFFSETS


def test_a_failed_change_lets_the_next_one_in(journal: Journal) -> None:
    """At once, from whatever process."""
    with pytest.raises(OSError, match="on purpose"), journal.claim(Owner("dag/1", "apply", ELSEWHERE, 1)):
        raise OSError("on purpose")

    with journal.claim(Owner.here(run="dag/2", task="apply")) as entry:
        assert entry.number == 2


def test_a_change_is_found_again_behind_those_who_only_looked_and_those_who_came_after(journal: Journal) -> None:
    """However many attempts and other runs there were since, a retry learns that its change had been applied."""
    mine, other = Owner.here(run="dag/1", task="apply"), Owner.here(run="dag/2", task="apply")
    with journal.claim(mine) as entry:
        entry.note(Phase.APPLIED, digest="mine", observed_at=moment(NOON))
    for _attempt in range(2):
        with journal.claim(mine):
            pass
    with journal.claim(other) as entry:
        entry.note(Phase.APPLIED, digest="other", observed_at=moment(NOON))

    found = journal.record_of("dag/1", "mine", observed_at=NOON)

    assert found is not None
    assert found.phase is Phase.APPLIED
    assert journal.record_of("dag/1", "other", observed_at=NOON) is None
    assert journal.record_of("dag/2", "mine", observed_at=NOON) is None


def test_a_plan_that_a_cleared_run_has_made_again_is_not_applied_yet(journal: Journal) -> None:
    """It has the same digest, where everything stands again as it did; what counts is what it was made from."""
    mine = Owner.here(run="dag/1", task="apply")
    with journal.claim(mine) as entry:
        entry.note(Phase.APPLIED, digest="mine", observed_at=moment(NOON))

    assert journal.record_of("dag/1", "mine", observed_at=NOON) is not None
    assert journal.record_of("dag/1", "mine", observed_at=NOON + timedelta(seconds=9)) is None


def test_how_a_dead_change_was_settled_is_kept_with_it(journal: Journal, time: Time) -> None:
    """Whoever settles it goes on with a change of their own, and the dead one's retry still finds how it ended."""
    _leave(journal, Owner("dag/dead", "apply", ELSEWHERE, 1))
    time.now += DEAD_AFTER + 1

    with journal.claim(Owner.here(run="dag/next", task="apply")) as entry:
        entry.note(Phase.APPLIED)
        entry.begin(Owner.here(run="dag/next", task="apply"))

    settled = journal.record_of("dag/dead", "left", observed_at=NOON)
    assert settled is not None
    assert settled.phase is Phase.APPLIED


def test_a_death_before_the_first_note_hides_nothing(journal: Journal, time: Time) -> None:
    """Its generation has a lease and no record; what the one before left unfinished is still found."""
    _leave(journal, Owner("dag/first", "apply", ELSEWHERE, 1))
    lease = files.read_bytes(journal.file(1, "lease"))
    assert lease is not None
    files.write_bytes(journal.file(2, "lease"), lease)
    time.now += DEAD_AFTER + 1

    with journal.claim(Owner.here(run="dag/next", task="apply")) as entry:
        assert (entry.record.owner.run, entry.record.phase) == ("dag/first", Phase.ALTERING)


def test_what_a_dead_process_left_is_found_at_once_on_its_own_machine(journal: Journal) -> None:
    """Its process is gone, so nobody has to wait for its lease to run out."""
    dead = _dead_owner()
    _leave(journal, dead)

    with journal.claim(Owner.here(run="dag/next", task="apply")) as entry:
        assert entry.record.owner == dead
        assert entry.record.phase is Phase.ALTERING


def test_what_a_dead_process_left_elsewhere_is_found_when_its_lease_has_run_out(journal: Journal, time: Time) -> None:
    """Until then it may be alive."""
    _leave(journal, Owner("dag/dead", "apply", ELSEWHERE, 1))
    time.now += DEAD_AFTER - 1
    with pytest.raises(Overlap), journal.claim(Owner.here(run="dag/next", task="apply")):
        pass
    time.now += 2

    with journal.claim(Owner.here(run="dag/next", task="apply")) as entry:
        assert entry.record.phase is Phase.ALTERING


def test_left_overs_survive_a_second_death(journal: Journal, time: Time) -> None:
    """The one who took over died too, before it had done anything: the third still finds what the first left."""
    _leave(journal, Owner("dag/first", "apply", ELSEWHERE, 1))
    time.now += DEAD_AFTER + 1
    with journal.claim(Owner.here(run="dag/second", task="apply")):
        pass

    with journal.claim(Owner.here(run="dag/third", task="apply")) as entry:
        assert (entry.record.owner.run, entry.record.phase) == ("dag/first", Phase.ALTERING)


def test_whoever_was_taken_over_may_not_go_on(journal: Journal, time: Time) -> None:
    """A process that slept through its lease finds out at its next note, before it does anything more."""
    sleeper = Owner("dag/sleeper", "apply", ELSEWHERE, 1)
    with journal.claim(sleeper) as entry:
        time.now += DEAD_AFTER + 1
        with journal.claim(Owner.here(run="dag/next", task="apply")):
            pass

        with pytest.raises(Overlap, match="'a sink/ü' was taken over by run 'dag/next'"):
            entry.note(Phase.ALTERING)


def test_a_hold_is_kept_for_the_next_task_of_the_run_and_no_other(journal: Journal, time: Time) -> None:
    """Single-step changes hold a connector from task to task."""
    begin, alter = Owner.here(run="dag/steps", task="begin"), Owner.here(run="dag/steps", task="alter")
    journal.hold(begin, seconds=100).note(Phase.STOPPING, prior_state=State.PAUSED)

    with pytest.raises(Overlap, match="dag/steps"):
        journal.refuse_overlap("dag/other")
    with (
        pytest.raises(Overlap, match="not held by this run"),
        journal.held(Owner.here(run="dag/other", task="alter"), seconds=100),
    ):
        pass
    with journal.held(alter, seconds=100) as entry:
        assert entry.record.prior_state is State.PAUSED

    time.now += 101
    journal.refuse_overlap("dag/other")
    with pytest.raises(Overlap, match="not held by this run"), journal.held(alter, seconds=100):
        pass


@pytest.mark.parametrize("name", ["record", "lease"])
@pytest.mark.parametrize("content", [b"", b'{"connector"', b"[]", b'{"phase": "unheard of"}'])
def test_a_damaged_journal_stops_every_change(journal: Journal, time: Time, name: str, content: bytes) -> None:
    """What can't be read is never taken for nothing; the error names the file, and moving it away helps."""
    _leave(journal, Owner("dag/dead", "apply", ELSEWHERE, 1))
    time.now += DEAD_AFTER + 1
    files.write_bytes(journal.file(1, name), content)

    for _attempt in range(2):
        with (
            pytest.raises(JournalDamaged, match=rf"'a sink/ü' is damaged.*000001\.{name}\.json.*move that file away"),
            journal.claim(Owner.here(run="dag/next", task="apply")),
        ):
            pass
    assert journal.newest() == 1

    files.remove_tree(journal.file(1, name))
    with journal.claim(Owner.here(run="dag/next", task="apply")):
        pass


@given(
    phase=st.sampled_from(Phase),
    state=st.none() | st.sampled_from([State.RUNNING, State.PAUSED, State.STOPPED]),
    offsets=st.none() | st.just(OFFSETS) | st.just(Offsets.of([Entry('{"a":"ü"}', None)])),
    number=st.none() | st.integers(0, 9),
)
def test_a_record_survives_its_json(
    phase: Phase, state: State | None, offsets: Offsets | None, number: int | None
) -> None:
    """What was noted is what is read."""
    record = Record("x", Owner("r", "t", "h", 1), phase, "d", state, number, offsets, offsets)
    positions = (LogPosition("orders", 0, number, 7, 3), LogPosition("orders", 1, None, number, 0))
    looked_at = replace(record, positions=positions, deleted="records 7 to 8 are gone")

    assert Record.from_json(looked_at.as_json()) == looked_at
    of_before = {name: value for name, value in record.as_json().items() if name not in {"positions", "deleted"}}
    assert Record.from_json(of_before) == record, "an older version wrote it"


def _dead_owner() -> Owner:
    """A process of this machine that has ended."""
    program = (
        "import dataclasses, json; from airflow_provider_connect_offsets.change.lease import Owner; "
        "print(json.dumps(dataclasses.asdict(Owner.here(run='dag/dead', task='apply'))))"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    return Owner(**json.loads(ended.stdout))


def _leave(journal: Journal, owner: Owner) -> None:
    """What a process leaves that is killed while it alters: an unfinished record, and a lease that nobody renews."""
    entry = journal._claim(owner, 0)
    known = {"digest": "left", "observed_at": moment(NOON)}
    entry.note(Phase.ALTERING, **known, prior_state=State.RUNNING, prior_offsets=OFFSETS, changes=OFFSETS)

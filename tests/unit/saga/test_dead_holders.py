"""What a dead holder of a lease leaves to the next process."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_provider_connect_offsets.exceptions import Overlap
from airflow_provider_connect_offsets.saga.journal import Journal
from airflow_provider_connect_offsets.saga.lease import DEAD_AFTER, Owner
from airflow_provider_connect_offsets.saga.record import SagaRecord, SagaState
from airflow_provider_connect_offsets.workspace import files
from tests.support.faults.dead_holders import ELSEWHERE, Time, dead_owner, leave

OTHER = Owner("dag/other", "apply", ELSEWHERE, 2)


def test_how_a_dead_change_was_settled_is_kept_with_it(journal: Journal, time: Time) -> None:
    """The process that settles it makes its own change then, and the dead one's retry still finds how it ended."""
    leave(journal, Owner("dag/dead", "apply", ELSEWHERE, 1))
    time.now += DEAD_AFTER + 1

    with journal.claim(Owner.here(run="dag/next", task="apply")) as entry:
        entry.note(SagaState.DONE)
        entry.begin(Owner.here(run="dag/next", task="apply"), operation="a change", key="next", stages=())

    settled = journal.record_of("dag/dead", "left")
    assert settled is not None
    assert settled.state is SagaState.DONE


def test_a_death_before_the_first_note_hides_nothing(journal: Journal, time: Time) -> None:
    """Its generation has a lease and no record; what the previous one left unfinished is still found."""
    leave(journal, Owner("dag/first", "apply", ELSEWHERE, 1))
    lease = files.read_bytes(journal.file(1, "lease"))
    assert lease is not None
    files.write_bytes(journal.file(2, "lease"), lease)
    time.now += DEAD_AFTER + 1

    with journal.claim(Owner.here(run="dag/next", task="apply")) as entry:
        assert (entry.record.owner.run, entry.record.state) == ("dag/first", SagaState.FORWARD)


def test_what_a_dead_process_left_is_found_at_once_on_its_own_machine(journal: Journal) -> None:
    """Its process is gone, so its lease need not run out."""
    dead = dead_owner()
    leave(journal, dead)

    with journal.claim(Owner.here(run="dag/next", task="apply")) as entry:
        assert entry.record.owner == dead
        assert entry.record.state is SagaState.FORWARD


def test_what_a_dead_process_left_elsewhere_is_found_when_its_lease_has_run_out(journal: Journal, time: Time) -> None:
    """Until then it may be alive."""
    leave(journal, Owner("dag/dead", "apply", ELSEWHERE, 1))
    time.now += DEAD_AFTER - 1
    with pytest.raises(Overlap), journal.claim(Owner.here(run="dag/next", task="apply")):
        pass
    time.now += 2

    with journal.claim(Owner.here(run="dag/next", task="apply")) as entry:
        assert entry.record.state is SagaState.FORWARD


def test_left_overs_survive_a_second_death(journal: Journal, time: Time) -> None:
    """The process that took over died too, before it had done anything: the third still finds what the first left."""
    leave(journal, Owner("dag/first", "apply", ELSEWHERE, 1))
    time.now += DEAD_AFTER + 1
    with journal.claim(Owner.here(run="dag/second", task="apply")):
        pass

    with journal.claim(Owner.here(run="dag/third", task="apply")) as entry:
        assert (entry.record.owner.run, entry.record.state) == ("dag/first", SagaState.FORWARD)


def test_a_process_that_was_taken_over_may_not_continue(journal: Journal, time: Time) -> None:
    """A process that slept through its lease finds out at its next note, before it does anything more."""
    sleeper = Owner("dag/sleeper", "apply", ELSEWHERE, 1)
    with journal.claim(sleeper) as entry:
        time.now += DEAD_AFTER + 1
        with journal.claim(Owner.here(run="dag/next", task="apply")):
            pass

        with pytest.raises(Overlap, match="'a sink/ü' was taken over by run 'dag/next'"):
            entry.note(SagaState.FORWARD)


def test_what_a_saga_of_several_resources_left_is_not_hidden_from_any(tmp_path: Path, time: Time) -> None:
    """Only its home's journal can settle it; the error of another resource names what to run."""
    home, other = (
        Journal(tmp_path.as_uri(), cluster="c", resource=name, wall=time, age=time.age, clock=time.clock)
        for name in ("a", "b")
    )
    mine, next_one = Owner("dag/1", "apply", ELSEWHERE, 1), Owner.here(run="dag/2", task="apply")
    with home.claim(mine, others=[other]) as entry:
        entry.begin(mine, operation="the reset", key="left", stages=())
        entry.note(SagaState.FORWARD)

    with pytest.raises(Overlap, match="the reset by run 'dag/1' ended unfinished, and 'b'"), other.claim(next_one):
        pass
    with home.claim(next_one, others=[other]) as entry:
        assert entry.record.key == "left"
        entry.note(SagaState.UNDONE)
    with other.claim(next_one) as entry:
        assert entry.record == SagaRecord("b", next_one)


def test_the_dead_are_watched_once(tmp_path: Path, time: Time) -> None:
    """However many resources a saga of another machine has left: the process that took its home over waits once."""
    home, *beside = (
        Journal(tmp_path.as_uri(), cluster="c", resource=f"c{number}", wall=time, age=time.age, clock=time.clock)
        for number in range(20)
    )
    dead = Owner("dag/dead", "apply", ELSEWHERE, 1)
    home._claim_others(home._claim(dead, 0), dead, beside, 0)
    time.now += DEAD_AFTER + 1

    with home.claim(OTHER, others=beside):
        assert DEAD_AFTER <= time.slept < 2 * DEAD_AFTER
    for journal in beside:
        assert journal.newest_generation() == 2


def test_a_saga_does_not_hide_what_was_left_of_one_of_its_resources(tmp_path: Path, time: Time) -> None:
    """A change of the other connector that died has to be settled in its own journal first."""
    home, other = (
        Journal(tmp_path.as_uri(), cluster="c", resource=name, wall=time, age=time.age, clock=time.clock)
        for name in ("a", "b")
    )
    leave(other, Owner("dag/dead", "apply", ELSEWHERE, 1))
    time.now += DEAD_AFTER + 1

    with (
        pytest.raises(Overlap, match="'b' is part of what it left unfinished"),
        home.claim(Owner.here(run="dag/2", task="apply"), others=[other]),
    ):
        pass
    with other.claim(Owner.here(run="dag/3", task="apply")) as entry:
        assert entry.record.state is SagaState.FORWARD

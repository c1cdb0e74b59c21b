"""The journal: which run has a connector's lease, and which records are kept."""

from __future__ import annotations

import json
import threading
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_connect_offsets import disk
from airflow_provider_connect_offsets.exceptions import JournalDamaged, JournalLost, Overlap
from airflow_provider_connect_offsets.offsets.plan import OffsetPlan
from airflow_provider_connect_offsets.offsets.requests.request import Request
from airflow_provider_connect_offsets.operations.connector.outcomes import key_of
from airflow_provider_connect_offsets.saga.entry import JournalEntry
from airflow_provider_connect_offsets.saga.journal import Journal
from airflow_provider_connect_offsets.saga.lease import DEAD_AFTER, Owner
from airflow_provider_connect_offsets.saga.record import Progress, SagaRecord, SagaState, StageRecord
from airflow_provider_connect_offsets.workspace import files
from tests.support.faults.dead_holders import ELSEWHERE, STAGE, Time, leave

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)


@pytest.mark.parametrize("connector", ["c" * 300, "..", "."])
def test_any_name_of_a_connector_has_a_journal(tmp_path: Path, connector: str) -> None:
    """Connect allows any name; a journal's directory never has such a name as it is."""
    root = tmp_path / "workspace" / "_journal"
    journal = Journal(root.as_uri(), cluster="c", resource=connector)

    with journal.claim(Owner.here(run="run", task="apply")) as entry:
        assert entry.number == 1

    assert journal.record(1) is not None
    assert [path.parent.parent for path in tmp_path.rglob("*.json")] == [root / "c"] * 2


def test_only_one_of_many_gets_the_lease(tmp_path: Path) -> None:
    """Eight threads request it at the same moment."""
    ready, holders, refused = threading.Barrier(8), [], []
    let_go = threading.Event()

    def ask(number: int) -> None:
        mine = Journal(tmp_path.as_uri(), cluster="c", resource="x")
        ready.wait()
        try:
            with mine.claim(Owner.here(run=f"run-{number}", task="apply")):
                holders.append(number)
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

    assert len(holders) == 1
    assert [error for error in refused if f"'run-{holders[0]}'" not in error] == []


def test_another_run_is_refused_and_the_first_is_named(journal: Journal) -> None:
    """The second fails at once."""
    with (
        journal.claim(Owner.here(run="dag/first", task="apply")),
        pytest.raises(Overlap, match=r"'a sink/ü' is being changed by run 'dag/first' \(task apply\)"),
        journal.claim(Owner.here(run="dag/second", task="apply")),
    ):
        pass


def test_a_process_that_can_not_write_its_first_record_leaves_no_lease(
    journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its lease exists already, and nothing else would end it early."""
    write, owner = disk.replace, Owner.here(run="dag/first", task="apply")

    def publish(path: Path, content: bytes, **how: Any) -> None:
        if path.name.endswith(".record.json"):
            raise OSError(30, "Read-only file system", str(path))
        write(path, content, **how)

    with monkeypatch.context() as patched:
        patched.setattr(disk, "replace", publish)
        with pytest.raises(JournalLost), journal.claim(owner):
            pass

    with journal.claim(Owner.here(run="dag/second", task="apply")) as entry:
        assert entry.record.owner.run == "dag/second"


def test_a_finished_change_lets_the_next_one_in(journal: Journal) -> None:
    """Its record is kept, and the next generation begins with an empty one."""
    first, second = Owner.here(run="dag/1", task="apply"), Owner.here(run="dag/2", task="apply")
    with journal.claim(first) as entry:
        entry.write(replace(entry.record, state=SagaState.DONE, stages=(STAGE,)))

    with journal.claim(second) as entry:
        assert entry.record == SagaRecord("a sink/ü", second)
    assert journal.newest_generation() == 2
    kept = journal.record(1)
    assert kept is not None
    assert kept.stages == (STAGE,)


def test_a_failed_change_lets_the_next_one_in(journal: Journal) -> None:
    """The next change may claim it at once, from any process."""
    with pytest.raises(OSError, match="on purpose"), journal.claim(Owner("dag/1", "apply", ELSEWHERE, 1)):
        raise OSError("on purpose")

    with journal.claim(Owner.here(run="dag/2", task="apply")) as entry:
        assert entry.number == 2


def test_a_change_is_found_again_behind_later_generations(journal: Journal) -> None:
    """However many attempts and other runs there were since, a retry finds that its change was applied."""
    mine, other = Owner.here(run="dag/1", task="apply"), Owner.here(run="dag/2", task="apply")
    with journal.claim(mine) as entry:
        _end(entry, mine, "mine")
    for _attempt in range(2):
        with journal.claim(mine):
            pass
    with journal.claim(other) as entry:
        _end(entry, other, "other")

    found = journal.record_of("dag/1", "mine")

    assert found is not None
    assert found.state is SagaState.DONE
    assert journal.record_of("dag/1", "other") is None
    assert journal.record_of("dag/2", "mine") is None


def test_a_plan_that_a_cleared_run_has_made_again_is_not_applied_yet() -> None:
    """It may have the same digest; what counts is the observation that it was made from."""
    request = Request.parse(connector="x", to="earliest", value="", now=NOON)
    plans = [OffsetPlan.of(request, [], observed_at=NOON + timedelta(seconds=late)) for late in (0, 9)]

    assert plans[0].digest == plans[1].digest
    assert key_of(plans[0]) != key_of(plans[1])


def test_a_lease_is_kept_for_the_next_task_of_the_run_and_no_other(journal: Journal, time: Time) -> None:
    """Single-step changes have a connector's lease from task to task."""
    begin, alter = Owner.here(run="dag/steps", task="begin"), Owner.here(run="dag/steps", task="alter")
    with journal.claim(begin, keep=100) as claimed:
        claimed.write(replace(claimed.record, state=SagaState.FORWARD, stages=(STAGE,)))

    with pytest.raises(Overlap, match="dag/steps"):
        journal.refuse_overlap("dag/other")
    with (
        pytest.raises(Overlap, match="this run no longer has the lease"),
        journal.continue_lease(Owner.here(run="dag/other", task="alter"), seconds=100),
    ):
        pass
    with journal.continue_lease(alter, seconds=100) as entry:
        assert entry.record.stages == (STAGE,)

    time.now += 3601
    journal.refuse_overlap("dag/other")
    with journal.continue_lease(alter, seconds=100) as entry:
        assert entry.record.stages == (STAGE,), "its generation is the newest, however old its lease is"

    time.now += 101
    with journal.claim(Owner.here(run="dag/other", task="apply")) as other:
        other.note(SagaState.UNDONE)
    with pytest.raises(Overlap, match="this run no longer has the lease"), journal.continue_lease(alter, seconds=100):
        pass


@pytest.mark.parametrize("name", ["record", "lease"])
@pytest.mark.parametrize("content", [b"", b'{"connector"', b"[]", b'{"phase": "unheard of"}'])
def test_a_damaged_journal_stops_every_change(journal: Journal, time: Time, name: str, content: bytes) -> None:
    """A file that can't be read is never taken for a missing one; the error names it, and moving it away helps."""
    leave(journal, Owner("dag/dead", "apply", ELSEWHERE, 1))
    time.now += DEAD_AFTER + 1
    files.write_bytes(journal.file(1, name), content)

    for _attempt in range(2):
        with (
            pytest.raises(JournalDamaged, match=rf"'a sink/ü' is damaged.*000001\.{name}\.json.*move that file away"),
            journal.claim(Owner.here(run="dag/next", task="apply")),
        ):
            pass
    assert journal.newest_generation() == 1

    files.remove_tree(journal.file(1, name))
    with journal.claim(Owner.here(run="dag/next", task="apply")):
        pass


def test_a_saga_of_several_resources_has_one_lease(tmp_path: Path, time: Time) -> None:
    """The error for any of them names the run that has the lease; after its end all are free."""
    made = [
        Journal(tmp_path.as_uri(), cluster="c", resource=name, wall=time, age=time.age, clock=time.clock)
        for name in ("a", "b", "c")
    ]
    home, *beside = made
    mine, other = Owner("dag/1", "apply", ELSEWHERE, 1), Owner("dag/2", "apply", ELSEWHERE, 2)

    with home.claim(mine, others=beside):
        for journal in made:
            with pytest.raises(Overlap, match="being changed by run 'dag/1'"), journal.claim(other):
                pass

    for journal in made:
        with journal.claim(other):
            pass


@pytest.mark.parametrize("first", ["one name", "both names"])
def test_a_cluster_with_two_names_has_one_lease_of_a_resource(tmp_path: Path, time: Time, first: str) -> None:
    """Those who know both names exclude those who know either."""
    root = tmp_path.as_uri()
    resource = Journal(root, cluster="connect.kafka.1a2b", resource="a", wall=time, age=time.age, clock=time.clock)
    worker = Journal(root, cluster="c", resource="a", wall=time, age=time.age, clock=time.clock)
    both = Journal(
        root, cluster="c", resource="a", also="connect.kafka.1a2b", wall=time, age=time.age, clock=time.clock
    )
    mine, other = Owner("dag/1", "apply", ELSEWHERE, 1), Owner("dag/2", "apply", ELSEWHERE, 2)
    tries = (
        [(resource, [both])] if first == "one name" else [(both, [resource, worker, worker.journal_of_sibling("a")])]
    )

    for held, refused in tries:
        with held.claim(mine):
            for journal in refused:
                with pytest.raises(Overlap, match="'a' is being changed by run 'dag/1'"), journal.claim(other):
                    pass
                with pytest.raises(Overlap, match="'a' is being changed by run 'dag/1'"):
                    journal.refuse_overlap("dag/2")
        for journal in refused:
            journal.refuse_overlap("dag/2")
            with journal.claim(other):
                pass
    with (
        both.journal_of_sibling("b").claim(mine),
        pytest.raises(Overlap),
        resource.journal_of_sibling("b").claim(other),
    ):
        pass


def test_what_a_dead_run_has_left_under_the_other_name_is_not_passed_over(tmp_path: Path, time: Time) -> None:
    """It can be settled only by a run that reaches the cluster as the dead one did; the error says so."""
    root, dead = tmp_path.as_uri(), Owner("dag/dead", "apply", ELSEWHERE, 1)
    resource = Journal(root, cluster="connect.kafka.1a2b", resource="a", wall=time, age=time.age, clock=time.clock)
    both = Journal(
        root, cluster="c", resource="a", also="connect.kafka.1a2b", wall=time, age=time.age, clock=time.clock
    )
    for left, other in ((resource, both), (both, resource)):
        with left.claim(dead) as entry:
            entry.begin(dead, operation="the change of offsets", key=left.uri, stages=())
            entry.note(SagaState.FORWARD)
        with (
            pytest.raises(Overlap, match="by run 'dag/dead' ended unfinished"),
            other.claim(Owner.here(run="2", task="t")),
        ):
            pass
        with left.claim(dead) as entry:
            entry.note(SagaState.DONE)


@given(
    state=st.sampled_from(SagaState),
    progress=st.sampled_from(Progress),
    captured=st.dictionaries(st.text(), st.none() | st.integers() | st.text() | st.lists(st.booleans())),
)
def test_a_record_survives_its_json(state: SagaState, progress: Progress, captured: dict[str, object]) -> None:
    """What was noted is what is read."""
    stage = StageRecord("stop", "ü", "c", {"optional": True}, progress, captured, {"deleted": "none"})
    record = SagaRecord("x", Owner("r", "t", "h", 1), state, "a change", "key", (stage, STAGE))

    assert SagaRecord.from_json(json.loads(files.to_json(record.as_json()))) == record


def _end(entry: JournalEntry, owner: Owner, key: str) -> None:
    entry.begin(owner, operation="a change", key=key, stages=())
    entry.note(SagaState.DONE)

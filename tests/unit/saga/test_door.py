"""The door: who goes forward, who undoes, what an earlier attempt has made already, and who may change anything."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_connect_offsets.exceptions import DatasetError, Drift, NotApplied, Overlap, UnknownFormat
from airflow_provider_connect_offsets.fencing import ask
from airflow_provider_connect_offsets.saga import Explanation, Operation, Registry, Stage, operate, settle
from airflow_provider_connect_offsets.saga.explanation import Settled
from airflow_provider_connect_offsets.saga.generations import REMEMBERED
from airflow_provider_connect_offsets.saga.journal import Journal
from airflow_provider_connect_offsets.saga.lease import Lease, Owner, require_single_creation
from airflow_provider_connect_offsets.saga.record import FORMAT, SagaRecord, SagaState
from airflow_provider_connect_offsets.saga.stage import Found, JsonMap, StageState
from airflow_provider_connect_offsets.workspace import files
from tests.support.faults.made_up_stages import (
    ALTER,
    LOOK,
    RESUME,
    STOP,
    Killed,
    MadeUpStage,
    PlainExplanation,
    World,
)

pytestmark = pytest.mark.usefixtures("dying")
MINE, OTHER = Owner.here(run="dag/mine", task="apply"), Owner.here(run="dag/other", task="apply")
SCRIPT = (STOP, ALTER, RESUME, LOOK)


class Standing(MadeUpStage):
    """A stage whose result a test takes back."""

    def stands(self, captured: JsonMap) -> StageState:
        del captured
        if self.world.in_effect.get(self.name):
            return StageState(Found.DONE)
        return StageState(Found.FOREIGN, Drift(f"{self.name} was taken back."))


@dataclass
class MadeUpRegistry(Registry):
    """Rebuilds stages of the made-up world."""

    world: World

    def built(self, record: SagaRecord) -> list[Stage]:
        known = {one[0]: one for one in SCRIPT}
        if unknown := [one.title for one in record.stages if one.title not in known]:
            raise record.unknown(f"the stage {unknown[0]!r}")
        return [Standing(self.world, *known[one.title]) for one in record.stages]

    def explanation(self, record: SagaRecord) -> Explanation:
        del record
        return PlainExplanation()

    def described(self, settled: Settled) -> str:
        return f"{settled.record.operation} was settled: {settled.record.state}"


def operation(world: World, journal: Journal, *, key: str = "key", stages: Any = None) -> Operation:
    script: list[Stage] = [Standing(world, *one) for one in SCRIPT]
    return Operation(
        journal,
        "a change",
        stages or (lambda _left: script),
        PlainExplanation(),
        MadeUpRegistry(world),
        key=key,
        stops=["stop x"],
    )


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    return Journal(tmp_path.as_uri(), cluster="c", resource="x")


def die(world: World, journal: Journal, call: str, owner: Owner = MINE) -> None:
    """Let a run die at a call; its lease is over, as its process is gone."""
    world.begin_anew(call)
    with pytest.raises(Killed):
        operate(operation(world, journal), owner)
    world.dead, world.calls = False, []
    number = journal.newest()
    files.write_json(journal.file(number, "lease"), Lease(owner, 1, 0).as_json())


def test_the_same_run_goes_forward(world: World, journal: Journal) -> None:
    """Its operation is made, and not made once more."""
    die(world, journal, "capture resume x")

    ended = operate(operation(world, journal), MINE)

    assert (ended.is_earlier, ended.sentences) == (True, ("a change was settled: done",))
    assert "undo alter x" not in world.calls
    assert world.in_effect["resume x"]


def test_another_run_undoes_without_a_resume_in_between(world: World, journal: Journal) -> None:
    """The connector never runs on what nobody wants: its stop, and its prior state, are the next saga's."""
    die(world, journal, "capture resume x")

    ended = operate(operation(world, journal), OTHER)

    assert ended.left[0].is_undone
    assert world.calls.index("undo alter x") < world.calls.index("capture alter x")
    assert {"undo stop x", "capture stop x"} & set(world.calls) == set()
    assert ended.record is not None
    assert ended.record.stage("stop x").captured == {"was": False}
    dead = journal.record_of("dag/mine", "key")
    assert dead is not None
    assert dead.state is SagaState.UNDONE


def test_what_was_to_be_taken_over_is_restored_if_the_next_run_refuses(world: World, journal: Journal) -> None:
    """Its plan may be outdated: then the connector gets its prior state, as before any change."""
    die(world, journal, "capture resume x")

    def refuse(_left: object) -> Sequence[Stage]:
        raise Drift("outdated")

    with pytest.raises(Drift, match="outdated"):
        operate(operation(world, journal, stages=refuse), OTHER)

    assert world.in_effect == {"stop x": False, "alter x": False}
    assert journal.left() is None


def test_who_dies_between_the_undo_and_the_next_saga_hides_nothing(world: World, journal: Journal) -> None:
    """What was not undone is still left."""
    die(world, journal, "capture resume x")

    def end(_left: object) -> Sequence[Stage]:
        world.die()
        raise AssertionError

    with pytest.raises(Killed):
        operate(operation(world, journal, stages=end), OTHER)
    world.dead = False
    files.write_json(journal.file(journal.newest(), "lease"), Lease(OTHER, 1, 0).as_json())

    left = settle(journal, MINE, MadeUpRegistry(world))

    assert left is not None
    assert left.record.owner == MINE
    assert world.in_effect == {"stop x": False, "alter x": False}


def test_a_teardown_settles_what_its_run_has_left_and_nothing_else(world: World, journal: Journal) -> None:
    """And makes no generation if nothing was left."""
    die(world, journal, "capture resume x")

    assert settle(journal, OTHER, MadeUpRegistry(world), run=OTHER.run) is None
    left = settle(journal, MINE, MadeUpRegistry(world), run=MINE.run)
    assert left is not None
    assert left.record.state is SagaState.UNDONE

    before = journal.newest()
    assert settle(journal, MINE, MadeUpRegistry(world), run=MINE.run) is None
    assert settle(journal, MINE, MadeUpRegistry(world)) is None
    assert journal.newest() == before


def test_a_death_between_lease_and_record_hides_nothing(world: World, journal: Journal) -> None:
    """Shell, teardown and later runs find what is left behind it."""
    die(world, journal, "capture resume x")
    files.create_bytes(journal.file(journal.newest() + 1, "lease"), files.to_json(Lease(OTHER, 1, 0).as_json()))

    found = journal.left()
    assert found is not None
    assert found[0].owner == MINE
    left = settle(journal, MINE, MadeUpRegistry(world), run=MINE.run)

    assert left is not None
    assert world.in_effect == {"stop x": False, "alter x": False}


def test_a_cleared_run_is_not_made_again(world: World, journal: Journal) -> None:
    """While its result stands."""
    operate(operation(world, journal), MINE)
    world.calls = []

    again = operate(operation(world, journal), MINE)

    assert again.is_earlier
    assert world.calls == []


def test_a_cleared_run_names_the_run_that_came_since(world: World, journal: Journal) -> None:
    """What is stored is that one's; nothing is called applied."""
    operate(operation(world, journal), MINE)
    world.in_effect = {}
    operate(operation(world, journal, key="another"), OTHER)

    with pytest.raises(Drift, match=r"made by an earlier attempt of this run, and run 'dag/other' has begun a change"):
        operate(operation(world, journal), MINE)


def test_a_cleared_run_finds_that_its_result_was_taken_back(world: World, journal: Journal) -> None:
    """By someone whom no journal knows."""
    operate(operation(world, journal), MINE)
    world.in_effect["alter x"] = False

    with pytest.raises(Drift, match=r"its result no longer stands: alter x was taken back\."):
        operate(operation(world, journal), MINE)


def test_nothing_is_changed_after_the_lease_is_lost(world: World, journal: Journal) -> None:
    """Asked before each request; what may have been done is named, and nothing is undone."""
    asked: list[str] = []

    def taken_over() -> None:
        ask()
        asked.append("while the lease was held")
        lease = Lease(OTHER, 1, 20)
        files.create_bytes(journal.file(journal.newest() + 1, "lease"), files.to_json(lease.as_json()))
        ask()

    world.faults = {"before alter x": taken_over}

    with pytest.raises(Overlap, match=r"taken over by run 'dag/other'.*It had begun: stop 'x', alter 'x'\. Its last"):
        operate(operation(world, journal), MINE)

    assert asked == ["while the lease was held"]
    assert not [call for call in world.calls if call.startswith("undo")]
    ask()  # outside of operations nothing is asked


def test_a_write_of_the_journal_lists_nothing(world: World, journal: Journal, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many generations there are: it costs the same, as it is part of the downtime."""
    listed: list[str] = []
    names = files.list_names

    def list_names(uri: str) -> list[str]:
        listed.append(uri)
        return names(uri)

    monkeypatch.setattr(files, "list_names", list_names)
    seen: list[int] = []
    world.faults = {f"before {name}": lambda: seen.append(len(listed)) for name in ("stop x", "alter x", "resume x")}

    operate(operation(world, journal), MINE)

    assert len(seen) == 3
    assert len(set(seen)) == 1


def test_settled_generations_are_pruned(world: World, journal: Journal) -> None:
    """The newest stay, and one that is unfinished always does."""
    for number in range(REMEMBERED + 5):
        world.in_effect = {}
        operate(operation(world, journal, key=str(number)), replace(MINE, run=f"dag/{number}"))

    names = files.list_names(journal.uri)
    assert journal.newest() == REMEMBERED + 5
    assert len([name for name in names if name.endswith("lease.json")]) == REMEMBERED + 1
    assert journal.record(1) is None
    assert journal.record_of("dag/10", "10") is not None


def test_a_stage_of_another_version_is_named(world: World, journal: Journal) -> None:
    """In one sentence that says which version settles it; nothing is changed."""
    die(world, journal, "capture resume x")
    uri = journal.file(1, "record")
    record = files.read_json(uri)
    record["stages"][0]["title"], record["version"] = "unheard_of", "9.9"
    files.write_json(uri, record)

    for change in (
        lambda: operate(operation(world, journal), OTHER),
        lambda: settle(journal, OTHER, MadeUpRegistry(world)),
    ):
        with pytest.raises(
            UnknownFormat, match=r"begun by version 9\.9 .* the stage 'unheard_of'.* Install version 9\.9"
        ):
            change()
    assert world.calls == []


def test_a_record_of_a_later_format_is_named(world: World, journal: Journal) -> None:
    """Likewise."""
    die(world, journal, "capture resume x")
    uri = journal.file(1, "record")
    files.write_json(uri, {**files.read_json(uri), "format": FORMAT + 1, "version": "9.9", "state": "unheard of"})

    with pytest.raises(
        UnknownFormat, match=rf"written by version 9\.9 .* in format {FORMAT + 1}, .* Install version 9"
    ):
        operate(operation(world, journal), OTHER)


def test_a_record_of_an_earlier_version_is_read(world: World, journal: Journal) -> None:
    """It has neither format nor version, and its lease names an end in place of a duration."""
    die(world, journal, "capture resume x")
    uri = journal.file(1, "record")
    files.write_json(
        uri, {key: value for key, value in files.read_json(uri).items() if key not in {"format", "version"}}
    )
    lease = journal.file(1, "lease")
    old = {key: value for key, value in files.read_json(lease).items() if key != "seconds"}
    files.write_json(lease, {**old, "until": old["heard_at"]})

    assert settle(journal, OTHER, MadeUpRegistry(world)) is not None


def test_a_store_that_creates_a_file_twice_keeps_no_leases(
    world: World, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Like one that speaks S3's protocol and ignores If-None-Match; it is refused by name before anything is done."""
    require_single_creation.cache_clear()

    def create(uri: str, content: bytes) -> bool:
        files.write_bytes(uri, content)
        return True

    monkeypatch.setattr("airflow_provider_connect_offsets.saga.lease.create_bytes", create)

    with pytest.raises(DatasetError, match=r"Nothing was done: file://.* can't keep leases"):
        operate(operation(world, journal), MINE)

    require_single_creation.cache_clear()
    assert world.calls == []
    assert files.list_names(journal.uri) == []


def test_all_prior_states_are_requested_before_any_is_awaited(tmp_path: Path) -> None:
    """A connector may need another one to start: a MirrorCheckpoint its MirrorSource."""
    calls: list[str] = []

    class Requested(MadeUpStage):
        def request_undo(self, captured: JsonMap, undoing: Any) -> None:
            del captured, undoing
            calls.append(f"request {self.subject}")

        def undo(self, captured: JsonMap, undoing: Any) -> str:
            calls.append(f"await {self.subject}")
            return super().undo(captured, undoing)

    world = World()
    stops = [Requested(world, "stop", name, STOP[2], STOP[3]) for name in ("x", "y", "z")]
    last = Requested(world, *ALTER)

    def fail() -> None:
        raise NotApplied("no")

    world.faults = {"before alter x": fail}
    journal = Journal(tmp_path.as_uri(), cluster="c", resource="x")
    how = Operation(journal, "a failover", lambda _left: [*stops, last], PlainExplanation(), MadeUpRegistry(world))

    with pytest.raises(NotApplied):
        operate(how, MINE)

    assert calls == ["await x", "request z", "request y", "request x", "await z", "await y", "await x"]


@pytest.fixture
def dying(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A dead process writes no journal, and ends no lease."""
    write = files.write_json

    def write_json(uri: str, value: Any) -> None:
        if not world.dead:
            write(uri, value)

    monkeypatch.setattr(files, "write_json", write_json)


def test_only_the_stops_are_taken_over(world: World, journal: Journal) -> None:
    """A resume that was requested and never showed is not the next saga's: that one can still be undone."""
    die(world, journal, "before resume x")
    world.in_effect["alter x"] = False  # not what the dead run has proved, so that it can't go forward

    def fail() -> None:
        raise NotApplied("no")

    world.faults = {"after alter x": fail}
    with pytest.raises(NotApplied):
        operate(operation(world, journal), MINE)

    assert world.in_effect == {"stop x": False, "alter x": False}


def test_nothing_is_claimed_if_there_is_nothing_to_do(world: World, journal: Journal) -> None:
    """Unless something was left; another run's lease is respected all the same."""
    nothing = replace(operation(world, journal, stages=lambda _left: ()), is_empty=True)

    assert operate(nothing, MINE).record is None
    assert journal.newest() == 0
    with journal.claim(OTHER), pytest.raises(Overlap, match="dag/other"):
        operate(nothing, MINE)
    die(world, journal, "capture resume x")
    assert operate(nothing, OTHER).left[0].is_undone
    assert world.in_effect == {"stop x": False, "alter x": False}

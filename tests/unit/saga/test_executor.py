"""The executor on made-up stages: killed, failed and interrupted everywhere, and then met by a successor."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_connect_offsets.exceptions import (
    ConnectOffsetsError,
    Interfered,
    JournalLost,
    NotApplied,
    NotRunning,
    NotUndone,
    StoreError,
)
from airflow_provider_connect_offsets.saga.entry import JournalEntry
from airflow_provider_connect_offsets.saga.executor import Executor, Toward
from airflow_provider_connect_offsets.saga.explanation import AsItIs, Settled
from airflow_provider_connect_offsets.saga.journal import Journal
from airflow_provider_connect_offsets.saga.lease import Owner
from airflow_provider_connect_offsets.saga.record import SagaRecord, SagaState
from airflow_provider_connect_offsets.saga.stage import (
    Captures,
    Done,
    Downtime,
    Found,
    JsonMap,
    Kind,
    Stage,
    StageState,
    Undoing,
)
from airflow_provider_connect_offsets.workspace import files

OWNER = Owner.here(run="dag/run", task="apply")
STOP, ALTER = ("stop", "x", Kind.UNDOABLE, Downtime.BEGINS), ("alter", "x", Kind.UNDOABLE, None)
EMPTY = ("empty", "topic", Kind.PIVOT, None)
RESUME, LOOK = ("resume", "x", Kind.FORWARD, Downtime.ENDS), ("look", "x", Kind.PROOF, None)
BEFORE = ("stop", "y", Kind.UNDOABLE, Downtime.BEGINS)
AFTER = ("resume", "y", Kind.FORWARD, Downtime.ENDS)
# As a change, a reset of a flow without its second connector, and one with it.
SCRIPTS = {
    "plain": (STOP, ALTER, RESUME, LOOK),
    "with a pivot": (STOP, ALTER, EMPTY, RESUME, LOOK),
    "two connectors": (BEFORE, STOP, ALTER, EMPTY, RESUME, AFTER, LOOK),
}


class Killed(BaseException):
    """SIGKILL: nothing is done any more, whoever catches it."""


@dataclass
class World:
    """What stages change, and the calls that are made; a fault may be put at any of them.

    ``stands``: which stages have taken effect. ``calls``: what was done, like ``do alter``.
    """

    stands: dict[str, bool] = field(default_factory=dict)
    calls: list[str] = field(default_factory=list)
    faults: dict[str, Callable[[], None]] = field(default_factory=dict)
    dead: bool = False

    def reach(self, call: str) -> None:
        """Come to a call, at which something may happen."""
        self.refuse_dead()
        self.calls.append(call)
        fault = self.faults.pop(call, None)
        if fault is not None:
            fault()

    def refuse_dead(self) -> None:
        if self.dead:
            raise Killed

    def begin_anew(self, call: str) -> None:
        """Nothing has happened yet, and at ``call`` the process dies."""
        self.stands, self.calls, self.dead = {}, [], False
        self.faults = {call: self.die}

    def die(self) -> None:
        self.dead = True
        raise Killed


class Made(Stage):
    """A stage that sets its flag in the world."""

    def __init__(self, world: World, title: str, subject: str, kind: Kind, downtime: Downtime | None) -> None:
        super().__init__(subject)
        self.world = world
        self.title, self.kind, self.downtime = title, kind, downtime  # type: ignore[misc]

    def capture(self, earlier: Captures) -> JsonMap:
        del earlier
        self.world.reach(f"capture {self.name}")
        return {"was": self.world.stands.get(self.name, False)}

    def do(self, captured: JsonMap) -> Done:
        del captured
        self.world.reach(f"before {self.name}")
        self.world.stands[self.name] = True
        self.world.reach(f"after {self.name}")
        return Done((f"{self.name} was made",))

    def find(self, captured: JsonMap) -> StageState:
        del captured
        self.world.reach(f"find {self.name}")
        if self.kind is Kind.UNDOABLE and self.world.stands.get(f"resume {self.subject}"):
            return StageState(Found.FOREIGN, Interfered(f"{self.subject} was resumed"))
        if self.world.stands.get(self.name):
            return StageState(Found.DONE)
        return StageState(Found.BEFORE, NotApplied(f"{self.name} does not stand"))

    def undo(self, captured: JsonMap, undoing: Undoing) -> str:
        del undoing
        self.world.reach(f"undo {self.name}")
        self.world.stands[self.name] = captured["was"]
        return ""


class Plainly(AsItIs):
    """What is raised is what happened, and says when."""

    def undone(self, error: Exception, settled: Settled) -> Exception:
        return NotApplied(f"undone: {error}{settled.lost}")

    def unresumed(self, error: ConnectOffsetsError, record: SagaRecord) -> ConnectOffsetsError:
        del record
        return type(error)(f"unresumed: {error}")


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    """A world in which the dead write no journals."""
    made, write = World(), files.write_json

    def write_json(uri: str, value: Any) -> None:
        if uri.endswith("record.json"):  # its lease runs out, which nobody waits for in here
            made.refuse_dead()
        write(uri, value)

    monkeypatch.setattr(files, "write_json", write_json)
    return made


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    return Journal(tmp_path.as_uri(), cluster="c", connector="x")


def executor(world: World, entry: JournalEntry, script: str) -> Executor:
    stages = [Made(world, *one) for one in SCRIPTS[script]]
    return Executor(entry, stages, Plainly())


def attempt(world: World, journal: Journal, script: str) -> Settled:
    """Begin a saga and make it."""
    with journal.claim(OWNER) as entry:
        change = executor(world, entry, script)
        entry.begin(OWNER, operation="a change", key="key", stages=change.stages)
        return change.run()


def settle(world: World, journal: Journal, script: str, toward: Toward) -> SagaState:
    """What comes after a death; gives how it ended."""
    world.dead = False
    with journal.claim(OWNER) as entry:
        if not entry.record.state.is_unfinished:
            return SagaState.DONE if world.stands.get("resume x") else SagaState.UNDONE
        return executor(world, entry, script).settle(toward).record.state


def made(script: str) -> list[str]:
    return [f"{title} {subject}" for title, subject, kind, _downtime in SCRIPTS[script] if kind is not Kind.PROOF]


def assert_whole(world: World, script: str, state: SagaState) -> None:
    """All of it stands, or nothing; never anything in between."""
    stands = {title for title in made(script) if world.stands.get(title)}
    expected = set(made(script)) if state is SagaState.DONE else set()
    assert (state in {SagaState.DONE, SagaState.UNDONE, SagaState.CLAIMED}, stands) == (True, expected)


def moments(script: str) -> list[str]:
    """Every call that changes something while all goes well, in order."""
    names = [f"{title} {subject}" for title, subject, *_rest in SCRIPTS[script]]
    return [f"{call} {name}" for name in names for call in ("capture", "before", "after")]


CELLS = [(script, call) for script in SCRIPTS for call in moments(script)]


@pytest.mark.parametrize("script", SCRIPTS)
def test_everything_is_made_in_order_and_looked_at_before_the_resume(
    world: World, journal: Journal, script: str
) -> None:
    """Right before the pivot and before the resume, all that was made is looked at once more."""
    settled = attempt(world, journal, script)

    assert_whole(world, script, settled.record.state)
    assert settled.warnings == tuple(f"{title} {subject} was made" for title, subject, *_rest in SCRIPTS[script])
    before = made(script)[: made(script).index("resume x")]
    looks = world.calls[: world.calls.index("capture resume x")]
    assert looks[-len(before) :] == [f"find {name}" for name in before]


@pytest.mark.parametrize(("script", "call"), CELLS)
def test_killed(world: World, tmp_path: Path, script: str, call: str) -> None:
    """At any call; whoever settles it may be killed at any call as well, and the next one ends it for good."""
    settling = [f"{kind} {title}" for kind, title in product(("find", "before", "after", "undo"), made(script))]
    ways = list(product(Toward, Toward))
    for number, second in enumerate(["none", *settling]):
        first, last = ways[(number + CELLS.index((script, call))) % len(ways)]
        journal = Journal((tmp_path / str(number)).as_uri(), cluster="c", connector="x")
        world.begin_anew(call)
        with pytest.raises(Killed):
            attempt(world, journal, script)
        world.faults = {second: world.die}
        with suppress(Killed):
            assert_whole(world, script, settle(world, journal, script, first))
        world.faults = {}

        assert_whole(world, script, settle(world, journal, script, last))


def test_a_resume_that_shows_late(world: World, journal: Journal) -> None:
    """It was asked for and is found not done; as it shows after all, nothing can be undone: it is finished."""
    leave_late(world, journal, NotUndone("x was resumed"))

    assert_whole(world, "plain", settle(world, journal, "plain", Toward.BACK))

    assert world.stands["resume x"]
    assert "undo stop x" not in world.calls


def test_a_resume_that_shows_once_something_was_undone(world: World, journal: Journal) -> None:
    """Nobody can tell what stands then, so it is not called done; it is left to whoever has resumed it."""
    leave_late(world, journal, Interfered("x was resumed"))

    assert settle(world, journal, "plain", Toward.BACK) is SagaState.ABANDONED


def leave_late(world: World, journal: Journal, refusal: Interfered) -> None:
    """Killed behind the request to resume, which shows only when the first undo is refused."""

    def shows() -> None:
        world.stands["resume x"] = True
        raise refusal

    world.begin_anew("after resume x")
    with pytest.raises(Killed):
        attempt(world, journal, "plain")
    world.faults = {"find resume x": lambda: world.stands.update({"resume x": False}), "undo alter x": shows}


@pytest.mark.parametrize(("script", "call"), CELLS)
def test_failed(world: World, journal: Journal, script: str, call: str) -> None:
    """What can be undone is; past the pivot or the resume the operation goes on, or is left to be gone on with."""

    def fail() -> None:
        raise StoreError(f"no answer to {call}")

    world.faults[call] = fail
    if call == "after empty topic":
        settled = attempt(world, journal, script)
        assert f"no answer to {call} It was done all the same." in settled.warnings
        assert_whole(world, script, settled.record.state)
        return
    with pytest.raises(ConnectOffsetsError, match=f"no answer to {call}") as raised:
        attempt(world, journal, script)

    calls = moments(script)
    # The last call that can be taken back: to the pivot where there is one, else to the resume.
    last = "before empty topic" if "before empty topic" in calls else "capture resume x"
    if calls.index(call) <= calls.index(last):
        assert raised.type is NotApplied
        assert_whole(world, script, SagaState.UNDONE)
    else:
        assert raised.type is StoreError
        assert str(raised.value) == f"unresumed: no answer to {call}"
        assert_whole(world, script, settle(world, journal, script, Toward.FORWARD))
        assert world.stands["resume x"]


@pytest.mark.parametrize(("script", "call"), CELLS)
def test_interrupted(world: World, journal: Journal, script: str, call: str) -> None:
    """As Airflow ends a task: it is undone on the way out, or left to the next one, and the interruption stays."""

    def interrupt() -> None:
        raise SystemExit(143)

    world.faults[call] = interrupt
    with pytest.raises(SystemExit):
        attempt(world, journal, script)

    assert_whole(world, script, settle(world, journal, script, Toward.FORWARD))


@pytest.mark.parametrize("script", SCRIPTS)
@pytest.mark.parametrize("title", ["stop", "alter", "resume"])
def test_the_journal_fails(
    world: World, journal: Journal, monkeypatch: pytest.MonkeyPatch, script: str, title: str
) -> None:
    """From the moment on in which a stage is to begin: nothing more is made, and all is undone from memory."""
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
        assert not any(world.stands.values())


def test_what_was_made_and_can_not_be_noted_is_undone(
    world: World, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever comes next could not know that it was done, and would undo it, whatever runs on it by then."""
    write = files.write_json

    def write_json(uri: str, value: Any) -> None:
        if uri.endswith("record.json") and value["state"] == SagaState.DONE:
            raise OSError(30, "Read-only file system")
        write(uri, value)

    monkeypatch.setattr(files, "write_json", write_json)
    with journal.claim(OWNER) as entry:
        stages = [Made(world, *one) for one in SCRIPTS["plain"] if one[2] is Kind.UNDOABLE]
        entry.begin(OWNER, operation="a change", key="key", stages=stages)
        with pytest.raises(NotApplied, match=r"undone: The journal of 'x' can't be written"):
            Executor(entry, stages, Plainly()).run()

    assert not any(world.stands.values())
    assert journal.left() is None


def test_an_error_that_needs_no_more_words_is_not_its_own_cause(world: World, journal: Journal) -> None:
    """Whoever follows causes, as a log does, would never come to an end."""

    def fail() -> None:
        raise StoreError("no answer")

    world.faults["after look x"] = fail
    with journal.claim(OWNER) as entry:
        stages = [Made(world, *one) for one in SCRIPTS["plain"]]
        entry.begin(OWNER, operation="a change", key="key", stages=stages)
        with pytest.raises(StoreError, match="no answer") as raised:
            Executor(entry, stages, AsItIs()).run()

    assert raised.value.__cause__ is None


def test_one_that_does_not_come_back_keeps_no_other_from_being_resumed(world: World, journal: Journal) -> None:
    """All was made, so the saga is done; the error names who does not run."""

    def fail() -> None:
        raise NotRunning("x has failed")

    world.faults["after resume x"] = fail
    with pytest.raises(NotRunning, match="x has failed"):
        attempt(world, journal, "two connectors")

    assert world.stands["resume y"]
    with journal.claim(OWNER) as entry:
        assert entry.record.state is SagaState.CLAIMED, "nothing is left to be done"


def test_a_stage_that_can_not_be_undone_keeps_those_before_it(world: World, journal: Journal) -> None:
    """A connector whose offsets can't be put back is not resumed; the next one to come tries again."""

    def fail() -> None:
        raise StoreError("no way")

    world.faults = {"after alter x": fail, "undo alter x": fail}
    with pytest.raises(StoreError, match="no way"):
        attempt(world, journal, "plain")
    assert (world.stands["stop x"], world.stands["alter x"]) == (True, True)

    assert settle(world, journal, "plain", Toward.BACK) is SagaState.UNDONE
    assert_whole(world, "plain", SagaState.UNDONE)


def test_what_it_was_to_resume_on_is_gone_after_the_pivot(world: World, journal: Journal) -> None:
    """It can't go on, so that it is undone as far as it can be, by itself and by whoever comes after it."""

    def lose() -> None:
        world.stands["alter x"] = False

    world.faults["after empty topic"] = lose
    with pytest.raises(NotApplied, match="undone: alter x does not stand"):
        attempt(world, journal, "with a pivot")
    assert_whole(world, "with a pivot", SagaState.UNDONE)

    world.begin_anew("capture resume x")
    with pytest.raises(Killed):
        attempt(world, journal, "with a pivot")
    lose()
    assert settle(world, journal, "with a pivot", Toward.FORWARD) is SagaState.UNDONE
    assert_whole(world, "with a pivot", SagaState.UNDONE)


def test_what_someone_else_has_taken_over_is_left_to_them(world: World, journal: Journal) -> None:
    """Nothing is left to be done by anyone."""

    def taken() -> None:
        raise Interfered("someone else resumed it")

    world.faults["before resume x"] = world.die
    with pytest.raises(Killed):
        attempt(world, journal, "plain")
    world.faults["undo alter x"] = taken

    assert settle(world, journal, "plain", Toward.BACK) is SagaState.ABANDONED
    with journal.claim(OWNER) as entry:
        assert entry.record.state is SagaState.CLAIMED


def test_a_saga_is_left_open_and_taken_up_by_a_stranger(world: World, journal: Journal) -> None:
    """Between two tasks nothing but the journal knows of it; whoever comes instead of the second one undoes it."""
    entry = journal.claim_for_run(OWNER, seconds=60)
    change = executor(world, entry, "plain")
    entry.begin(OWNER, operation="a failover", key="key", stages=change.stages[:1])
    change.make(change.stages[0])
    assert world.stands == {"stop x": True}
    files.remove_tree(entry.file("lease"))
    files.write_bytes(
        entry.file("lease"),
        b'{"owner": {"run": "dag/run", "task": "t", "host": "h", "pid": 0}, "heard_at": 1, "until": 1}',
    )

    stranger = Owner.here(run="dag/other", task="apply")
    with journal.claim(stranger) as found:
        assert [one.title for one in found.record.stages] == ["stop"]
        stages = [Made(world, *STOP)]
        settled = Executor(found, stages, Plainly()).settle(Toward.FORWARD)

    assert settled.record.state is SagaState.UNDONE
    assert world.stands == {"stop x": False}

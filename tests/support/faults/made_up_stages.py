"""Stages that set flags in a made-up world, and faults at each call that they make."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from airflow_provider_connect_offsets.exceptions import (
    ConnectOffsetsError,
    Interfered,
    NotApplied,
)
from airflow_provider_connect_offsets.saga import Executor, Toward
from airflow_provider_connect_offsets.saga.entry import JournalEntry
from airflow_provider_connect_offsets.saga.explanation import Explanation, Settled
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
    """A simulated SIGKILL: nothing is done after it, whoever catches it."""


@dataclass
class World:
    """What stages change, and the calls that they make; a test may set a fault at any of them.

    ``in_effect``: which stages have taken effect. ``calls``: the calls made, such as ``do alter``.
    """

    in_effect: dict[str, bool] = field(default_factory=dict)
    calls: list[str] = field(default_factory=list)
    faults: dict[str, Callable[[], None]] = field(default_factory=dict)
    dead: bool = False

    def reach(self, call: str) -> None:
        """Make a call, at which a fault may happen."""
        self.refuse_dead()
        self.calls.append(call)
        fault = self.faults.pop(call, None)
        if fault is not None:
            fault()

    def refuse_dead(self) -> None:
        if self.dead:
            raise Killed

    def begin_anew(self, call: str) -> None:
        """Reset the world; the process dies at ``call``."""
        self.in_effect, self.calls, self.dead = {}, [], False
        self.faults = {call: self.die}

    def die(self) -> None:
        self.dead = True
        raise Killed


class MadeUpStage(Stage):
    """A stage that sets its flag in the world."""

    def __init__(self, world: World, title: str, subject: str, kind: Kind, downtime: Downtime | None) -> None:
        super().__init__(subject)
        self.world = world
        self.title, self.kind, self.downtime = title, kind, downtime  # type: ignore[misc]

    def capture(self, earlier: Captures) -> JsonMap:
        del earlier
        self.world.reach(f"capture {self.name}")
        return {"was": self.world.in_effect.get(self.name, False)}

    def do(self, captured: JsonMap) -> Done:
        del captured
        self.world.reach(f"before {self.name}")
        self.world.in_effect[self.name] = True
        self.world.reach(f"after {self.name}")
        return Done((f"{self.name} was made",))

    def find(self, captured: JsonMap) -> StageState:
        del captured
        self.world.reach(f"find {self.name}")
        if self.kind is Kind.UNDOABLE and self.world.in_effect.get(f"resume {self.subject}"):
            return StageState(Found.FOREIGN, Interfered(f"{self.subject} was resumed"))
        if self.world.in_effect.get(self.name):
            return StageState(Found.DONE)
        return StageState(Found.BEFORE, NotApplied(f"{self.name} is not in effect"))

    def undo(self, captured: JsonMap, undoing: Undoing) -> str:
        del undoing
        self.world.reach(f"undo {self.name}")
        self.world.in_effect[self.name] = captured["was"]
        return ""


class PlainExplanation(Explanation):
    """Keeps the error, and adds when it was raised."""

    def explain_undone(self, error: Exception, settled: Settled) -> Exception:
        return NotApplied(f"undone: {error}{settled.lost}")

    def explain_unresumed(self, error: ConnectOffsetsError, record: SagaRecord) -> ConnectOffsetsError:
        del record
        return type(error)(f"unresumed: {error}")


def executor(world: World, entry: JournalEntry, script: str) -> Executor:
    stages = [MadeUpStage(world, *one) for one in SCRIPTS[script]]
    return Executor(entry, stages, PlainExplanation())


def attempt(world: World, journal: Journal, script: str) -> Settled:
    """Begin a saga and run it."""
    with journal.claim(OWNER) as entry:
        change = executor(world, entry, script)
        entry.begin(OWNER, operation="a change", key="key", stages=change.stages)
        return change.run()


def settle(world: World, journal: Journal, script: str, toward: Toward) -> SagaState:
    """Settle a dead saga, and return its state."""
    world.dead = False
    with journal.claim(OWNER) as entry:
        if not entry.record.state.is_unfinished:
            return SagaState.DONE if world.in_effect.get("resume x") else SagaState.UNDONE
        return executor(world, entry, script).settle(toward).record.state


def made(script: str) -> list[str]:
    return [f"{title} {subject}" for title, subject, kind, _downtime in SCRIPTS[script] if kind is not Kind.PROOF]


def assert_whole(world: World, script: str, state: SagaState) -> None:
    """Assert that all stages have taken effect, or none."""
    in_effect = {title for title in made(script) if world.in_effect.get(title)}
    expected = set(made(script)) if state is SagaState.DONE else set()
    assert (state in {SagaState.DONE, SagaState.UNDONE, SagaState.CLAIMED}, in_effect) == (True, expected)


def moments(script: str) -> list[str]:
    """Every call of a run without a fault, in order."""
    names = [f"{title} {subject}" for title, subject, *_rest in SCRIPTS[script]]
    return [f"{call} {name}" for name in names for call in ("capture", "before", "after")]


CELLS = [(script, call) for script in SCRIPTS for call in moments(script)]

"""The stage protocol: what one step of an operation tells the executor, and what the executor asks of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, ClassVar, TypeAlias

from airflow_provider_connect_offsets.exceptions import ConnectOffsetsError

JsonMap: TypeAlias = Mapping[str, Any]
# What stages captured, by their names.
Captures: TypeAlias = Mapping[str, JsonMap]
# Writes a JSON value beside the journal, under a name, and returns its URI.
Keep: TypeAlias = Callable[[str, Any], str]


class Kind(StrEnum):
    """Whether a stage can be taken back.

    UNDOABLE: yes. PIVOT: only while :meth:`Stage.find` says BEFORE; after that the operation goes forward, unless what
    it was to resume on is gone. FORWARD: made only once everything before it was found done. PROOF: looks at what came
    of it, and undoes nothing.
    """

    UNDOABLE = "undoable"
    PIVOT = "pivot"
    FORWARD = "forward"
    PROOF = "proof"


class Downtime(StrEnum):
    """Whether a connector is down from this stage on, or until it."""

    BEGINS = "begins"
    ENDS = "ends"


class Found(StrEnum):
    """What one look at the world says of a stage; FOREIGN: someone else has changed what it is about."""

    BEFORE = "before"
    PARTIAL = "partial"
    DONE = "done"
    FOREIGN = "foreign"


@dataclass(frozen=True, slots=True)
class StageState:
    """What was found; ``why``: the error that it is where an operation was to go on, None where it is DONE."""

    found: Found
    why: ConnectOffsetsError | None = None


@dataclass(frozen=True, slots=True)
class Done:
    """What a person is told of a stage that was made, and facts that the journal keeps of it (JSON values)."""

    warnings: tuple[str, ...] = ()
    facts: JsonMap = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Undoing:
    """Why a stage is undone.

    ``came_back``: whether its ``do`` did. ``error``: what ended the operation, None where its process died.
    """

    came_back: bool
    error: BaseException | None
    keep: Keep


class Stage(ABC):
    """One step of an operation.

    ``title`` names the class in the journal, ``subject`` what it is done to, and ``cluster`` where that is, as two
    clusters may have a subject of one name each; together they make a name that is unique in a saga.
    All methods but :meth:`spec` may raise store errors; whatever is raised, the executor settles.
    """

    title: ClassVar[str]
    kind: ClassVar[Kind]
    downtime: ClassVar[Downtime | None] = None

    def __init__(self, subject: str, *, cluster: str = "") -> None:
        self.subject = subject
        self.cluster = cluster

    @property
    def name(self) -> str:
        """The stage's name in the saga."""
        return stage_name(self.title, self.subject, cluster=self.cluster)

    @property
    def resources(self) -> frozenset[str]:
        """What it changes; where it can't be undone, earlier stages of the same resources are not undone either."""
        return frozenset({_located(self.subject, self.cluster)})

    def spec(self) -> JsonMap:
        """What a later process builds the same stage from, as JSON values."""
        return {}

    def capture(self, earlier: Captures) -> JsonMap:
        """Look at what :meth:`undo` needs, right before :meth:`do`; durable before that. Drift is raised here."""
        del earlier
        return {}

    @abstractmethod
    def do(self, captured: JsonMap) -> Done:
        """Make the step; may be repeated."""

    @abstractmethod
    def find(self, captured: JsonMap) -> StageState:
        """Look once how far it has come."""

    def undo(self, captured: JsonMap, undoing: Undoing) -> str:
        """Take it back and prove that; returns a sentence about what can't be taken back, with a space before."""
        del captured, undoing
        return ""


def stage_name(title: str, subject: str, *, cluster: str) -> str:
    """Name the stage of that class and subject."""
    return f"{title} {_located(subject, cluster)}"


def _located(subject: str, cluster: str) -> str:
    return f"{subject} of {cluster}" if cluster else subject

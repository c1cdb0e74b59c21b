"""The stage protocol: what one step of an operation offers to the executor."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, ClassVar, TypeAlias

from airflow_provider_connect_offsets.exceptions import ConnectOffsetsError

JsonMap: TypeAlias = Mapping[str, Any]
# Stage name → what it captured.
Captures: TypeAlias = Mapping[str, JsonMap]
# Writes a JSON value beside the journal, under a name, and returns its URI.
Keep: TypeAlias = Callable[[str, Any], str]


class Kind(StrEnum):
    """Whether a stage can be undone.

    UNDOABLE: yes. PIVOT: only while :meth:`Stage.find` returns BEFORE; after that the operation only goes forward,
    unless the offsets or records that it resumes on are gone. FORWARD: no; begun only after all earlier stages were
    found DONE. PROOF: no; observes the result.
    """

    UNDOABLE = "undoable"
    PIVOT = "pivot"
    FORWARD = "forward"
    PROOF = "proof"


class Downtime(StrEnum):
    """Whether a connector's downtime begins or ends with this stage."""

    BEGINS = "begins"
    ENDS = "ends"


class Found(StrEnum):
    """How much of a stage one observation shows as done; FOREIGN: someone else has changed its subject."""

    BEFORE = "before"
    PARTIAL = "partial"
    DONE = "done"
    FOREIGN = "foreign"


@dataclass(frozen=True, slots=True)
class StageState:
    """The result of an observation.

    Attributes:
        found: How much is done.
        why: The error to raise if the operation needs the stage to be DONE; None if it is DONE.
    """

    found: Found
    why: ConnectOffsetsError | None = None


@dataclass(frozen=True, slots=True)
class Done:
    """The result of a stage.

    Attributes:
        warnings: Warnings, each a sentence.
        facts: JSON values that the journal keeps.
    """

    warnings: tuple[str, ...] = ()
    facts: JsonMap = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Undoing:
    """Why a stage is undone.

    Attributes:
        returned: True if its ``do`` returned.
        error: What ended the operation; None if its process died.
        keep: Writes a JSON value beside the journal's record.
    """

    returned: bool
    error: BaseException | None
    keep: Keep


class Stage(ABC):
    """One step of an operation.

    Title, subject and cluster make a name that is unique in a saga. All methods but :meth:`spec` may raise store
    errors; the executor settles the saga after any exception.

    Attributes:
        title: Names the class in the journal.
        kind: Whether it can be undone.
        downtime: Whether a connector's downtime begins or ends with it; None: neither.
        subject: What it changes: a connector, a topic, ...
        cluster: The cluster of the subject, as two clusters may have subjects of the same name; empty: not needed.
    """

    title: ClassVar[str]
    kind: ClassVar[Kind]
    downtime: ClassVar[Downtime | None] = None

    def __init__(self, subject: str, *, cluster: str = "") -> None:
        self.subject = subject
        self.cluster = cluster

    @property
    def name(self) -> str:
        """Its name in the saga."""
        return stage_name(self.title, self.subject, cluster=self.cluster)

    @property
    def resources(self) -> frozenset[str]:
        """What it changes. If it can't be undone, earlier stages of the same resources are not undone either."""
        return frozenset({_name_resource(self.subject, self.cluster)})

    def spec(self) -> JsonMap:
        """Return the JSON values from which a later process builds the same stage."""
        return {}

    def capture(self, earlier: Captures) -> JsonMap:
        """Observe what :meth:`undo` needs, right before :meth:`do`; the journal makes it durable in between.

        Args:
            earlier: What earlier stages captured.

        Returns:
            JSON values.

        Raises:
            Drift: Someone else has changed what the plan is based on.
        """
        return {}

    @abstractmethod
    def do(self, captured: JsonMap) -> Done:
        """Make the step; may be repeated. ``captured``: what :meth:`capture` returned."""

    @abstractmethod
    def find(self, captured: JsonMap) -> StageState:
        """Observe once how much of the step is done. ``captured``: what :meth:`capture` returned."""

    def stands(self, captured: JsonMap) -> StageState:
        """Observe, once the whole saga was done, whether the result of this step still stands.

        Returns DONE unless a subclass observes something else. ``captured``: what :meth:`capture` returned.
        """
        return StageState(Found.DONE)

    def request_undo(self, captured: JsonMap, undoing: Undoing) -> None:
        """Request what :meth:`undo` waits for, without waiting; called where several stages are undone at a time.

        Does nothing unless a subclass has something to wait for.
        """
        return

    def undo(self, captured: JsonMap, undoing: Undoing) -> str:
        """Undo the step, and verify that it is undone.

        Args:
            captured: What :meth:`capture` returned.
            undoing: Why it is undone.

        Returns:
            A sentence, with a space before, about what can't be undone; empty if all was undone.
        """
        return ""


def stage_name(title: str, subject: str, *, cluster: str) -> str:
    """Return the name of the stage with this title, subject and cluster."""
    return f"{title} {_name_resource(subject, cluster)}"


def _name_resource(subject: str, cluster: str) -> str:
    return f"{subject} of {cluster}" if cluster else subject

"""An operation as a value, its result, and what an earlier process left and how that was settled."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from airflow_provider_connect_offsets.clock import SYSTEM_CLOCK, Clock
from airflow_provider_connect_offsets.saga.explanation import Explanation, Settled
from airflow_provider_connect_offsets.saga.journal import Journal
from airflow_provider_connect_offsets.saga.record import SagaRecord, SagaState
from airflow_provider_connect_offsets.saga.stage import Captures, Stage


class Registry(Protocol):
    """Knows the stages of all operations (``operations.registry``)."""

    def build(self, record: SagaRecord) -> list[Stage]:
        """Rebuild the stages of a record.

        Raises:
            Overlap: The available clients do not reach what the stages change.
            UnknownFormat: Another version has written a stage that this one does not know.
        """

    def refuse_protected(self, stages: Sequence[Stage]) -> None:
        """Raise :class:`InvalidRequest` if stages that are to begin change something that may not be changed here."""

    def explanation(self, record: SagaRecord) -> Explanation:
        """Return the explanation of the record's operation."""

    def describe(self, settled: Settled) -> str:
        """Describe how a saga whose process had died was settled."""


@dataclass(frozen=True, slots=True)
class Left:
    """What an earlier process had left, and how it was settled.

    Attributes:
        record: Its saga, as settled.
        sentence: Describes how it was settled.
        inherited: Stage name → what the stage captured, of stages that are not undone: the next saga begins with them.
    """

    record: SagaRecord
    sentence: str
    inherited: Captures = field(default_factory=dict)

    @property
    def is_undone(self) -> bool:
        """Whether what it had changed has its prior value again."""
        return self.record.state in {SagaState.UNDONE, SagaState.BACK}


@dataclass(frozen=True, slots=True)
class Operation:
    """What is to be done.

    Attributes:
        journal: Journal of the resource that keeps the saga.
        name: What is done, in words, like ``the change of offsets``.
        stages: Returns its stages once what was left is settled and the lease is held; may refuse to. No stages: there
            is nothing to do.
        explanation: Returns its errors.
        registry: Rebuilds the stages of what was left.
        others: Journals of the other resources that it changes.
        key: Identifies the saga for a retry; empty: a retry does not look for it.
        is_made_once: False if each attempt makes it again.
        is_empty: True if it is known to have no stages: then nothing is claimed, unless something was left.
        stops: Names of the stages by which it stops connectors: what was left is undone up to these, so that no
            connector resumes in between.
        completes: Returns True for an unfinished saga that the stages themselves complete, so that it is not settled
            before.
        clock: Measures the downtime.
    """

    journal: Journal
    name: str
    stages: Callable[[Sequence[Left]], Sequence[Stage]]
    explanation: Explanation
    registry: Registry
    others: Sequence[Journal] = ()
    key: str = ""
    is_made_once: bool = True
    is_empty: bool = False
    stops: Sequence[str] = ()
    completes: Callable[[SagaRecord], bool] = lambda _record: False
    clock: Clock = SYSTEM_CLOCK

    @property
    def journals(self) -> tuple[Journal, ...]:
        """The journals of all its resources."""
        return (self.journal, *self.others)


@dataclass(frozen=True, slots=True)
class Operated:
    """The result of an operation.

    Attributes:
        record: Its record; None if there was nothing to do.
        left: What earlier processes had left.
        made: Warnings and downtime; None if nothing was made in this call.
        is_earlier: True if an earlier attempt has made it.
    """

    record: SagaRecord | None
    left: tuple[Left, ...] = ()
    made: Settled | None = None
    is_earlier: bool = False

    @property
    def saga(self) -> SagaRecord:
        """The record of an operation that always has stages; raises :class:`ValueError` if there is none."""
        if self.record is None:
            raise ValueError("the operation had no stages")
        return self.record

    @property
    def sentences(self) -> tuple[str, ...]:
        """One sentence for each operation that an earlier process left unfinished, saying how it was settled."""
        return tuple(one.sentence for one in self.left)

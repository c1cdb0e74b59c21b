"""What a journal keeps of a saga: who makes it, its stages, and how far each has come."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from typing import Any

from airflow_provider_connect_offsets.saga.lease import Owner
from airflow_provider_connect_offsets.saga.stage import Captures, JsonMap, Stage, stage_name


class SagaState(StrEnum):
    """Where a saga is on its way.

    CLAIMED: nothing was begun. FORWARD and BACK: its stages are being made or undone. DONE, UNDONE: they are.
    ABANDONED: someone else took over what it was about, and nothing is left to be done by anyone.
    """

    CLAIMED = "claimed"
    FORWARD = "forward"
    BACK = "back"
    DONE = "done"
    UNDONE = "undone"
    ABANDONED = "abandoned"

    @property
    def is_unfinished(self) -> bool:
        """Whether something is left to be done."""
        return self in {SagaState.FORWARD, SagaState.BACK}


class Progress(StrEnum):
    """How far a stage has come: PENDING until it is captured, BEGUN until its ``do`` came back."""

    PENDING = "pending"
    BEGUN = "begun"
    DONE = "done"
    UNDONE = "undone"

    @property
    def is_captured(self) -> bool:
        """Whether it may have changed anything that still stands."""
        return self in {Progress.BEGUN, Progress.DONE}


@dataclass(frozen=True, slots=True)
class StageRecord:
    """A stage as the journal keeps it."""

    title: str
    subject: str
    cluster: str
    spec: JsonMap
    progress: Progress = Progress.PENDING
    captured: JsonMap = field(default_factory=dict)
    facts: JsonMap = field(default_factory=dict)

    @classmethod
    def of(cls, stage: Stage) -> StageRecord:
        """What is known of a stage before it begins."""
        return cls(stage.title, stage.subject, stage.cluster, stage.spec())

    @property
    def name(self) -> str:
        """The stage's name."""
        return stage_name(self.title, self.subject, cluster=self.cluster)

    @classmethod
    def from_json(cls, fields: JsonMap) -> StageRecord:
        """Read what ``dataclasses.asdict`` wrote."""
        return cls(**{**fields, "progress": Progress(fields["progress"])})


@dataclass(frozen=True, slots=True)
class SagaRecord:
    """What is known of a saga.

    ``resource``: in whose journal it is kept. ``operation``: what is being done, in words. ``key``: what a retry knows
    its own saga by: equal for the same plan made from the same observation. ``beside``: name and journal (a URI) of
    each other resource that it holds.
    """

    resource: str
    owner: Owner
    state: SagaState = SagaState.CLAIMED
    operation: str = ""
    key: str = ""
    stages: tuple[StageRecord, ...] = ()
    beside: tuple[tuple[str, str], ...] = ()

    @property
    def captures(self) -> Captures:
        """What was captured, by the stages' names."""
        return {one.name: one.captured for one in self.stages if one.progress is not Progress.PENDING}

    def stage(self, name: str) -> StageRecord:
        """The record of a stage; raises :class:`KeyError`."""
        return {one.name: one for one in self.stages}[name]

    def of_title(self, title: str) -> StageRecord | None:
        """The first stage of a class; None where there is none."""
        return next((one for one in self.stages if one.title == title), None)

    def with_stage(self, changed: StageRecord) -> SagaRecord:
        """The same, with this stage in the place of the one of its name."""
        return replace(self, stages=tuple(changed if one.name == changed.name else one for one in self.stages))

    def with_stages(self, stages: Iterable[Stage]) -> SagaRecord:
        """The same, with stages added that it doesn't hold yet."""
        there = {one.name for one in self.stages}
        return replace(self, stages=(*self.stages, *(StageRecord.of(one) for one in stages if one.name not in there)))

    def as_json(self) -> dict[str, Any]:
        """Write it; :meth:`from_json` reads it."""
        return asdict(self)

    @classmethod
    def from_json(cls, fields: JsonMap) -> SagaRecord:
        """Read what :meth:`as_json` wrote."""
        return cls(
            resource=fields["resource"],
            owner=Owner(**fields["owner"]),
            state=SagaState(fields["state"]),
            operation=fields["operation"],
            key=fields["key"],
            stages=tuple(StageRecord.from_json(one) for one in fields["stages"]),
            beside=tuple((name, uri) for name, uri in fields["beside"]),
        )

"""What a journal keeps of a saga: its owner, its stages, and how far each has come."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum

from airflow_provider_connect_offsets.offsets.json_codec import JsonRecord
from airflow_provider_connect_offsets.saga.lease import Owner
from airflow_provider_connect_offsets.saga.stage import Captures, JsonMap, Stage, stage_name


class SagaState(StrEnum):
    """How far a saga has come.

    CLAIMED: nothing was begun. FORWARD, BACK: its stages are being made or undone. DONE, UNDONE: all stages were made
    or undone. ABANDONED: someone else has changed what it was about; nothing is left to do.
    """

    CLAIMED = "claimed"
    FORWARD = "forward"
    BACK = "back"
    DONE = "done"
    UNDONE = "undone"
    ABANDONED = "abandoned"

    @property
    def is_unfinished(self) -> bool:
        """True if something is left to do."""
        return self in {SagaState.FORWARD, SagaState.BACK}


class Toward(StrEnum):
    """How an unfinished saga is settled: FORWARD finishes it if all its undoable stages are found DONE; BACK undoes it.

    Whatever is requested, a saga that has passed its pivot is finished, and one that is being undone is undone.
    """

    FORWARD = "forward"
    BACK = "back"


class Progress(StrEnum):
    """How far a stage has come: PENDING until it is captured, BEGUN until its ``do`` returns."""

    PENDING = "pending"
    BEGUN = "begun"
    DONE = "done"
    UNDONE = "undone"

    @property
    def is_captured(self) -> bool:
        """True if it may have changed anything that was not undone."""
        return self in {Progress.BEGUN, Progress.DONE}


@dataclass(frozen=True, slots=True)
class StageRecord(JsonRecord):
    """A stage as the journal keeps it; the attributes are those of :class:`Stage`."""

    title: str
    subject: str
    cluster: str
    spec: JsonMap
    progress: Progress = Progress.PENDING
    captured: JsonMap = field(default_factory=dict)
    facts: JsonMap = field(default_factory=dict)

    @classmethod
    def of(cls, stage: Stage) -> StageRecord:
        """Return the record of a stage that has not begun."""
        return cls(stage.title, stage.subject, stage.cluster, stage.spec())

    @property
    def name(self) -> str:
        """The stage's name in the saga."""
        return stage_name(self.title, self.subject, cluster=self.cluster)


@dataclass(frozen=True, slots=True)
class SagaRecord(JsonRecord):
    """A saga as the journal keeps it.

    Attributes:
        resource: The resource whose journal keeps it.
        owner: Who makes it.
        state: How far it has come.
        operation: What is done, in words.
        key: Identifies the saga for a retry: equal for the same plan made from the same observation.
        stages: Its stages.
        beside: Name and journal URI of each other resource that its lease covers.
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
        """Stage name → what it captured."""
        return {one.name: one.captured for one in self.stages if one.progress is not Progress.PENDING}

    def stage(self, name: str) -> StageRecord:
        """Return the record of the stage of that name; raises :class:`KeyError`."""
        return {one.name: one for one in self.stages}[name]

    def of_title(self, title: str) -> StageRecord | None:
        """Return the first stage with that title; None if there is none."""
        return next((one for one in self.stages if one.title == title), None)

    def with_stage(self, changed: StageRecord) -> SagaRecord:
        """Return a copy in which this stage replaces the one of its name."""
        return replace(self, stages=tuple(changed if one.name == changed.name else one for one in self.stages))

    def with_stages(self, stages: Iterable[Stage]) -> SagaRecord:
        """Return a copy with those stages added that it lacks."""
        known = {one.name for one in self.stages}
        return replace(self, stages=(*self.stages, *(StageRecord.of(one) for one in stages if one.name not in known)))

    @classmethod
    def from_json(cls, value: JsonMap) -> SagaRecord:
        """Read what ``as_json`` wrote; raises :class:`KeyError` for a missing key: an incomplete record is damaged."""
        complete = {one.name: value[one.name] for one in fields(cls)}
        for stage in complete["stages"]:
            stage["progress"]
        # Not super(): with slots, the class in its scope is not this one.
        return super(SagaRecord, cls).from_json(complete)

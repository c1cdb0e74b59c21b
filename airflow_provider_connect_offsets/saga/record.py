"""What a journal keeps of a saga: its owner, its stages, and how far each has come."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from enum import StrEnum
from types import MappingProxyType

from airflow_provider_connect_offsets import __version__
from airflow_provider_connect_offsets.exceptions import UnknownFormat
from airflow_provider_connect_offsets.offsets.json_codec import JsonRecord
from airflow_provider_connect_offsets.saga.lease import Owner
from airflow_provider_connect_offsets.saga.stage import Captures, JsonMap, Stage, stage_name

# Incremented with each change of records or stages after which older versions would misread a dead run's journal.
FORMAT = 2
# The version in records that were written before the first release, and of records without a version.
_UNRELEASED = "0.1.0"
_REQUIRED = ("resource", "owner", "state", "stages")


class SagaState(StrEnum):
    """How far a saga has come.

    CLAIMED: nothing was begun. FORWARD, BACK: its stages are being made or undone. DONE, UNDONE: all stages were made
    or undone. ABANDONED: someone else has changed its resources; nothing is left to do.
    """

    CLAIMED = "claimed"
    FORWARD = "forward"
    BACK = "back"
    DONE = "done"
    UNDONE = "undone"
    ABANDONED = "abandoned"

    @property
    def is_unfinished(self) -> bool:
        """Whether something is left to do."""
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
        """Whether the stage may still need undoing."""
        return self in {Progress.BEGUN, Progress.DONE}


@dataclass(frozen=True, slots=True)
class StageRecord(JsonRecord):
    """A stage as the journal keeps it: what identifies it, its progress, what it captured, and its facts."""

    title: str
    subject: str
    cluster: str
    spec: JsonMap
    progress: Progress = Progress.PENDING
    captured: JsonMap = field(default_factory=dict)
    facts: JsonMap = field(default_factory=dict)

    @classmethod
    def of(cls, stage: Stage, inherited: JsonMap | None = None) -> StageRecord:
        """Return the record of a new stage; ``inherited``: what an earlier saga captured for it and has not undone."""
        new = cls(stage.title, stage.subject, stage.cluster, stage.spec())
        return new if inherited is None else replace(new, progress=Progress.BEGUN, captured=inherited)

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
        format: Format of the record.
        version: Version of this package that has written it.
    """

    resource: str
    owner: Owner
    state: SagaState = SagaState.CLAIMED
    operation: str = ""
    key: str = ""
    stages: tuple[StageRecord, ...] = ()
    beside: tuple[tuple[str, str], ...] = ()
    format: int = FORMAT
    version: str = __version__

    @property
    def is_begun(self) -> bool:
        """Whether it is more than a claim: its stages were to be made."""
        return self.state is not SagaState.CLAIMED

    @property
    def captures(self) -> Captures:
        """Stage name → what it captured."""
        return {one.name: one.captured for one in self.stages if one.progress is not Progress.PENDING}

    def stage(self, name: str) -> StageRecord:
        """Return the record of the stage of that name; raises :class:`KeyError`."""
        return {one.name: one for one in self.stages}[name]

    def of_title(self, title: str) -> StageRecord | None:
        """Return the first stage with that title; None if no stage has it."""
        return next((one for one in self.stages if one.title == title), None)

    def with_stage(self, changed: StageRecord) -> SagaRecord:
        """Return a copy in which this stage replaces the stage of the same name."""
        return replace(self, stages=tuple(changed if one.name == changed.name else one for one in self.stages))

    def with_stages(self, stages: Iterable[Stage], inherited: Captures = MappingProxyType({})) -> SagaRecord:
        """Return a copy with each of ``stages`` added that it lacks.

        ``inherited``: stage name → what an earlier saga has captured for it, whose effect still lasts.
        """
        known = {one.name for one in self.stages}
        added = (StageRecord.of(one, inherited.get(one.name)) for one in stages if one.name not in known)
        return replace(self, stages=(*self.stages, *added))

    def unknown(self, what: str) -> UnknownFormat:
        """Return the error for something in this record that this version does not know."""
        released = self.version != _UNRELEASED
        writer = f"version {self.version}" if released else "a version before the first release"
        wanted = f"version {self.version}" if released else "the version that you had before"
        return UnknownFormat(
            f"Nothing was done: {self.operation or 'a change'} of {self.resource!r} by run {self.owner.run!r} is "
            f"unfinished, and was begun by {writer} of airflow-provider-connect-offsets with {what}, which version "
            f"{__version__} does not know. Install {wanted}, and finish or undo the operation: run it again, or use "
            "`connect-offsets recover`. Then upgrade or downgrade."
        )

    @classmethod
    def from_json(cls, value: JsonMap) -> SagaRecord:
        """Read what ``as_json`` wrote, in this version or an earlier one.

        Raises:
            KeyError: A key is missing that every version writes: an incomplete record is damaged.
            UnknownFormat: A later version wrote it.
        """
        if (known := {"format": 1, "version": _UNRELEASED, **value})["format"] > FORMAT:
            raise UnknownFormat(
                f"Nothing was done: the journal of {known['resource']!r} was written by version {known['version']} of "
                f"airflow-provider-connect-offsets in format {known['format']}, but version {__version__} can read "
                f"format {FORMAT} at most. Install version {known['version']} or later, and try again."
            )
        for name in _REQUIRED:
            known[name]
        for stage in known["stages"]:
            stage["progress"]
        # Not super(): with slots, the class in its scope is not this one.
        return super(SagaRecord, cls).from_json(known)

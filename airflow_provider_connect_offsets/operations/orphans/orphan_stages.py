"""Removes orphaned offsets, one run at a time; the next run finishes what a dead one has begun."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from types import MappingProxyType

from airflow_provider_connect_offsets.connect.storage.offsets_topic import OffsetsTopic
from airflow_provider_connect_offsets.exceptions import DatasetError, NotRemoved, PlanRefused
from airflow_provider_connect_offsets.operations.orphans.orphans import (
    Exist,
    Keep,
    Removal,
    left_to_remove,
    remove_approved,
)
from airflow_provider_connect_offsets.operations.stages.captured import CONNECTIONS
from airflow_provider_connect_offsets.saga import (
    Done,
    Executor,
    Explanation,
    Found,
    Journal,
    JournalEntry,
    JsonMap,
    Kind,
    Owner,
    SagaState,
    Stage,
    StageState,
    Toward,
)
from airflow_provider_connect_offsets.workspace.layout import OrphansDirectory, journal_root

log = logging.getLogger(__name__)


def orphans_journal(workspace: str, topic: OffsetsTopic) -> Journal:
    """Return the journal of an offsets topic; raises store errors."""
    return Journal(journal_root(workspace), cluster=topic.cluster_id(), resource=f"offsets topic {topic.topic}")


class RemoveOrphans(Stage):
    """Writes tombstones for the orphans of a run, and proves them; once begun, it is only finished.

    The removed offsets are durable before, in ``removed.json`` of the run's directory, which a person can import.

    Args:
        directory: Directory of the run.
        topic: The offsets topic.
        exist: Returns the names of the connectors that exist now.
        digest: Digest of the approved orphans.
        connections: Parameter → id of the Airflow connection that it named; shown in messages.
        keep: Writes the removed offsets elsewhere as well; None: nowhere else.

    Attributes:
        removal: The result; None until it is done.
    """

    title = "remove_orphans"
    kind = Kind.PIVOT

    def __init__(
        self,
        directory: OrphansDirectory,
        topic: OffsetsTopic,
        *,
        exist: Exist,
        digest: str,
        connections: Mapping[str, str] = MappingProxyType({}),
        keep: Keep | None = None,
    ) -> None:
        super().__init__(topic.topic)
        self.directory = directory
        self.topic = topic
        self.exist = exist
        self._digest = digest
        self._connections = connections
        self._keep = keep
        self.removal: Removal | None = None

    def spec(self) -> JsonMap:
        """Return the run's directory, the digest of what was approved, and the connections."""
        return {"directory": self.directory.uri, "digest": self._digest, CONNECTIONS: dict(self._connections)}

    def do(self, captured: JsonMap) -> Done:
        """Remove them; raises as ``remove_approved`` does."""
        self.removal = self.remove()
        return Done()

    def remove(self) -> Removal:
        """Remove those that are still stored; raises as ``remove_approved`` does."""
        return remove_approved(self.directory, self.topic, exist=self.exist, digest=self._digest, keep=self._keep)

    def find(self, captured: JsonMap) -> StageState:
        """BEFORE while no removed offsets are kept; DONE once no approved offset is stored that is still orphaned."""
        try:
            left = left_to_remove(self.directory, self.topic, exist=self.exist, digest=self._digest)
        except (DatasetError, PlanRefused) as error:  # what was approved is unknown by now
            return StageState(Found.BEFORE, error)
        if left is None:
            return StageState(Found.BEFORE, NotRemoved("Nothing was removed."))
        message = f"Topic {self.topic.topic!r} still has {left:,} of the orphaned offsets that were to be removed."
        return StageState(Found.PARTIAL, NotRemoved(message)) if left else StageState(Found.DONE)


def remove_orphans(journal: Journal, owner: Owner, stage: RemoveOrphans, *, kept: str = "") -> Removal:
    """Remove the approved orphans, while no other run removes any from the topic; finishes first what a dead run began.

    Args:
        journal: The journal of the offsets topic.
        owner: This process.
        stage: The removal.
        kept: Which file the error names for importing the removed offsets; empty: that in the run's directory.

    Raises:
        Overlap, PlanRefused: Nothing was removed.
        NotRemoved: Some were left; names what was removed and what was not.
        StoreError: Some may be removed; run it again.
    """
    with journal.claim(owner) as entry:
        finish(entry, stage.topic, exist=stage.exist)
        operation = f"the removal of orphaned offsets by {stage.directory.uri}"
        entry.begin(owner, operation=operation, key="", stages=[stage])
        Executor(entry, [stage], Explanation()).run()
        # After an error behind the last tombstone all is removed, and the result is not known yet.
        removal = stage.removal or stage.remove()
    if removal.left:
        raise NotRemoved(removal.sentence(stage.topic.topic, kept=kept or stage.directory.removed))
    return removal


def finish(entry: JournalEntry, topic: OffsetsTopic, *, exist: Exist) -> str | None:
    """Finish what a dead run has begun to remove; ``exist``: as of :class:`RemoveOrphans`. Raises store errors.

    Returns:
        A sentence about it; None if nothing was left.
    """
    record = entry.record
    if not record.state.is_unfinished:
        return None
    stages = [
        RemoveOrphans(OrphansDirectory(one.spec["directory"]), topic, exist=exist, digest=one.spec["digest"])
        for one in record.stages
    ]
    settled = Executor(entry, stages, Explanation()).settle(Toward.BACK)
    finished = settled.record.state is SagaState.DONE
    result = "What it had begun is finished now." if finished else "It had removed nothing, and was given up."
    message = f"{record.operation}, run {record.owner.run!r}, ended before its time. {result}"
    log.warning("%s", message)
    return message

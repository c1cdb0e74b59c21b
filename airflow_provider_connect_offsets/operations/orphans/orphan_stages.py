"""The removal of orphaned offsets, by one run at a time; what a dead run has begun is finished by the next."""

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
from airflow_provider_connect_offsets.saga.entry import JournalEntry
from airflow_provider_connect_offsets.saga.executor import Executor, Toward
from airflow_provider_connect_offsets.saga.explanation import AsItIs
from airflow_provider_connect_offsets.saga.journal import Journal
from airflow_provider_connect_offsets.saga.lease import Owner
from airflow_provider_connect_offsets.saga.record import SagaState
from airflow_provider_connect_offsets.saga.stage import Done, Found, JsonMap, Kind, Stage, StageState
from airflow_provider_connect_offsets.workspace.layout import OrphansDirectory, journal_root

log = logging.getLogger(__name__)


def orphans_journal(workspace: str, topic: OffsetsTopic) -> Journal:
    """The journal of an offsets topic; raises store errors."""
    return Journal(journal_root(workspace), cluster=topic.cluster_id(), connector=f"offsets topic {topic.topic}")


class RemoveOrphans(Stage):
    """Write tombstones for the orphans that a run has found, and prove them; once begun, it is only finished.

    What is removed is durable before, in ``removed.json`` of the run's directory, from which a person can import it.
    ``exist``: names of the connectors that exist now. ``digest``: of what was approved. ``connections``: the Airflow
    connections that lead to both, by the names of the parameters that give them; for people. ``keep``: writes the way
    back in another place as well.
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
        """The run's directory, and the digest of what was approved."""
        named = {"directory": self.directory.uri, "digest": self._digest}
        return {**named, CONNECTIONS: dict(self._connections)}

    def do(self, captured: JsonMap) -> Done:
        """Remove them; raises as ``remove_approved`` does."""
        del captured
        self.removal = self.remove()
        return Done()

    def remove(self) -> Removal:
        """Remove what stands of them; raises as ``remove_approved`` does."""
        return remove_approved(self.directory, self.topic, exist=self.exist, digest=self._digest, keep=self._keep)

    def find(self, captured: JsonMap) -> StageState:
        """BEFORE while there is nothing to be imported back, DONE once none stands that is orphaned still."""
        del captured
        try:
            left = left_to_remove(self.directory, self.topic, exist=self.exist, digest=self._digest)
        except (DatasetError, PlanRefused) as error:  # nobody can tell any more what was approved
            return StageState(Found.BEFORE, error)
        if left is None:
            return StageState(Found.BEFORE, NotRemoved("Nothing was removed."))
        told = f"{left:,} of the orphaned offsets that were to be removed stand in topic {self.topic.topic!r} still."
        return StageState(Found.PARTIAL, NotRemoved(told)) if left else StageState(Found.DONE)


def remove_orphans(journal: Journal, owner: Owner, stage: RemoveOrphans, *, kept: str = "") -> Removal:
    """Remove the orphans that were approved, while no other run removes any from the topic.

    What a dead run has begun is finished first. ``kept``: where people are told that the way back is, by default in the
    run's directory. Raises :class:`Overlap` and :class:`PlanRefused` (nothing was removed), :class:`NotRemoved` at the
    end, naming what was and what was not, and store errors, after which some may be removed: run it again.
    """
    with journal.claim(owner) as entry:
        finish(entry, stage.topic, exist=stage.exist)
        operation = f"the removal of orphaned offsets by {stage.directory.uri}"
        entry.begin(owner, operation=operation, key="", stages=[stage])
        Executor(entry, [stage], AsItIs()).run()
        # An error after the last tombstone: all is removed, and nobody has written down what that was.
        removal = stage.removal or stage.remove()
    if removal.removed.left:
        raise NotRemoved(removal.removed.sentence(stage.topic.topic, kept=kept or stage.directory.removed))
    return removal


def finish(entry: JournalEntry, topic: OffsetsTopic, *, exist: Exist) -> str | None:
    """Finish what a dead run has begun to remove; says so, None where nothing was left. Raises store errors."""
    record = entry.record
    if not record.state.is_unfinished:
        return None
    stages = [
        RemoveOrphans(OrphansDirectory(one.spec["directory"]), topic, exist=exist, digest=one.spec["digest"])
        for one in record.stages
    ]
    settled = Executor(entry, stages, AsItIs()).settle(Toward.BACK)
    finished = settled.record.state is SagaState.DONE
    became = "What it had begun is finished now." if finished else "It had removed nothing, and was given up."
    told = f"{record.operation}, run {record.owner.run!r}, ended before its time. {became}"
    log.warning("%s", told)
    return told

"""The removal of orphaned offsets, by one run at a time; what a dead run has begun is finished by the next."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from types import MappingProxyType

from airflow_provider_connect_offsets.change.captured import CONNECTIONS
from airflow_provider_connect_offsets.change.orphans import Removal, left_to_remove, remove_approved
from airflow_provider_connect_offsets.exceptions import DatasetError, NotRemoved, PlanRefused
from airflow_provider_connect_offsets.saga.entry import Entry
from airflow_provider_connect_offsets.saga.executor import Executor, Toward
from airflow_provider_connect_offsets.saga.explanation import AsItIs
from airflow_provider_connect_offsets.saga.journal import Journal
from airflow_provider_connect_offsets.saga.lease import Owner
from airflow_provider_connect_offsets.saga.record import SagaState
from airflow_provider_connect_offsets.saga.stage import Done, Found, JsonMap, Kind, Look, Stage
from airflow_provider_connect_offsets.stores.connect import ConnectRest
from airflow_provider_connect_offsets.stores.offsets_topic import OffsetsTopic
from airflow_provider_connect_offsets.workspace.layout import OrphansDirectory, journal_root

log = logging.getLogger(__name__)


def orphans_journal(workspace: str, topic: OffsetsTopic) -> Journal:
    """The journal of an offsets topic; raises store errors."""
    return Journal(journal_root(workspace), cluster=topic.cluster_id(), connector=f"offsets topic {topic.topic}")


class RemoveOrphans(Stage):
    """Write tombstones for the orphans that a run has found, and prove them; once begun, it is only finished.

    What is removed is durable before, in ``removed.json`` of the run's directory, from which a person can import it.
    ``digest``: of what was approved. ``connections``: the Airflow connections that lead to both, by the names of the
    parameters that give them; for people.
    """

    title = "remove_orphans"
    kind = Kind.PIVOT

    def __init__(
        self,
        directory: OrphansDirectory,
        connect: ConnectRest,
        topic: OffsetsTopic,
        *,
        digest: str,
        connections: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        super().__init__(topic.topic)
        self.directory = directory
        self.connect = connect
        self.topic = topic
        self._digest = digest
        self._connections = connections
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
        return remove_approved(self.directory, self.connect, self.topic, digest=self._digest)

    def find(self, captured: JsonMap) -> Look:
        """BEFORE while there is nothing to be imported back, DONE once none stands that is orphaned still."""
        del captured
        try:
            left = left_to_remove(self.directory, self.connect, self.topic, digest=self._digest)
        except (DatasetError, PlanRefused) as error:  # nobody can tell any more what was approved
            return Look(Found.BEFORE, error)
        if left is None:
            return Look(Found.BEFORE, NotRemoved("Nothing was removed."))
        told = f"{left:,} of the orphaned offsets that were to be removed stand in topic {self.topic.topic!r} still."
        return Look(Found.PARTIAL, NotRemoved(told)) if left else Look(Found.DONE)


def remove_orphans(journal: Journal, owner: Owner, stage: RemoveOrphans) -> Removal:
    """Remove the orphans that were approved, while no other run removes any from the topic.

    What a dead run has begun is finished first. Raises :class:`Overlap` and :class:`PlanRefused` (nothing was removed),
    :class:`NotRemoved` at the end, naming what was and what was not, and store errors, after which some may be removed:
    run it again.
    """
    with journal.claim(owner) as entry:
        finish(entry, stage.connect, stage.topic)
        entry.begin(
            owner, operation=f"the removal of orphaned offsets by {stage.directory.uri}", key="", stages=[stage]
        )
        Executor(entry, [stage], AsItIs()).run()
        # An error after the last tombstone: all is removed, and nobody has written down what that was.
        removal = stage.removal or stage.remove()
    if removal.removed.left:
        raise NotRemoved(removal.removed.sentence(stage.topic.topic, kept=stage.directory.removed))
    return removal


def finish(entry: Entry, connect: ConnectRest, topic: OffsetsTopic) -> str | None:
    """Finish what a dead run has begun to remove; says so, None where nothing was left. Raises store errors."""
    record = entry.record
    if not record.state.is_unfinished:
        return None
    stages = [
        RemoveOrphans(OrphansDirectory(one.spec["directory"]), connect, topic, digest=one.spec["digest"])
        for one in record.stages
    ]
    settled = Executor(entry, stages, AsItIs()).settle(Toward.BACK)
    finished = settled.record.state is SagaState.DONE
    became = "What it had begun is finished now." if finished else "It had removed nothing, and was given up."
    told = f"{record.operation}, run {record.owner.run!r}, ended before its time. {became}"
    log.warning("%s", told)
    return told

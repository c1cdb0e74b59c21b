"""The stage that removes orphaned offsets from the workers' offsets topic."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Self

from airflow_provider_connect_offsets.exceptions import DatasetError, InvalidInput, NotRemoved, PlanRefused
from airflow_provider_connect_offsets.observe.clients import Clients
from airflow_provider_connect_offsets.offsets.requests.guards import Named
from airflow_provider_connect_offsets.operations.stages.captured import CONNECTIONS, ORPHANS
from airflow_provider_connect_offsets.operations.stages.orphans.orphaned_offsets import (
    Keep,
    Removal,
    count_left,
    lister_of,
    read_approved,
    remove_approved,
)
from airflow_provider_connect_offsets.operations.stages.reached import ReachedStage
from airflow_provider_connect_offsets.saga import (
    Done,
    Found,
    JsonMap,
    Kind,
    SagaState,
    Settled,
    StageRecord,
    StageState,
)
from airflow_provider_connect_offsets.workspace.layout import OrphansDirectory


class RemoveOrphans(ReachedStage):
    """Writes tombstones for the orphans of a run, and reads them back; once begun, it is only finished.

    The removed offsets are made durable first, in ``removed.json`` of the run's directory, which a person can import.

    Args:
        directory: Directory of the run.
        clients: Clients of the Connect cluster, and the topic.
        digest: Digest of the approved orphans.
        keep: Writes the removed offsets elsewhere as well; None: nowhere else.

    Attributes:
        removal: The result; None until it is done.
    """

    title = ORPHANS
    kind = Kind.PIVOT

    def __init__(self, directory: OrphansDirectory, clients: Clients, *, digest: str, keep: Keep | None = None) -> None:
        if clients.topic is None:
            raise InvalidInput("Nothing was removed: give the name of the workers' offsets topic.")
        super().__init__(clients.topic.topic)
        self.directory = directory
        self.topic = clients.topic
        self.exist = lister_of(clients.control, clients.topic)
        self._digest = digest
        self._connections = clients.connections
        self._keep = keep
        self.removal: Removal | None = None

    @classmethod
    def is_reached(cls, clients: Clients, record: StageRecord) -> bool:
        """Whether the clients are of that topic."""
        return clients.topic is not None and clients.topic.topic == record.subject

    @classmethod
    def build(cls, subject: str, clients: Clients, spec: JsonMap) -> Self:
        """Build the stage from what :meth:`spec` has returned."""
        del subject
        return cls(OrphansDirectory(spec["directory"]), clients, digest=spec["digest"])

    def changed_names(self) -> Iterable[tuple[Named, str]]:
        """Return the connectors whose offsets are removed."""
        names = {orphan.connector for orphan in read_approved(self.directory, self._digest)}
        return [(Named.CONNECTOR, name) for name in sorted(names)]

    def spec(self) -> JsonMap:
        """Return the run's directory, the digest of what was approved, and the connections."""
        return {"directory": self.directory.uri, "digest": self._digest, CONNECTIONS: dict(self._connections)}

    def do(self, captured: JsonMap) -> Done:
        """Remove them; raises as ``remove_approved`` does."""
        self.removal = self.remove()
        return Done()

    def remove(self) -> Removal:
        """Remove the orphans that are still stored; raises as ``remove_approved`` does."""
        return remove_approved(self.directory, self.topic, exist=self.exist, digest=self._digest, keep=self._keep)

    def find(self, captured: JsonMap) -> StageState:
        """Return BEFORE while no removed offsets are kept; DONE once no approved, still orphaned offset is stored."""
        try:
            left = count_left(self.directory, self.topic, exist=self.exist, digest=self._digest)
        except (DatasetError, PlanRefused) as error:  # what was approved is unknown by now
            return StageState(Found.BEFORE, error)
        if left is None:
            return StageState(Found.BEFORE, NotRemoved("Nothing was removed."))
        if not left and self.removal is None:  # an error after the last tombstone hid the result
            self.removal = self.remove()
        message = f"Topic {self.topic.topic!r} still has {left:,} of the orphaned offsets that were to be removed."
        return StageState(Found.PARTIAL, NotRemoved(message)) if left else StageState(Found.DONE)


def describe_removal(settled: Settled) -> str:
    """Describe what has become of a dead removal."""
    record = settled.record
    finished = record.state is SagaState.DONE
    result = "It has been finished now." if finished else "It had removed nothing, and was given up."
    return f"{record.operation}, run {record.owner.run!r}, ended unfinished. {result}"

"""The stage that moves the consumer groups of a run, and how it is settled after its process has died."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import Self, cast

from airflow_provider_connect_offsets.exceptions import ConnectOffsetsError, StoreError
from airflow_provider_connect_offsets.kafka.cluster import KafkaCluster
from airflow_provider_connect_offsets.observe.clients import Clients, Origin
from airflow_provider_connect_offsets.offsets.requests.failover import Move
from airflow_provider_connect_offsets.offsets.requests.guards import Named
from airflow_provider_connect_offsets.operations.stages.captured import CONNECTIONS, MOVE
from airflow_provider_connect_offsets.operations.stages.groups.deleted_groups import commit_deleted, is_whole
from airflow_provider_connect_offsets.operations.stages.groups.left_groups import reasons
from airflow_provider_connect_offsets.operations.stages.reached import ReachedStage
from airflow_provider_connect_offsets.saga import (
    Done,
    Explanation,
    Found,
    JsonMap,
    Kind,
    SagaRecord,
    Settled,
    StageRecord,
    StageState,
    Undoing,
)
from airflow_provider_connect_offsets.workspace.datasets import iterate_dataset
from airflow_provider_connect_offsets.workspace.flow_schemas import TRANSLATION
from airflow_provider_connect_offsets.workspace.layout import FailoverDirectory

log = logging.getLogger(__name__)


def groups_resource(cluster: str) -> str:
    """Return the name, in journals, of all consumer groups of the Kafka cluster with that id."""
    return f"consumer groups of {cluster}"


class MoveGroups(ReachedStage):
    """Commits or restores the groups of a run.

    The undo commits again the offsets that deleted groups lack. Other commits stay: the run's restore undoes them.

    Args:
        clients: Clients of the groups.
        directory: Directory of the run, which keeps what it has replaced and deleted.
        move: Moves the groups; its errors say what stays committed. None in a later process.
    """

    title = MOVE
    kind = Kind.UNDOABLE

    def __init__(self, clients: Clients, directory: FailoverDirectory, move: Callable[[], None] | None = None) -> None:
        super().__init__(groups_resource(_cluster(clients).cluster_id()))
        self._clients = clients
        self._directory = directory
        self._move = move

    @classmethod
    def is_reached(cls, clients: Clients, record: StageRecord) -> bool:
        """Whether the clients are for the groups of that cluster."""
        return clients.origin is Origin.GROUP and record.subject == groups_resource(_cluster(clients).cluster_id())

    @classmethod
    def build(cls, subject: str, clients: Clients, spec: JsonMap) -> Self:
        """Build the stage from what :meth:`spec` has returned; it can only be undone."""
        del subject
        return cls(clients, FailoverDirectory(spec["directory"]))

    def changed_names(self) -> Iterable[tuple[Named, str]]:
        """Return the groups that are moved, and the topics on the target."""
        rows = iterate_dataset(self._directory.translation, TRANSLATION)
        moved = [(row["group"], row["target_topic"]) for row in rows if row["action"] == Move.COMMIT]
        groups, topics = ((kind, {one[at] for one in moved}) for at, kind in enumerate((Named.GROUP, Named.TOPIC)))
        return [(kind, name) for kind, names in (groups, topics) for name in sorted(names)]

    def spec(self) -> JsonMap:
        """Return the run's directory, and the connections."""
        return {"directory": self._directory.uri, CONNECTIONS: dict(self._clients.connections)}

    def do(self, captured: JsonMap) -> Done:
        """Move them; raises what ``move`` does."""
        if self._move is None:
            raise ValueError(f"{self.name} has not begun, and only its own run can begin it")
        self._move()
        return Done()

    def find(self, captured: JsonMap) -> StageState:
        """Return DONE if no group is left deleted."""
        return StageState(Found.DONE if is_whole(self._directory) else Found.PARTIAL)

    def undo(self, captured: JsonMap, undoing: Undoing) -> str:
        """Commit what deleted groups lack; raises :class:`StoreError` if some still lack offsets."""
        left = commit_deleted(self._directory, _cluster(self._clients))
        if not is_whole(self._directory):
            raise StoreError(
                f"Groups that were deleted to clear single offsets still lack other offsets: {reasons(left)}."
            )
        return f" {reasons(left)}." if left else ""


class MoveExplained(Explanation):
    """Returns the move's error, which names the groups' offsets and the next step."""

    def explain_not_undone(self, error: BaseException, failure: ConnectOffsetsError, record: SagaRecord) -> Exception:
        """Return the error; the failure, if an interruption ended the move."""
        if not isinstance(error, Exception):
            return failure
        log.warning("%s", failure)
        return error


def describe_move(settled: Settled) -> str:
    """Describe what has become of a dead move."""
    record = settled.record
    return (
        f"{record.operation}, run {record.owner.run!r}, ended unfinished. It has left no group deleted. Offsets that "
        f"it has committed stay, and the next attempt of that run continues.{settled.lost}"
    )


def _cluster(clients: Clients) -> KafkaCluster:
    """Return the cluster of the groups that these clients change."""
    return cast("KafkaCluster", clients.logs)

"""Moves the consumer groups of a cluster, one run at a time; repairs first what a dead run has left of them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeVar

import tenacity

from airflow_provider_connect_offsets.clock import retrying
from airflow_provider_connect_offsets.exceptions import ConnectOffsetsError, Overlap, StoreError
from airflow_provider_connect_offsets.kafka.cluster import KafkaCluster
from airflow_provider_connect_offsets.offsets.requests.failover import Move
from airflow_provider_connect_offsets.operations.groups.deleted_groups import commit_deleted, is_whole
from airflow_provider_connect_offsets.operations.groups.group_clients import groups_of
from airflow_provider_connect_offsets.operations.groups.left_groups import reasons
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
    SagaRecord,
    Stage,
    StageState,
    Toward,
    Undoing,
    journals_of,
)
from airflow_provider_connect_offsets.workspace.datasets import iterate_dataset
from airflow_provider_connect_offsets.workspace.flow_schemas import TRANSLATION
from airflow_provider_connect_offsets.workspace.layout import FailoverDirectory, journal_root

log = logging.getLogger(__name__)
T = TypeVar("T")

# Seconds to wait until another run has moved its groups: several flows may fail over into one cluster at a time.
TIMEOUT = 600.0


def groups_journal(workspace: str, *, cluster: str) -> Journal:
    """Return the journal of all consumer groups of the Kafka cluster with that id."""
    return Journal(journal_root(workspace), cluster=cluster, resource=f"consumer groups of {cluster}")


@dataclass(frozen=True, slots=True)
class TargetGroups:
    """The consumer groups of a cluster, and their journal.

    Attributes:
        cluster: The cluster.
        workspace: URI of the workspace.
        journal: The journal of all its groups.
        connections: Parameter → id of the Airflow connection that it named; shown in messages.
    """

    cluster: KafkaCluster
    workspace: str
    journal: Journal
    connections: Mapping[str, str]

    @classmethod
    def of(cls, cluster: KafkaCluster, workspace: str, **connections: str) -> TargetGroups:
        """Return the groups of ``cluster``, with their journal in ``workspace``; raises store errors."""
        return cls(cluster, workspace, groups_journal(workspace, cluster=cluster.cluster_id()), connections)

    def refuse_changed(self, directory: FailoverDirectory, run: str) -> None:
        """Raise :class:`Overlap` if another run is changing the offsets of a group that ``directory`` translates."""
        rows = iterate_dataset(directory.translation, TRANSLATION)
        moved = sorted({row["group"] for row in rows if row["action"] == Move.COMMIT})
        cluster = groups_of(self.cluster.cluster_id())
        for journal in journals_of(journal_root(self.workspace), cluster=cluster, resources=moved):
            journal.refuse_overlap(run)


class MoveGroups(Stage):
    """Commits or restores the groups of a run.

    The undo commits again what groups lack that were deleted meanwhile. Other commits stay: the run's restore undoes
    them.

    Args:
        groups: The journal's name of the groups.
        target: Their cluster.
        directory: Directory of the run, which keeps what it has replaced and deleted.
        move: Moves the groups; its errors say what stays committed. None in a later process.
        connections: Parameter → id of the Airflow connection that it named.
    """

    title = "move_groups"
    kind = Kind.UNDOABLE

    def __init__(
        self,
        groups: str,
        target: KafkaCluster,
        directory: FailoverDirectory,
        move: Callable[[], None] | None = None,
        *,
        connections: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        super().__init__(groups)
        self._target = target
        self._directory = directory
        self._move = move
        self._connections = connections

    def spec(self) -> JsonMap:
        """Return the run's directory, and the connections."""
        return {"directory": self._directory.uri, CONNECTIONS: dict(self._connections)}

    def do(self, captured: JsonMap) -> Done:
        """Move them; raises what ``move`` does."""
        if self._move is None:
            raise ValueError(f"{self.name} was not begun, and only its own run can begin it")
        self._move()
        return Done()

    def find(self, captured: JsonMap) -> StageState:
        """DONE if no group is left deleted."""
        return StageState(Found.DONE if is_whole(self._directory) else Found.PARTIAL)

    def undo(self, captured: JsonMap, undoing: Undoing) -> str:
        """Commit what deleted groups lack; raises :class:`StoreError` if some still lack offsets."""
        left = commit_deleted(self._directory, self._target)
        if not is_whole(self._directory):
            raise StoreError(f"Groups were deleted to clear single offsets, and lack others since: {reasons(left)}.")
        return f" {reasons(left)}." if left else ""


class _Explained(Explanation):
    """Returns the move's error, which names the groups' offsets and the next step."""

    def not_undone(self, error: BaseException, failure: ConnectOffsetsError, record: SagaRecord) -> Exception:
        """Return the error; the failure, if an interruption ended the move."""
        if not isinstance(error, Exception):
            return failure
        log.warning("%s", failure)
        return error


def move_groups(
    groups: TargetGroups, owner: Owner, directory: FailoverDirectory, move: Callable[[], T], *, timeout: float = TIMEOUT
) -> T:
    """Call ``move`` while no other run moves these groups; repairs first what a dead run has left of them.

    Args:
        groups: The groups.
        owner: This process.
        directory: Directory of the run.
        move: Moves the groups.
        timeout: Seconds to wait for other runs.

    Returns:
        What ``move`` returns.

    Raises:
        Overlap: Another run still moves groups after ``timeout``, or is changing the offsets of one of them; no group
            was moved.
        JournalLost: The journal can't be written; no group was moved.
        Exception: What ``move`` raises.
    """
    results: list[T] = []
    stage = MoveGroups(
        groups.journal.resource,
        groups.cluster,
        directory,
        lambda: results.append(move()),
        connections=groups.connections,
    )
    with _claimed(groups.journal, owner, timeout) as entry:
        # A change that begins later finds this journal claimed.
        groups.refuse_changed(directory, owner.run)
        if {one.spec["directory"] for one in entry.record.stages} != {
            directory.uri
        }:  # otherwise ``move`` repairs its own
            repair(entry, groups.cluster)
        entry.begin(owner, operation=f"the move of groups by {directory.uri}", key="", stages=[stage])
        Executor(entry, [stage], _Explained()).run()
    return results[0]


def repair(entry: JournalEntry, target: KafkaCluster) -> str | None:
    """Commit again the offsets of groups that a dead run has deleted.

    Returns:
        A sentence about it; None if nothing was left.

    Raises:
        StoreError: Kafka does not answer, or refuses.
    """
    record = entry.record
    if not record.state.is_unfinished:
        return None
    stages = [MoveGroups(one.subject, target, FailoverDirectory(one.spec["directory"])) for one in record.stages]
    settled = Executor(entry, stages, _Explained()).settle(Toward.BACK)
    message = (
        f"{record.operation}, run {record.owner.run!r}, ended before its time. No group is left deleted by it; what it "
        f"had committed stays, and the next attempt of that run continues it.{settled.lost}"
    )
    log.warning("%s", message)
    return message


@contextmanager
def _claimed(journal: Journal, owner: Owner, timeout: float) -> Iterator[JournalEntry]:
    waiting = retrying(
        tenacity.retry_if_exception_type(Overlap),
        timeout=timeout,
        wait=tenacity.wait_exponential(max=10),
        before_sleep=lambda state: log.info("%s", state.outcome and state.outcome.exception()),
    )
    with ExitStack() as stack:
        yield waiting(lambda: stack.enter_context(journal.claim(owner)))

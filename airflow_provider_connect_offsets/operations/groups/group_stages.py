"""The consumer groups of a cluster, which one run at a time moves; what a dead run has left of them is mended first."""

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
from airflow_provider_connect_offsets.operations.groups.deleted_groups import commit_deleted, is_whole
from airflow_provider_connect_offsets.operations.groups.left_groups import reasons
from airflow_provider_connect_offsets.operations.stages.captured import CONNECTIONS
from airflow_provider_connect_offsets.saga.entry import JournalEntry
from airflow_provider_connect_offsets.saga.executor import Executor, Toward
from airflow_provider_connect_offsets.saga.explanation import AsItIs
from airflow_provider_connect_offsets.saga.journal import Journal
from airflow_provider_connect_offsets.saga.lease import Owner
from airflow_provider_connect_offsets.saga.record import SagaRecord
from airflow_provider_connect_offsets.saga.stage import Done, Found, JsonMap, Kind, Stage, StageState, Undoing
from airflow_provider_connect_offsets.workspace.layout import FailoverDirectory, journal_root

log = logging.getLogger(__name__)
T = TypeVar("T")

# Seconds for which a run waits until another one has moved its groups: of several flows that fail over into one
# cluster at the same time, none is to fail for that.
TIMEOUT = 600.0


def groups_journal(workspace: str, *, cluster: str) -> Journal:
    """The journal of all consumer groups of the Kafka cluster with that id."""
    return Journal(journal_root(workspace), cluster=cluster, connector=f"consumer groups of {cluster}")


@dataclass(frozen=True, slots=True)
class TargetGroups:
    """The consumer groups of a cluster, which one run at a time moves.

    ``connections``: the Airflow connections that lead to it, by the names of the parameters that give them; for people.
    """

    cluster: KafkaCluster
    journal: Journal
    connections: Mapping[str, str]

    @classmethod
    def of(cls, cluster: KafkaCluster, workspace: str, **connections: str) -> TargetGroups:
        """Those of ``cluster``, with their journal in ``workspace``; raises store errors."""
        return cls(cluster, groups_journal(workspace, cluster=cluster.cluster_id()), connections)


class MoveGroups(Stage):
    """Commit or restore the groups of a run, whose directory holds what it has replaced and deleted.

    move: does it, and says itself what stays where it fails; a later process needs none. Undone, the groups that were
    deleted on the way hold again what they held; what is committed stays, as the run's restore takes that back.
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
        """The run's directory."""
        return {"directory": self._directory.uri, CONNECTIONS: dict(self._connections)}

    def do(self, captured: JsonMap) -> Done:
        """Move them; raises what ``move`` does."""
        del captured
        if self._move is None:
            raise ValueError(f"{self.name} was not begun, and only its own run can begin it")
        self._move()
        return Done()

    def find(self, captured: JsonMap) -> StageState:
        """DONE where no group is left deleted."""
        del captured
        return StageState(Found.DONE if is_whole(self._directory) else Found.PARTIAL)

    def undo(self, captured: JsonMap, undoing: Undoing) -> str:
        """Commit what deleted groups lack; raises :class:`StoreError` where some still do, and store errors."""
        del captured, undoing
        left = commit_deleted(self._directory, self._target)
        if not is_whole(self._directory):
            raise StoreError(f"Groups were deleted to clear single offsets, and lack others since: {reasons(left)}.")
        return f" {reasons(left)}." if left else ""


class _Explained(AsItIs):
    """What a move says of its failure is the whole of it: which groups stand where, and the next step."""

    def not_undone(self, error: BaseException, failure: ConnectOffsetsError, record: SagaRecord) -> Exception:
        """The error; the failure, where an interruption ended the move."""
        del record
        if not isinstance(error, Exception):
            return failure
        log.warning("%s", failure)
        return error


def move_groups(
    groups: TargetGroups, owner: Owner, directory: FailoverDirectory, move: Callable[[], T], *, timeout: float = TIMEOUT
) -> T:
    """Call ``move`` while no other run moves these groups; gives what it does.

    What a dead run has left is mended first: its ``deleted_groups`` are committed again. ``timeout``: seconds for which
    others are waited for. Raises :class:`Overlap` after that, :class:`JournalLost` where the journal can't be written
    (no group was moved), and what ``move`` raises.
    """
    results: list[T] = []
    stage = MoveGroups(
        groups.journal.connector,
        groups.cluster,
        directory,
        lambda: results.append(move()),
        connections=groups.connections,
    )
    with _claimed(groups.journal, owner, timeout) as entry:
        if {one.spec["directory"] for one in entry.record.stages} != {directory.uri}:  # else it mends its own
            mend(entry, groups.cluster)
        entry.begin(owner, operation=f"the move of groups by {directory.uri}", key="", stages=[stage])
        Executor(entry, [stage], _Explained()).run()
    return results[0]


def mend(entry: JournalEntry, target: KafkaCluster) -> str | None:
    """Mend what a dead run has left of the groups; says so, None where nothing was left. Raises store errors."""
    record = entry.record
    if not record.state.is_unfinished:
        return None
    stages = [MoveGroups(one.subject, target, FailoverDirectory(one.spec["directory"])) for one in record.stages]
    settled = Executor(entry, stages, _Explained()).settle(Toward.BACK)
    told = (
        f"{record.operation}, run {record.owner.run!r}, ended before its time. No group is left deleted by it; what it "
        f"had committed stays, and the next attempt of that run goes on with it.{settled.lost}"
    )
    log.warning("%s", told)
    return told


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

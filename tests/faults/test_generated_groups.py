"""Each call of a commit or restore of groups is broken; the next one loses nothing."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar
from uuid import uuid4

import pytest

from airflow_provider_connect_offsets.cli import recovering
from airflow_provider_connect_offsets.exceptions import Overlap
from airflow_provider_connect_offsets.kafka.groups import Committed
from airflow_provider_connect_offsets.observe.clusters import Clusters
from airflow_provider_connect_offsets.operations.groups.group_clients import group_clients
from airflow_provider_connect_offsets.operations.groups.group_commit import commit_translation
from airflow_provider_connect_offsets.operations.groups.group_restore import restore_groups
from airflow_provider_connect_offsets.operations.groups.group_stages import groups_journal, move_groups
from airflow_provider_connect_offsets.operations.registry import make_registry
from airflow_provider_connect_offsets.saga import settle
from airflow_provider_connect_offsets.saga.lease import Owner
from sandbox import Sandbox
from tests.support.faults.dying_writes import interrupted
from tests.support.faults.fault_table import Ending, Note
from tests.support.faults.faulty_clients import Fault, Faults, Outage
from tests.support.faults.matrix import Generated
from tests.support.faults.outages import Outages
from tests.support.faults.recovered_by import RecoveredBy
from tests.support.faults.rows import FAULTS, Row, owner
from tests.support.flows.groups import cluster
from tests.support.flows.made_up_failover import GroupOffsets, MadeUpFailover

pytestmark = [pytest.mark.faults, pytest.mark.timeout(3600)]
MOST_WRITES = 20


@dataclass
class MovedGroups(Row):
    """Three groups, before and after a commit: one that moves, one that gets an offset more, one that is new."""

    sandbox: Sandbox
    folder: Path
    made_up: MadeUpFailover | None = None
    before: GroupOffsets = field(default_factory=dict)
    after: GroupOffsets = field(default_factory=dict)
    digest: str = ""

    kind = "groups"
    share = 7
    # None comes late: a broker carries out what has reached it in the order in which it came.
    faults = tuple(fault for fault in FAULTS if fault is not Fault.LATE)
    # Nothing comes between a failed commit or restore and its next attempt: no teardown undoes them.
    successors = (RecoveredBy.OTHER_RUN, RecoveredBy.PERSON, RecoveredBy.RETRY)
    is_made_once = False
    restores: ClassVar[bool]

    @classmethod
    @contextmanager
    def opened(cls, request: pytest.FixtureRequest) -> Iterator[MovedGroups]:
        yield cls(request.getfixturevalue("sandbox"), request.getfixturevalue("tmp_path"))

    def ready(self, turn: int) -> None:
        """Translated; for a restore committed as well."""
        del turn
        one = self.made_up = MadeUpFailover.start(self.sandbox, self.folder / uuid4().hex)
        moved, more, new = (one.group(name) for name in ("moved", "more", "new"))
        others = {one.at(2): Committed(7, "own")}  # which the failover leaves alone
        self.before = {
            moved: {one.at(0): Committed(3, "three")},
            more: {one.at(1): Committed(5, "five"), **others},
            new: {},
        }
        self.after = {
            moved: {one.at(0): Committed(30)},
            more: {one.at(0): Committed(40), one.at(1): Committed(50), **others},
            new: {one.at(0): Committed(60)},
        }
        one.commit_on_target({name: offsets for name, offsets in self.before.items() if offsets})
        self.digest = one.translate({moved: {0: 30}, more: {0: 40, 1: 50}, new: {0: 60}})
        if self.restores:
            one.commit(self.digest)

    @property
    def made(self) -> MadeUpFailover:
        """What :meth:`ready` has made."""
        assert self.made_up is not None
        return self.made_up

    @property
    def workspace(self) -> str:
        """With journals of its own."""
        return f"{self.made.directory.uri}-workspace"

    def act(self, faults: Faults, by: Owner) -> None:
        directory = self.made.directory
        with cluster(self.sandbox.source) as of_source, cluster(self.sandbox.target) as of_target:
            faults.registry = make_registry(group_clients(of_target, self.workspace))
            source, target = faults.around(of_source), faults.around(of_target)
            groups, clusters = group_clients(target, self.workspace), Clusters(source, target)
            if self.restores:
                move_groups(groups, by, directory, lambda: restore_groups(directory, target))
            else:
                move_groups(groups, by, directory, lambda: commit_translation(directory, clusters, digest=self.digest))

    def check(self, error: BaseException | None) -> None:
        assert error is not None or self.is_done()

    def is_done(self) -> bool:
        return self.is_moved()

    def is_moved(self, *, deleted: bool = False) -> bool:
        """Whether all groups have their translated offsets; fails if any offset is neither that nor the prior one.

        deleted: a restore may have ended between the delete of a group and the commit of what it is to hold.
        """
        goal = self.before if self.restores else self.after
        on_target = self.observed()
        for name, offsets in on_target.items():
            if deleted and not offsets:
                continue
            for where in {*offsets, *self.before[name], *self.after[name]}:
                allowed = {self.before[name].get(where), self.after[name].get(where)}
                assert offsets.get(where) in allowed, (name, on_target)
        return bool(on_target == goal)

    def recover(self, by: Owner) -> None:
        recovering.recover_groups(self.workspace, self.sandbox.target.bootstrap, run=by.run)

    def come_next(self, by: Owner) -> None:
        with cluster(self.sandbox.target) as target, suppress(Overlap):
            groups = group_clients(target, self.workspace)
            left = settle(groups_journal(groups), owner(), make_registry(groups))
            assert left is None or left.record.owner.run == by.run

    def change_theirs(self) -> None:
        """A consumer goes on from there."""
        moved = self.made.group("moved")
        self.made.commit_on_target({moved: {self.made.at(0): Committed(77, "theirs")}})

    def observed(self) -> Any:
        return self.made.on_target(*self.before)


class CommitOfGroups(MovedGroups):
    """Their translated offsets are committed."""

    name = "commit of groups"
    restores = False


class RestoreOfGroups(MovedGroups):
    """Their prior offsets are restored."""

    name = "restore of groups"
    restores = True


ROWS = (CommitOfGroups, RestoreOfGroups)


class TestGroups(Generated):
    """Each partition has its prior or its translated offset, whoever comes; the next attempt moves what is left."""

    rows = ROWS


@pytest.fixture(scope="module")
def outages(sandbox: Sandbox) -> Iterator[Outages]:
    running = Outages(sandbox)
    yield running
    running.close()


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
@pytest.mark.parametrize("whole", [False, pytest.param(True, marks=pytest.mark.long)])
def test_the_broker_goes_away_before_each_write(
    sandbox: Sandbox, outages: Outages, tmp_path: Path, note_generated: Note, *, row: type[MovedGroups], whole: bool
) -> None:
    """The same, in a process of its own, as librdkafka may end it (docs/seen.md)."""
    drawn = int(os.environ["FAULT_SEED"]) % 4
    for writes in range(MOST_WRITES) if whole else (drawn,):
        case, by = row(sandbox, tmp_path), owner()
        case.ready(writes)
        has_come = interrupted(
            "restore" if row.restores else "commit",
            sandbox.target.bootstrap,
            case.made.directory,
            digest=case.digest,
            writes=writes,
            workspace=case.workspace,
            world=lambda: outages.begin(Outage.BROKER_KILLED),
        )
        outages.wait()
        was_moved = case.is_moved(deleted=row.restores)
        case.act(Faults(), by)
        assert case.is_moved(), f"the broker was killed before write {writes + 1}"
        if not has_come:
            assert writes > 3
            return
        note_generated(Outage.BROKER_KILLED, row.name, row.kind, Ending.APPLIED if was_moved else Ending.NEXT)
    assert not whole, f"it was not through with {MOST_WRITES} writes"

"""Each call of a commit or restore of groups is broken; the next one loses nothing."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from enum import StrEnum
from itertools import product
from pathlib import Path
from uuid import uuid4

import pytest

from airflow_provider_connect_offsets.cli import recovering
from airflow_provider_connect_offsets.exceptions import ConnectOffsetsError, Overlap
from airflow_provider_connect_offsets.kafka.groups import Committed
from airflow_provider_connect_offsets.observe.clusters import Clusters
from airflow_provider_connect_offsets.operations.groups.group_clients import group_clients
from airflow_provider_connect_offsets.operations.groups.group_commit import commit_translation
from airflow_provider_connect_offsets.operations.groups.group_restore import restore_groups
from airflow_provider_connect_offsets.operations.groups.group_stages import groups_journal, move_groups
from airflow_provider_connect_offsets.operations.registry import reached
from airflow_provider_connect_offsets.saga import settle
from airflow_provider_connect_offsets.saga.lease import Owner
from sandbox import Sandbox
from tests.support.faults.dying_writes import interrupted
from tests.support.faults.fault_table import Ending, Note
from tests.support.faults.faulty_clients import Fault, Faults, Killed, Outage
from tests.support.faults.outages import Outages
from tests.support.faults.recovered_by import RecoveredBy
from tests.support.flows.groups import cluster
from tests.support.flows.made_up_failover import GroupOffsets, MadeUpFailover

pytestmark = [pytest.mark.faults, pytest.mark.timeout(3600)]
# None comes late: a broker carries out what has reached it in the order in which it came.
FAULTS = [fault for fault in Fault if fault not in {Fault.THEIRS, Fault.LATE}]
MOST_WRITES = 20
# Nothing comes between a failed commit or restore and its next attempt: no teardown undoes them.
SETTLING = (RecoveredBy.OTHER_RUN, RecoveredBy.PERSON)


class Action(StrEnum):
    """What is broken."""

    COMMIT = "commit of groups"
    RESTORE = "restore of groups"


CELLS: list[tuple[Action, Fault]] = list(product(Action, FAULTS))
SHARE = 7


@dataclass
class GroupsCase:
    """Three groups, before and after a commit: one that moves, one that gets an offset more, one that is new."""

    made_up: MadeUpFailover
    action: Action
    before: GroupOffsets
    after: GroupOffsets
    digest: str

    @classmethod
    def ready(cls, sandbox: Sandbox, folder: Path, action: Action) -> GroupsCase:
        """Translated; for a restore committed as well."""
        one = MadeUpFailover.start(sandbox, folder)
        moved, more, new = (one.group(name) for name in ("moved", "more", "new"))
        others = {one.at(2): Committed(7, "own")}  # which the failover leaves alone
        before = {
            moved: {one.at(0): Committed(3, "three")},
            more: {one.at(1): Committed(5, "five"), **others},
            new: {},
        }
        after = {
            moved: {one.at(0): Committed(30)},
            more: {one.at(0): Committed(40), one.at(1): Committed(50), **others},
            new: {one.at(0): Committed(60)},
        }
        one.commit_on_target({name: offsets for name, offsets in before.items() if offsets})
        digest = one.translate({moved: {0: 30}, more: {0: 40, 1: 50}, new: {0: 60}})
        if action is Action.RESTORE:
            one.commit(digest)
        return cls(one, action, before, after, digest)

    def move(self, faults: Faults, owner: Owner) -> object:
        """Commit or restore."""
        with ExitStack() as stack:
            sandbox, directory = self.made_up.sandbox, self.made_up.directory
            opened = [stack.enter_context(cluster(broker)) for broker in (sandbox.source, sandbox.target)]
            faults.registry = reached(group_clients(opened[1], self.workspace))
            source, target = map(faults.around, opened)
            groups = group_clients(target, self.workspace)
            if self.action is Action.RESTORE:
                return move_groups(groups, owner, directory, lambda: restore_groups(directory, target))
            clusters = Clusters(source, target)
            return move_groups(
                groups, owner, directory, lambda: commit_translation(directory, clusters, digest=self.digest)
            )

    @property
    def workspace(self) -> str:
        """With journals of its own."""
        return f"{self.made_up.directory.uri}-workspace"

    def is_moved(self, *, deleted: bool = False) -> bool:
        """Whether all groups have their translated offsets; fails if any offset is neither that nor the prior one.

        deleted: a restore may have ended between the delete of a group and the commit of what it is to hold.
        """
        goal = self.before if self.action is Action.RESTORE else self.after
        on_target = self.made_up.on_target(*self.before)
        for name, offsets in on_target.items():
            if deleted and not offsets:
                continue
            for where in {*offsets, *self.before[name], *self.after[name]}:
                assert offsets.get(where) in {self.before[name].get(where), self.after[name].get(where)}, (
                    name,
                    on_target,
                )
        return on_target == goal

    def settle(self, successor: RecoveredBy, owner: Owner) -> None:
        """As another run does, or a person."""
        bootstrap = self.made_up.sandbox.target.bootstrap
        if successor is RecoveredBy.PERSON:
            recovering.recover_groups(self.workspace, bootstrap, run=owner.run)
        elif successor is RecoveredBy.OTHER_RUN:
            with cluster(self.made_up.sandbox.target) as target, suppress(Overlap):
                groups = group_clients(target, self.workspace)
                settle(groups_journal(groups), _owner(), reached(groups))


@pytest.fixture(scope="module")
def outages(sandbox: Sandbox) -> Iterator[Outages]:
    running = Outages(sandbox)
    yield running
    running.close()


@pytest.mark.parametrize(("action", "fault"), CELLS)
@pytest.mark.parametrize("whole", [False, pytest.param(True, marks=pytest.mark.long)])
def test_broken_at_each_call(
    sandbox: Sandbox,
    tmp_path: Path,
    note_generated: Note,
    monkeypatch: pytest.MonkeyPatch,
    *,
    action: Action,
    fault: Fault,
    whole: bool,
) -> None:
    """Each partition has its prior or its translated offset, whoever comes; the next attempt moves what is left."""
    counted, nth = Faults(), CELLS.index((action, fault))
    GroupsCase.ready(sandbox, tmp_path / "clean", action).move(counted, _owner())
    moments = list(enumerate(product(range(len(counted.calls)), (False, True))))
    if not whole:
        moments = moments[(nth + int(os.environ["FAULT_SEED"])) % SHARE :: SHARE]
    endings: set[Ending] = set()
    for number, (at, after) in moments:
        successor = (*SETTLING, RecoveredBy.RETRY)[(number + nth) % 3]
        faults = Faults(fault, at, after)
        with faults.naming(action, successor), faults.files(monkeypatch):
            ending = _cell(GroupsCase.ready(sandbox, tmp_path / f"{number}", action), faults, successor)
        endings |= {ending} if ending else set()
    for ending in sorted(endings):
        note_generated(fault, action, "groups", ending)


@pytest.mark.parametrize("action", Action)
@pytest.mark.parametrize("whole", [False, pytest.param(True, marks=pytest.mark.long)])
def test_the_broker_goes_away_before_each_write(
    sandbox: Sandbox, outages: Outages, tmp_path: Path, note_generated: Note, *, action: Action, whole: bool
) -> None:
    """The same, in a process of its own, as librdkafka may end it (docs/seen.md)."""
    drawn = int(os.environ["FAULT_SEED"]) % 4
    for writes in range(MOST_WRITES) if whole else (drawn,):
        case, owner = GroupsCase.ready(sandbox, tmp_path / f"{writes}", action), _owner()
        has_come = interrupted(
            "restore" if action is Action.RESTORE else "commit",
            sandbox.target.bootstrap,
            case.made_up.directory,
            digest=case.digest,
            writes=writes,
            workspace=case.workspace,
            world=lambda: outages.begin(Outage.BROKER_KILLED),
        )
        outages.wait()
        was_moved = case.is_moved(deleted=action is Action.RESTORE)
        case.move(Faults(), owner)
        assert case.is_moved(), f"the broker was killed before write {writes + 1}"
        if not has_come:
            assert writes > 3
            return
        note_generated(Outage.BROKER_KILLED, action, "groups", Ending.APPLIED if was_moved else Ending.NEXT)
    assert not whole, f"it was not through with {MOST_WRITES} writes"


def _cell(case: GroupsCase, faults: Faults, successor: RecoveredBy) -> Ending | None:
    owner, error = _owner(), None
    try:
        case.move(faults, owner)
    except (Killed, SystemExit, ConnectOffsetsError) as raised:
        error = raised
    faults.mend()
    if not faults.happened:
        return None
    assert error is not None or case.is_moved()
    case.settle(successor, owner)
    was_moved = successor in SETTLING and case.is_moved()
    case.move(Faults(), owner)
    assert case.is_moved()
    return Ending.APPLIED if was_moved else Ending.NEXT


def _owner() -> Owner:
    return Owner.here(run=f"test/{uuid4().hex}", task="move")

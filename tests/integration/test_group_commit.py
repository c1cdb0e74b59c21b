"""Real consumer groups that a failover commits, and what is reported and kept if it ends half-way."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_connect_offsets.exceptions import GroupsNotMoved, NotDrained, PlanRefused, Unreachable
from airflow_provider_connect_offsets.kafka.groups import Committed, ConsumerGroups
from airflow_provider_connect_offsets.operations.groups import group_commit
from airflow_provider_connect_offsets.operations.stages.groups.prior_groups import write_replaced
from airflow_provider_connect_offsets.workspace import files
from sandbox import Sandbox
from tests.support.faults.dying_writes import killed
from tests.support.flows.groups import member
from tests.support.flows.made_up_failover import MadeUpFailover

MOST_WRITES = 60


@pytest.fixture
def made_up(sandbox: Sandbox, tmp_path: Path) -> MadeUpFailover:
    return MadeUpFailover.start(sandbox, tmp_path)


def test_a_commit_that_is_killed_before_any_of_its_writes_can_be_finished_and_restored(
    made_up: MadeUpFailover, tmp_path: Path
) -> None:
    """Run again, all groups are where they were to; restored, all are as before the first attempt."""
    for writes in range(MOST_WRITES):
        one = MadeUpFailover(made_up.sandbox, type(made_up.directory)((tmp_path / f"{writes}").as_uri()), made_up.topic)
        names = [f"{made_up.topic}-{writes}-{kind}" for kind in ("moved", "created")]
        moved, created = names
        one.commit_on_target({moved: {one.at(0): Committed(3, "three")}})
        digest = one.translate({moved: {0: 30, 1: 40}, created: {0: 60}})

        was_killed = killed("commit", one.sandbox.target.bootstrap, one.directory, digest=digest, writes=writes)
        assert one.commit(digest).left == {}

        assert one.on_target(*names) == {
            moved: {one.at(0): Committed(30), one.at(1): Committed(40)},
            created: {one.at(0): Committed(60)},
        }
        one.restore()
        assert one.on_target(*names) == {moved: {one.at(0): Committed(3, "three")}, created: {}}
        if not was_killed:
            assert writes > 3
            return
    pytest.fail(f"it was not through with {MOST_WRITES} writes")


def joined_meanwhile(monkeypatch: pytest.MonkeyPatch, stack: ExitStack, made_up: MadeUpFailover, name: str) -> None:
    """Let someone join a group after it was observed and before it is committed."""

    def join(*arguments: Any) -> None:
        write_replaced(*arguments)
        stack.enter_context(member(made_up.sandbox.target, name, made_up.topic))

    monkeypatch.setattr(group_commit, "write_replaced", join)


def test_a_commit_that_fails_half_way_names_what_is_committed_where(
    made_up: MadeUpFailover, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is committed stays, the rest is named with what of it is committed; the next commits what is left."""
    busy, part, whole = made_up.group("busy"), made_up.group("part"), made_up.group("whole")
    moves = {busy: {0: 10}, part: {0: 10, 99: 20}, whole: {0: 10}}
    digest = made_up.translate(moves)
    with ExitStack() as stack, monkeypatch.context() as patching:
        joined_meanwhile(patching, stack, made_up, busy)
        with pytest.raises(GroupsNotMoved) as failed:
            made_up.commit(digest)

    assert f"2 of 3 groups were not moved, or only in part: '{busy}': Can't set the offset of group" in str(
        failed.value
    )
    assert f"'{part}': Can't set the offset of group '{part}', topic '{made_up.topic}' partition 99: " in str(
        failed.value
    )
    assert "(1 of its 2 translated offsets are committed)" in str(failed.value)
    assert "1 of 3 groups have their translated offsets, written and read back. Run the task again to commit" in str(
        failed.value
    )
    outcome = files.read_json(made_up.directory.outcome)
    assert (outcome["groups"], outcome["partitions"], sorted(outcome["left"])) == (1, 1, [busy, part])
    assert made_up.on_target(busy, whole) == {busy: {}, whole: {made_up.at(0): Committed(10)}}

    with pytest.raises(GroupsNotMoved, match="1 of 3 groups were not moved"):
        made_up.commit(digest)
    assert made_up.on_target(busy)[busy] == {made_up.at(0): Committed(10)}

    made_up.restore()
    assert made_up.on_target(*moves) == {name: {} for name in moves}


def test_a_retry_after_records_came_late_says_what_is_committed_already(made_up: MadeUpFailover) -> None:
    """Nothing more is committed, and nothing that an earlier attempt has moved is denied."""
    busy, whole = made_up.group("busy"), made_up.group("whole")
    digest = made_up.translate({busy: {0: 10}, whole: {0: 10, 1: 20}})
    with member(made_up.sandbox.target, busy, made_up.topic), pytest.raises(GroupsNotMoved):
        made_up.commit(digest)
    made_up.sandbox.source.produce(made_up.topic, ["late"], partition=0)

    with pytest.raises(NotDrained) as failed:
        made_up.commit(digest)

    assert str(failed.value).startswith(
        "No further group was moved. After the flow was stopped, the source received 1 record"
    )
    assert f" 1 of 2 groups ('{whole}') already have all their translated offsets." in str(failed.value)
    assert f"groups: run mirror_failover_restore with run_uri={made_up.directory.uri}" in str(failed.value)
    outcome = files.read_json(made_up.directory.outcome)
    assert (outcome["groups"], list(outcome["left"])) == (1, [busy])
    assert made_up.on_target(busy) == {busy: {}}


def test_a_group_that_was_moved_is_not_denied_when_its_consumers_are_back(made_up: MadeUpFailover) -> None:
    """A retry has nothing to commit for it."""
    name = made_up.group("back")
    digest = made_up.translate({name: {0: 10}})
    made_up.commit(digest)

    with member(made_up.sandbox.target, name, made_up.topic):
        assert made_up.commit(digest).groups == 1


@pytest.mark.parametrize("lost", ["the answer to the commit", "the read of what is committed"])
def test_a_cluster_that_goes_away_in_the_midst_is_named(
    made_up: MadeUpFailover, monkeypatch: pytest.MonkeyPatch, lost: str
) -> None:
    """Nobody knows what was committed, so it says so; the next attempt finds out."""
    name = made_up.group("unknown")
    digest = made_up.translate({name: {0: 10}})
    commit = ConsumerGroups.commit

    def lose(groups: ConsumerGroups, requested: Any) -> dict[str, str]:
        refused = commit(groups, requested)
        if lost == "the answer to the commit":
            raise Unreachable("Kafka is gone.")
        monkeypatch.setattr(ConsumerGroups, "offsets_of", unreachable)
        return refused

    def unreachable(_groups: ConsumerGroups, _names: Collection[str]) -> Any:
        raise Unreachable("Kafka is gone.")

    with monkeypatch.context() as patching:
        patching.setattr(ConsumerGroups, "commit", lose)
        with pytest.raises(
            Unreachable,
            match=rf"Kafka is gone\. .*1 group \('{name}'\)\. Some of them may be committed",
        ):
            made_up.commit(digest)
    monkeypatch.undo()
    assert list(files.read_json(made_up.directory.outcome)["left"]) == [name]

    assert made_up.commit(digest).groups == 1
    made_up.restore()
    assert made_up.on_target(name) == {name: {}}


def test_a_source_that_goes_away_in_the_midst_denies_nothing(
    made_up: MadeUpFailover, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The attempt that moved a group says so, and so does the next one."""
    name = made_up.group("moved")
    digest = made_up.translate({name: {0: 10}})
    looks: list[str] = []

    def gone(*_arguments: Any) -> str:
        looks.append("")
        if len(looks) > 1:
            raise Unreachable("The source is gone.")
        return ""

    monkeypatch.setattr(group_commit, "came_late", gone)
    with pytest.raises(
        Unreachable, match=r"^1 of 1 groups have their translated offsets, written and read back.*source is gone"
    ):
        made_up.commit(digest)
    assert files.read_json(made_up.directory.outcome)["groups"] == 1

    message = rf"^No further group was moved: The source is gone\. 1 of 1 groups \('{name}'\) already have all their "
    with pytest.raises(Unreachable, match=message):
        made_up.commit(digest)


def test_another_translation_does_not_deny_what_was_moved(made_up: MadeUpFailover) -> None:
    """It names the groups that an earlier commit of the run has moved."""
    name = made_up.group("moved")
    made_up.commit(made_up.translate({name: {0: 10}}))

    with pytest.raises(PlanRefused, match=rf"Nothing was committed: .* has moved 1 group \('{name}'\): they"):
        made_up.commit("0" * 64)

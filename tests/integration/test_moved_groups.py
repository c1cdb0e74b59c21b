"""One run at a time moves groups of a cluster, and the next one completes what a dead run left."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import pytest

from airflow_provider_connect_offsets.cli.main import main
from airflow_provider_connect_offsets.exceptions import GroupsNotMoved, JournalLost, Overlap
from airflow_provider_connect_offsets.kafka.cluster import KafkaCluster
from airflow_provider_connect_offsets.kafka.groups import Committed
from airflow_provider_connect_offsets.observe.clusters import Clusters
from airflow_provider_connect_offsets.operations.groups.group_clients import group_clients, groups_of
from airflow_provider_connect_offsets.operations.groups.group_commit import Moved, commit_translation
from airflow_provider_connect_offsets.operations.groups.group_restore import restore_groups
from airflow_provider_connect_offsets.operations.groups.group_stages import groups_journal, move_groups
from airflow_provider_connect_offsets.saga.journal import Journal
from airflow_provider_connect_offsets.saga.lease import Owner
from airflow_provider_connect_offsets.workspace import files
from airflow_provider_connect_offsets.workspace.layout import journal_root
from sandbox import Sandbox
from tests.support.faults.dying_writes import killed
from tests.support.flows.groups import cluster
from tests.support.flows.made_up_failover import MadeUpFailover


@pytest.fixture
def made_up(sandbox: Sandbox, tmp_path: Path) -> MadeUpFailover:
    return MadeUpFailover.start(sandbox, tmp_path)


@pytest.fixture
def target(sandbox: Sandbox) -> Iterator[KafkaCluster]:
    with cluster(sandbox.target) as client:
        yield client


@pytest.fixture
def workspace(tmp_path: Path) -> str:
    return (tmp_path / "workspace").as_uri()


def moved_by(run: str, made_up: MadeUpFailover, target: KafkaCluster, workspace: str, digest: str) -> Moved:
    """Commit, as a task of ``run`` does."""
    return move_groups(
        group_clients(target, workspace),
        Owner.here(run=run, task="commit"),
        made_up.directory,
        lambda: commit_translation(made_up.directory, Clusters(None, target), digest=digest),
    )


def killed_after_the_delete(made_up: MadeUpFailover, workspace: str) -> str:
    """Leave a group with an offset in partition 2 deleted, by a restore that was killed; returns its name."""
    name = made_up.group("cleared")
    made_up.commit_on_target({name: {made_up.at(2): Committed(7, "other")}})
    made_up.commit(made_up.translate({name: {0: 40}}))
    # Its writes: the offsets of the group (two files), the delete, the commit.
    assert killed("restore", made_up.sandbox.target.bootstrap, made_up.directory, writes=3, workspace=workspace)
    assert made_up.on_target(name) == {name: {}}
    return name


def another(made_up: MadeUpFailover, tmp_path: Path) -> MadeUpFailover:
    """A failover of other groups to the same cluster, with a run of its own."""
    return MadeUpFailover(made_up.sandbox, type(made_up.directory)((tmp_path / "other").as_uri()), made_up.topic)


def test_another_run_commits_first_what_a_killed_restore_has_deleted(
    made_up: MadeUpFailover, target: KafkaCluster, workspace: str, tmp_path: Path
) -> None:
    """The killed one may never come back; the other waits until its lease has run out."""
    name = killed_after_the_delete(made_up, workspace)
    other = another(made_up, tmp_path)
    mine = made_up.group("mine")

    moved = moved_by("dag/other", other, target, workspace, other.translate({mine: {0: 5}}))

    assert moved.groups == 1
    assert made_up.on_target(name, mine) == {
        name: {made_up.at(2): Committed(7, "other")},
        mine: {made_up.at(0): Committed(5)},
    }


def test_the_retry_of_a_killed_restore_says_itself_who_was_in_a_deleted_group(
    made_up: MadeUpFailover, target: KafkaCluster, workspace: str
) -> None:
    """What somebody has committed meanwhile stays, and is named by the restore, not only in a log."""
    name, groups = killed_after_the_delete(made_up, workspace), group_clients(target, workspace)
    made_up.commit_on_target({name: {made_up.at(2): Committed(9, "theirs")}})

    with pytest.raises(GroupsNotMoved, match=rf"'{name}': .*Someone has used the group since"):
        move_groups(
            groups,
            Owner.here(run="dag/again", task="restore"),
            made_up.directory,
            lambda: restore_groups(made_up.directory, target),
        )

    assert made_up.on_target(name) == {name: {made_up.at(2): Committed(9, "theirs")}}
    assert groups_journal(groups).read_left() is None


def test_a_person_commits_what_a_killed_restore_has_deleted(
    made_up: MadeUpFailover, target: KafkaCluster, workspace: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """No other failover is needed: ``recover --list`` names it, and ``recover`` commits the offsets."""
    name = killed_after_the_delete(made_up, workspace)
    shell = ["recover", "--workspace", workspace]
    groups = [*shell, "--groups", "--target-kafka", made_up.sandbox.target.bootstrap, "--run", "dag/dead"]

    for arguments in ([*shell, "--list"], groups, [*shell, "--list"]):
        with pytest.raises(SystemExit) as ended:
            main(arguments)
        assert not ended.value.code

    printed = capsys.readouterr()
    line = f"consumer groups of {target.cluster_id()}: the move of the groups in {made_up.directory.uri} by run"
    assert printed.out.count("\n") == 1
    assert line in printed.out
    assert printed.out.endswith("; by the connections target_kafka_conn_id=eu\n")
    assert "It has left no group deleted" in printed.err
    assert made_up.on_target(name) == {name: {made_up.at(2): Committed(7, "other")}}


def test_two_runs_take_turns(made_up: MadeUpFailover, target: KafkaCluster, workspace: str) -> None:
    """The second waits for the first, and where that takes too long, fails and names it."""
    groups, entered, leave = group_clients(target, workspace), Event(), Event()
    made_up.translate({made_up.group("one"): {0: 5}})

    def move() -> str:
        entered.set()
        assert leave.wait(60)
        return "moved"

    def by(run: str, *, timeout: float) -> str:
        return move_groups(groups, Owner.here(run=run, task="commit"), made_up.directory, move, timeout=timeout)

    with ThreadPoolExecutor() as pool:
        first = pool.submit(by, "dag/first", timeout=60)
        assert entered.wait(60)
        with pytest.raises(Overlap, match="is being changed by run 'dag/first'"):
            by("dag/late", timeout=0)
        second = pool.submit(by, "dag/second", timeout=60)
        leave.set()
        assert (first.result(60), second.result(60)) == ("moved", "moved")


@pytest.mark.jobs
def test_a_group_whose_offsets_another_run_is_changing_is_not_moved(
    made_up: MadeUpFailover, target: KafkaCluster, workspace: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Neither are the others: the error names the run, at once, and the next attempt after its end moves all."""
    caplog.set_level("INFO", logger="airflow_provider_connect_offsets")
    changing, other = made_up.group("changing"), made_up.group("other")
    digest = made_up.translate({changing: {0: 5}, other: {0: 6}})
    change = Owner.here(run="group_offsets_change/manual", task="change.apply")
    cluster_name = groups_of(target.cluster_id())

    with Journal(journal_root(workspace), cluster=cluster_name, resource=changing).claim(change):
        with pytest.raises(Overlap, match=f"{changing}' is being changed by run 'group_offsets_change/manual'"):
            moved_by("dag/run", made_up, target, workspace, digest)
        assert made_up.on_target(changing, other) == {changing: {}, other: {}}
    assert not [message for message in caplog.messages if "is being changed" in message], "it was waited for"

    assert moved_by("dag/run", made_up, target, workspace, digest).groups == 2


def test_no_group_is_moved_without_a_journal(
    made_up: MadeUpFailover, target: KafkaCluster, workspace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The workspace can't be written any more as the move is to begin."""
    name, write = made_up.group("one"), files.write_json
    digest = made_up.translate({name: {0: 5}})

    def write_json(uri: str, value: object) -> None:
        if uri.endswith("record.json") and isinstance(value, dict) and value["stages"]:
            raise OSError(30, "Read-only file system")
        write(uri, value)

    monkeypatch.setattr(files, "write_json", write_json)
    with pytest.raises(JournalLost, match="can't be written"):
        moved_by("dag/run", made_up, target, workspace, digest)

    assert made_up.on_target(name) == {name: {}}


def test_groups_that_are_left_are_named_as_ever(made_up: MadeUpFailover, target: KafkaCluster, workspace: str) -> None:
    """The error is the commit's own, what is committed stays, and the next attempt finds the cluster free."""
    here, gone = made_up.group("here"), made_up.group("gone")
    digest = made_up.translate({here: {0: 5}, gone: {0: 6}})
    made_up.commit_on_target({gone: {made_up.at(0): Committed(9)}})

    for run in ("dag/run", "dag/other"):
        with pytest.raises(GroupsNotMoved, match=rf"^1 of 2 groups were not moved, .*{gone}"):
            moved_by(run, made_up, target, workspace, digest)

    assert made_up.on_target(here) == {here: {made_up.at(0): Committed(5)}}

"""Real consumer groups of a failover that are restored, whatever else happens to them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import confluent_kafka
import pytest

from airflow_provider_connect_offsets.exceptions import GroupsNotMoved, InvalidInput, Unreachable
from airflow_provider_connect_offsets.kafka.groups import Committed, ConsumerGroups
from airflow_provider_connect_offsets.operations.groups import group_restore
from airflow_provider_connect_offsets.operations.stages.groups.deleted_groups import delete_and_commit
from sandbox import Sandbox
from tests.support.faults.dying_writes import killed
from tests.support.flows.groups import cluster, member
from tests.support.flows.made_up_failover import MadeUpFailover

MOST_WRITES = 60


@pytest.fixture
def made_up(sandbox: Sandbox, tmp_path: Path) -> MadeUpFailover:
    return MadeUpFailover.start(sandbox, tmp_path)


def test_what_the_failover_has_changed_is_as_before_and_nothing_else_is_touched(made_up: MadeUpFailover) -> None:
    """Metadata comes back too; offsets and metadata of others stay, also through the delete that clears an offset."""
    cleared, moved = made_up.group("cleared"), made_up.group("moved")
    prior = {
        cleared: {made_up.at(1): Committed(5, "five"), made_up.at(2): Committed(7, "own")},
        moved: {made_up.at(0): Committed(3, "three"), made_up.at(3): Committed(9, "nine")},
    }
    made_up.commit_on_target(prior)
    digest = made_up.translate({cleared: {0: 40, 1: 50}, moved: {0: 30}})
    made_up.commit(digest)
    assert made_up.on_target(cleared)[cleared][made_up.at(1)] == Committed(50)
    by_others = {made_up.at(3): Committed(11, "theirs"), made_up.at(2): Committed(8, "went on")}
    made_up.commit_on_target({cleared: by_others, moved: {made_up.at(2): Committed(4, "new")}})

    restored = made_up.restore()

    assert (restored.groups, restored.partitions, restored.left, restored.emptied) == (2, 3, {}, ())
    assert made_up.on_target(cleared, moved) == {
        cleared: {made_up.at(1): Committed(5, "five"), **by_others},
        moved: {**prior[moved], made_up.at(2): Committed(4, "new")},
    }


def test_what_stood_there_already_is_not_restored(made_up: MadeUpFailover) -> None:
    """Somebody else has put it there between translation and commit: it is theirs, wherever it goes."""
    name = made_up.group("own")
    made_up.commit_on_target({name: {made_up.at(0): Committed(3), made_up.at(1): Committed(5)}})
    digest = made_up.translate({name: {0: 30, 1: 50}})
    made_up.commit_on_target({name: {made_up.at(0): Committed(30, "theirs")}})
    made_up.commit(digest)
    made_up.commit_on_target({name: {made_up.at(0): Committed(33, "theirs")}})

    made_up.restore()

    assert made_up.on_target(name) == {name: {made_up.at(0): Committed(33, "theirs"), made_up.at(1): Committed(5)}}


def test_a_group_that_was_there_stays_as_long_as_it_has_an_offset(made_up: MadeUpFailover) -> None:
    """One without offsets of its own is deleted and named; one that the failover created is just deleted."""
    elsewhere, idle, created = made_up.group("elsewhere"), made_up.group("idle"), made_up.group("created")
    made_up.commit_on_target({elsewhere: {made_up.at(3): Committed(1, "mine")}})
    with member(made_up.sandbox.target, idle, made_up.topic):
        pass  # leaves a group without offsets
    assert made_up.listed() == {elsewhere, idle}
    made_up.commit(made_up.translate({elsewhere: {0: 10}, idle: {0: 10}, created: {0: 10}}))

    restored = made_up.restore()

    assert restored.emptied == (idle,)
    assert made_up.listed() == {elsewhere}
    assert made_up.on_target(elsewhere) == {elsewhere: {made_up.at(3): Committed(1, "mine")}}


def test_a_restore_that_is_killed_before_any_of_its_writes_loses_nothing(
    made_up: MadeUpFailover, tmp_path: Path
) -> None:
    """Run again, it ends as if it had never been killed."""
    for writes in range(MOST_WRITES):
        one = MadeUpFailover(made_up.sandbox, type(made_up.directory)((tmp_path / f"{writes}").as_uri()), made_up.topic)
        names = [f"{made_up.topic}-{writes}-{kind}" for kind in ("moved", "cleared", "created")]
        moved, cleared, created = names
        prior = {
            moved: {one.at(0): Committed(3, "three")},
            cleared: {one.at(1): Committed(5, "five"), one.at(2): Committed(7, "own")},
        }
        one.commit_on_target(prior)
        one.commit(one.translate({moved: {0: 30}, cleared: {0: 40, 1: 50}, created: {0: 60}}))
        one.commit_on_target({cleared: {one.at(3): Committed(11, "theirs")}})

        was_killed = killed("restore", one.sandbox.target.bootstrap, one.directory, writes=writes)
        assert one.restore().left == {}

        expected = {**prior, cleared: {**prior[cleared], one.at(3): Committed(11, "theirs")}, created: {}}
        assert one.on_target(*names) == expected, f"killed before write {writes + 1}"
        if not was_killed:
            assert writes > 8
            return
    pytest.fail(f"it was not through with {MOST_WRITES} writes")


def killed_after_the_delete(made_up: MadeUpFailover, name: str) -> None:
    """Leave a group with ``other`` in partition 2 deleted, by a restore that was killed."""
    made_up.commit_on_target({name: {made_up.at(2): Committed(7, "other")}})
    made_up.commit(made_up.translate({name: {0: 40}}))
    # Its writes: the offsets of the group (two files), the delete, the commit.
    assert killed("restore", made_up.sandbox.target.bootstrap, made_up.directory, writes=3)
    assert made_up.on_target(name) == {name: {}}


def test_a_commit_after_a_killed_restore_commits_first_what_that_has_deleted(made_up: MadeUpFailover) -> None:
    """Whoever comes next finishes it."""
    name = made_up.group("cleared")
    killed_after_the_delete(made_up, name)

    made_up.commit(made_up.translate({name: {0: 45}}))

    assert made_up.on_target(name) == {name: {made_up.at(0): Committed(45), made_up.at(2): Committed(7, "other")}}


def test_what_somebody_committed_in_a_deleted_group_stays_and_is_named(made_up: MadeUpFailover) -> None:
    """They may have passed records, as the group had no offset; the next attempt goes on."""
    name = made_up.group("cleared")
    killed_after_the_delete(made_up, name)
    made_up.commit_on_target({name: {made_up.at(2): Committed(1, "from the start")}})

    with pytest.raises(
        GroupsNotMoved, match=f"{name}.*partition 2 is at 1 .*, but was at 7 .*Someone has used the group"
    ):
        made_up.restore()

    assert made_up.restore().groups == 1
    assert made_up.on_target(name) == {name: {made_up.at(2): Committed(1, "from the start")}}


def before_the_delete(monkeypatch: pytest.MonkeyPatch, happens: Callable[[], Any]) -> None:
    """Let something happen after a restore has observed its groups, and before it deletes any."""

    def late(*arguments: Any, **named: Any) -> dict[str, str]:
        happens()
        return delete_and_commit(*arguments, **named)

    monkeypatch.setattr(group_restore, delete_and_commit.__name__, late)


def test_what_somebody_commits_right_before_the_delete_is_kept(
    made_up: MadeUpFailover, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The group is left, named, and restored by the next attempt."""
    name, theirs = made_up.group("cleared"), {made_up.at(2): Committed(9, "theirs")}
    made_up.commit(made_up.translate({name: {0: 40}}))
    with monkeypatch.context() as patching:
        before_the_delete(patching, lambda: made_up.commit_on_target({name: theirs}))
        with pytest.raises(GroupsNotMoved, match=r"partition 2 went from no offset to 9 with metadata 'theirs' during"):
            made_up.restore()
    assert made_up.on_target(name) == {name: {made_up.at(0): Committed(40), **theirs}}

    made_up.restore()

    assert made_up.on_target(name) == {name: theirs}


def test_who_joins_before_the_delete_keeps_the_group_as_it_is(
    made_up: MadeUpFailover, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kafka refuses the delete, and nothing is changed."""
    name, stays = made_up.group("cleared"), {made_up.at(2): Committed(7, "own")}
    made_up.commit_on_target({name: stays})
    made_up.commit(made_up.translate({name: {0: 40}}))
    with ExitStack() as stack, monkeypatch.context() as patching:
        before_the_delete(patching, lambda: stack.enter_context(member(made_up.sandbox.target, name, made_up.topic)))
        with pytest.raises(GroupsNotMoved, match=f"'{name}': Can't delete consumer group"):
            made_up.restore()
        assert made_up.on_target(name) == {name: {made_up.at(0): Committed(40), **stays}}

    made_up.restore()

    assert made_up.on_target(name) == {name: stays}


def test_who_joins_right_after_the_delete_is_named_and_nothing_is_lost(
    made_up: MadeUpFailover, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kafka refuses what was to be committed again; the next attempt commits it, once nobody is in it."""
    name, stays = made_up.group("cleared"), {made_up.at(2): Committed(7, "own")}
    made_up.commit_on_target({name: stays})
    made_up.commit(made_up.translate({name: {0: 40}}))
    delete = ConsumerGroups.delete
    with ExitStack() as stack, monkeypatch.context() as patching:

        def delete_and_join(groups: ConsumerGroups, group: str) -> None:
            delete(groups, group)
            stack.enter_context(member(made_up.sandbox.target, name, made_up.topic))

        patching.setattr(ConsumerGroups, "delete", delete_and_join)
        message = rf"'{name}': it was deleted .*, and still lacks 1 of its other offsets, "
        message += "the first in .*partition 2: 7 with metadata 'own'"
        with pytest.raises(GroupsNotMoved, match=message):
            made_up.restore()
        with pytest.raises(GroupsNotMoved, match="still lacks 1 of its other offsets"):
            made_up.restore()

    made_up.restore()

    assert made_up.on_target(name) == {name: stays}


def test_a_delete_whose_answer_is_lost_loses_nothing(made_up: MadeUpFailover, monkeypatch: pytest.MonkeyPatch) -> None:
    """The message says where the group's offsets are kept; the next attempt commits them."""
    name, stays = made_up.group("cleared"), {made_up.at(2): Committed(7, "own")}
    made_up.commit_on_target({name: stays})
    made_up.commit(made_up.translate({name: {0: 40}}))
    delete = ConsumerGroups.delete

    def lose(groups: ConsumerGroups, group: str) -> None:
        delete(groups, group)
        raise Unreachable("Kafka is gone.")

    with monkeypatch.context() as patching:
        patching.setattr(ConsumerGroups, "delete", lose)
        message = rf"Kafka is gone\. .* are kept under {made_up.directory.deleted_groups}, .*Run the task again"
        with pytest.raises(Unreachable, match=message):
            made_up.restore()
    assert made_up.on_target(name) == {name: {}}

    made_up.restore()

    assert made_up.on_target(name) == {name: stays}


def test_a_group_that_has_gone_on_is_left_and_named(made_up: MadeUpFailover) -> None:
    """So is one that anyone is in; the others are restored, and running it again restores what is left."""
    gone, busy, other = made_up.group("gone"), made_up.group("busy"), made_up.group("other")
    made_up.commit(made_up.translate({name: {0: 40, 1: 50} for name in (gone, busy, other)}))
    made_up.commit_on_target({gone: {made_up.at(1): Committed(55)}})

    message = rf"2 of 3 groups were not restored: '{busy}': it has members on the target: stop them, .* again; "
    message += (
        rf"'{gone}': topic '{made_up.topic}', partition 1 has moved from 50 to 55 since the failover, and stays "
        r"there\. The other 1"
    )
    with member(made_up.sandbox.target, busy, made_up.topic), pytest.raises(GroupsNotMoved, match=message):
        made_up.restore()
    assert made_up.on_target(gone, other) == {
        gone: {made_up.at(0): Committed(40), made_up.at(1): Committed(55)},
        other: {},
    }

    made_up.commit_on_target(
        {other: {made_up.at(0): Committed(40)}}
    )  # by chance where the failover had put it: not its own
    with pytest.raises(GroupsNotMoved, match="1 of 2 groups were not restored"):
        made_up.restore()

    assert made_up.on_target(busy, other) == {busy: {}, other: {made_up.at(0): Committed(40)}}


def test_without_a_commit_there_is_nothing_to_restore(made_up: MadeUpFailover) -> None:
    """The message says which groups it has observed; a second restore finds all done."""
    with pytest.raises(InvalidInput, match=r"Nothing was restored: .* has no record of a failover"):
        made_up.restore()
    made_up.commit(made_up.translate({made_up.group("one"): {0: 10}}))

    assert [made_up.restore().groups, made_up.restore().groups] == [1, 0]


def test_kafkas_client_clears_no_single_offset(made_up: MadeUpFailover) -> None:
    """So a group is deleted for it; once the client can, `operations.groups.deleted_groups` may go."""
    name = made_up.group("one")
    made_up.commit_on_target({name: {made_up.at(0): Committed(5)}})
    with made_up.sandbox.target.admin() as admin:
        assert not hasattr(admin, "delete_consumer_group_offsets")
        nothing = confluent_kafka.TopicPartition(made_up.topic, 0, confluent_kafka.OFFSET_INVALID)
        requested = confluent_kafka.ConsumerGroupTopicPartitions(name, [nothing])
        with pytest.raises(ValueError, match="negative"):
            admin.alter_consumer_group_offsets([requested])
    consumer = confluent_kafka.Consumer(made_up.sandbox.target.client_settings() | {"group.id": name})
    with pytest.raises(confluent_kafka.KafkaException, match="_NO_OFFSET"):
        consumer.commit(offsets=[nothing], asynchronous=False)
    consumer.close()
    with cluster(made_up.sandbox.target) as target:
        assert target.groups.offsets(name) == {made_up.at(0): 5}

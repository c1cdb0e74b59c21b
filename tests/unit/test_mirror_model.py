"""What the model of replication takes to be true, on histories made by hand."""

from __future__ import annotations

from tests.support.model.mirror_logs import KEYS, Log, Record, Traits
from tests.support.model.mirror_truth import best, bests, copies, missing, rereads
from tests.support.model.mirror_world import World, replicated


def all_missing(world: World) -> list[int | None]:
    return [missing(world, position) for position in range(world.source.end + 1)]


def test_plain_replication_keeps_each_position() -> None:
    """Each record lies where it lies at the source, and all that is read too early is read again."""
    world = replicated(6)

    assert bests(world) == list(range(7))
    assert all_missing(world) == [0] * 7
    assert [rereads(world, 0, position) for position in range(7)] == list(range(7))
    assert not any(rereads(world, best(world, position), position) for position in range(7))


def test_records_of_somebody_else_at_the_end() -> None:
    """A group that has read all resumes before them, until something new is replicated behind them."""
    world = replicated(10)
    world.write_foreign(*range(100, 105))

    assert best(world, 10) == 10 < world.target.end
    assert missing(world, 10) == 0
    assert rereads(world, 0, 4) == 4

    world.produce(10)
    world.flow.replicate()

    assert best(world, 10) == 15


def test_a_flow_that_was_moved_forward() -> None:
    """What it passed over is missing to each group that has not read it, and to no other."""
    world = replicated(4)
    world.produce(*range(4, 10))
    world.flow.move(6)
    world.flow.replicate()

    assert bests(world) == [0, 1, 2, 3, 4, 4, 4, 5, 6, 7, 8]
    assert all_missing(world) == [2, 2, 2, 2, 2, 1, 0, 0, 0, 0, 0]


def test_a_rewind_that_has_not_caught_up() -> None:
    """Records that were not copied again hold a group back in the first copies; it reads the second ones again."""
    world = replicated(10)
    world.flow.move(2)
    world.flow.replicate(3)

    assert [best(world, position) for position in (1, 2, 5, 6, 9, 10)] == [1, 5, 5, 6, 9, 13]
    assert rereads(world, 5, 5) == 3
    assert all_missing(world) == [0] * 11

    world.flow.replicate()

    assert best(world, 5) == 13
    assert not rereads(world, 13, 5)


def test_a_crash_copies_what_was_not_stored() -> None:
    """The second copies count."""
    world = replicated(4)
    world.flow.commit()
    world.produce(4, 5)
    world.flow.replicate()
    world.flow.crash()
    world.flow.replicate()

    assert copies(world)[4:] == [(4, 4), (5, 5), (6, 4), (7, 5)]
    assert bests(world) == [0, 1, 2, 3, 6, 7, 8]


def test_a_remote_topic_created_anew() -> None:
    """It lacks all that came before; a group that has yet to read some of that begins with its first record."""
    world = replicated(5)
    world.checkpoint()
    world.recreate_target()
    world.produce(5, 6, 7)
    world.flow.replicate()

    assert bests(world) == [0, 0, 0, 0, 0, 0, 1, 2, 3]
    assert all_missing(world) == [5, 4, 3, 2, 1, 0, 0, 0, 0]


def test_a_source_created_anew() -> None:
    """Copies of the topic before count for nothing; the flow begins at the new one's start."""
    world = replicated(5)
    world.recreate_source()
    world.produce(*range(20, 23))
    world.flow.replicate()

    assert bests(world) == [5, 6, 7, 8]
    assert all_missing(world) == [0] * 4
    assert rereads(world, 0, 2) == 2
    assert [sync.upstream for sync in world.syncs][-1] == 0


def test_a_partition_that_was_added() -> None:
    """As long as the remote topic lacks it, all of it is missing; then it is replicated from its log start on."""
    world = World(absent=True)
    world.produce(*range(4))
    world.flow.replicate()
    world.write_foreign(9)

    assert all_missing(world) == [4, 3, 2, 1, 0]
    assert (world.target.end, world.flow.stored) == (0, None)

    world.absent = False
    world.source.retain(1)
    world.flow.replicate()

    assert bests(world) == [0, 0, 1, 2, 3]
    assert all_missing(world) == [1, 0, 0, 0, 0]


def test_transactions_at_the_source() -> None:
    """Markers and aborted records take up offsets at the source, and are nothing that could be missing."""
    world = World(Traits(transactions=True))
    world.produce(1, 2)
    world.source.append_unseen()
    world.source.append_unseen(3)
    world.produce(3)
    world.flow.replicate()

    assert world.source.end == 7
    assert bests(world) == [0, 1, 2, 2, 2, 2, 2, 3]
    assert all_missing(world) == [0] * 8


def test_transactions_of_the_flow() -> None:
    """Its markers lie between copies and after the last of them; copies that were aborted are none."""
    world = World(Traits(exactly_once=True))
    world.produce(0, 1, 2)
    world.flow.replicate(2)
    world.flow.crash(in_vain=1)
    world.flow.replicate()

    assert copies(world) == [(0, 0), (1, 1), (5, 2)]
    assert bests(world) == [0, 1, 5, 6]
    assert world.target.end == 7


def test_retention_at_the_source() -> None:
    """What it took before the flow came by is missing; what it took afterwards is not."""
    world = replicated(3)
    world.produce(*range(3, 10))
    world.source.retain(6)
    world.flow.replicate()

    assert bests(world) == [0, 1, 2, 3, 3, 3, 3, 4, 5, 6, 7]
    assert all_missing(world) == [3, 3, 3, 3, 2, 1, 0, 0, 0, 0, 0]


def test_retention_in_the_remote_topic() -> None:
    """What it took is missing to groups that have not read it; they begin at the log start."""
    world = replicated(6)
    world.target.retain(4)

    assert bests(world) == [4, 4, 4, 4, 4, 5, 6]
    assert all_missing(world) == [4, 3, 2, 1, 0, 0, 0]

    world.target.retain(6)

    assert bests(world) == [6] * 7


def test_compaction() -> None:
    """A record whose key has a later one at the source isn't missing; its copy may still be there."""
    world = World(Traits(compacted=True))
    world.produce(1, 2, 1 + KEYS, 3)
    world.source.compact(3)
    world.flow.replicate()

    assert list(world.source.records) == [1, 2, 3]
    assert bests(world) == [0, 0, 1, 2, 3]
    assert all_missing(world) == [0] * 5

    world.write_foreign(2 + KEYS, 50)
    world.target.compact(5)

    assert list(world.target.records) == [1, 2, 3, 4]
    assert all_missing(world) == [1, 1, 0, 0, 0]


def test_compaction_leaves_the_last_record() -> None:
    """A record stays, too, if only a record that is not cleaned yet supersedes it."""
    log = Log()
    for content in (1, 1, 2, 1):
        log.append(Record(content, 0))
    log.compact(99)
    assert list(log.records) == [1, 2, 3]


def test_a_transform_that_drops_records() -> None:
    """Nobody can know whether a record without a copy is missing or was dropped."""
    world = replicated(40, Traits(drops=True))
    kept = [offset for _, offset in copies(world)]
    gone = sorted(set(range(40)) - set(kept))

    assert 0 < len(gone) < 30
    assert missing(world, 0) is missing(world, gone[-1]) is None
    assert missing(world, gone[-1] + 1) == 0
    assert [best(world, offset) for offset in kept] == list(range(len(kept)))


def test_a_transform_that_changes_records() -> None:
    """A copy is one whatever it looks like; it keeps its key."""
    world = replicated(40, Traits(changes=True))
    changed = [o for o, record in world.source.records.items() if record.content != world.target.records[o].content]

    assert 0 < len(changed) < 40
    assert bests(world) == list(range(41))
    assert all(world.target.records[offset].key == world.source.records[offset].key for offset in changed)


def test_records_that_look_the_same_are_distinguished() -> None:
    """The truth goes by where a copy comes from."""
    world = World(Traits(repeats=True))
    world.produce(1, 1, 1, each=1000)
    world.write_foreign(1, each=1000)
    world.flow.replicate()

    assert len({(record.content, record.timestamp) for record in world.target.records.values()}) == 1
    assert bests(world) == [1, 2, 3, 4]

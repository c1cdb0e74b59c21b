"""Translated positions of small worlds in which one thing has happened, with expected offsets as literals."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from pyspark.sql import SparkSession

from tests.support.model.mirror_answered import Question, answered_together, shortest
from tests.support.model.mirror_logs import Traits
from tests.support.model.mirror_rows import Answer, ReadFrom
from tests.support.model.mirror_truth import bests
from tests.support.model.mirror_world import Ending, Sync, World

pytestmark = pytest.mark.histories
Translated = tuple[int | None, int | None, int | None, bool]
Scenes = dict[tuple[Callable[[], World], ReadFrom], list[Answer]]
SCENES: dict[Callable[[], World], tuple[ReadFrom, ...]] = {}


def read_from(*reads: ReadFrom) -> Callable[[Callable[[], World]], Callable[[], World]]:
    """Add a scene to those that are translated, all in one query; ``reads``: which records were read."""

    def add(scene: Callable[[], World]) -> Callable[[], World]:
        SCENES[scene] = reads
        return scene

    return add


@pytest.fixture(scope="module")
def scenes(spark: SparkSession) -> Scenes:
    """Answers for every position of the scenes."""
    questions = {(scene, read): Question([scene()], read) for scene, reads in SCENES.items() for read in reads}
    found = answered_together(spark, list(questions.values()))
    return {asked: found[question] for asked, question in questions.items()}


def translated(found: Sequence[Answer]) -> dict[int, Translated]:
    """Of one world, by position: lower, upper, missing, exact."""
    return {one.position: (one.lower, one.upper, one.missing, one.exact) for one in found}


def replicated(count: int, traits: Traits | None = None) -> World:
    """A world in which so many records were produced, all of them different, and replicated."""
    world = World(traits or Traits())
    world.produce(*range(count))
    world.flow.replicate()
    return world


def ended(world: World, ending: Ending = Ending.DRAINED) -> World:
    """The same, at its end."""
    if ending is not Ending.BROKEN:
        world.flow.commit()
    world.ending = ending
    return world


@read_from(ReadFrom.ALL)
def foreign_records_at_the_end() -> World:
    world = replicated(10)
    world.write_foreign(*range(100, 105))
    return ended(world)


def test_records_of_somebody_else_behind_the_last_one(scenes: Scenes) -> None:
    """Whoever has read all goes on before them; nobody goes on behind.

    Nothing is exact but that: nothing shows that they aren't changed copies.
    """
    found = translated(scenes[foreign_records_at_the_end, ReadFrom.ALL])

    assert {at: (lower, missing) for at, (lower, _upper, missing, _exact) in found.items()} == {
        at: (at, 0) for at in range(11)
    }
    assert not any(exact for *_bounds, exact in found.values())


@read_from(ReadFrom.ALL, ReadFrom.NONE)
def no_remote_partition() -> World:
    world = World(absent=True)
    world.produce(*range(4))
    world.source.retain(1)
    return ended(world, Ending.STOPPED)


@pytest.mark.parametrize("read", [ReadFrom.ALL, ReadFrom.NONE])
def test_a_partition_that_the_target_lacks(scenes: Scenes, read: ReadFrom) -> None:
    """All that a group has not read is missing, what was deleted since as well."""
    found = translated(scenes[no_remote_partition, read])

    assert found == {at: (None, None, 4 - at, False) for at in range(5)}


@read_from(ReadFrom.NONE)
def deleted_before_it_was_replicated() -> World:
    world = replicated(4)
    world.produce(*range(4, 10))
    world.source.retain(10)
    return ended(world)


def test_what_retention_took_before_it_was_replicated(scenes: Scenes) -> None:
    """Nothing is left to be replicated, but no group that has yet to read it is exact."""
    found = translated(scenes[deleted_before_it_was_replicated, ReadFrom.NONE])

    assert all(missing is None for _lower, _upper, missing, _exact in (found[at] for at in range(10)))
    assert not any(found[at][3] for at in range(10))
    assert found[10][2] == 0


@read_from(ReadFrom.ALL)
def foreign_record_like_one_to_come() -> World:
    world = World(Traits(repeats=True))
    world.produce(1, 1, 2, 3, each=1000)
    world.flow.replicate()
    world.produce(1, 4, each=1000)
    world.write_foreign(4, each=1000)
    world.flow.replicate(1)
    return ended(world, Ending.STOPPED)


def test_a_record_of_somebody_else_that_looks_like_one_to_come(scenes: Scenes) -> None:
    """Where values repeat, one that looks alike proves no offset by itself, however rare it is."""
    found = scenes[foreign_record_like_one_to_come, ReadFrom.ALL]

    assert found
    assert not shortest(one for one in found if one.wrong)


@read_from(ReadFrom.ALL, ReadFrom.REMOTE, ReadFrom.SOME)
def second_copy_without_the_marker() -> World:
    """A worker that is busy leaves out offset syncs; a real one left these after a move from 18 to 7.

    The second copy has 11 records, 7 to 17: offset 18 is a transaction's marker. Two mappings with the marker between
    them would show that, but here the stretch that holds the second copy hides it.
    """
    world = World(Traits(repeats=True, transactions=True))
    world.produce(*map(int, "010000101001101110"), each=1000)
    world.source.append_unseen()
    world.flow.replicate()
    world.flow.commit()
    world.produce(0, 0, 0, 1, each=1000)
    world.flow.move(7)
    world.flow.replicate()
    world.flow.commit()
    sent = [(0, 0), (5, 5), (10, 10), (12, 12), (15, 15), (17, 17), (19, 29), (20, 30), (21, 31), (22, 32)]
    world.syncs[:] = [Sync(*mapping, number) for number, mapping in enumerate(sent)]
    return world


@pytest.mark.parametrize("read", [ReadFrom.ALL, ReadFrom.REMOTE, ReadFrom.SOME])
def test_a_second_copy_reaches_back_over_a_marker_that_no_mapping_shows(scenes: Scenes, read: ReadFrom) -> None:
    """Position 7 is not exact, and its bounds hold the right offset."""
    found = scenes[second_copy_without_the_marker, read]

    assert not shortest(one for one in found if one.wrong)
    lower, upper, _missing, exact = translated(found)[7]
    assert (lower is not None and upper is not None and lower <= 18 <= upper, exact) == (True, False)


@read_from(ReadFrom.ALL)
def moved_forward() -> World:
    world = replicated(4)
    world.produce(*range(4, 10))
    world.flow.move(6)
    world.flow.replicate()
    return ended(world)


def test_a_flow_that_was_moved_forward(scenes: Scenes) -> None:
    """The records that it has left out are counted, and those who have yet to read them are not exact."""
    found = translated(scenes[moved_forward, ReadFrom.ALL])

    offsets = [0, 1, 2, 3, 4, 4, 4, 5, 6, 7, 8]
    missing = [2, 2, 2, 2, 2, 1, 0, 0, 0, 0, 0]
    assert found == {at: (offsets[at], offsets[at], missing[at], not missing[at]) for at in range(11)}


@read_from(ReadFrom.NONE)
def lost_in_a_rewind() -> World:
    world = replicated(10)
    world.flow.move(2)
    world.flow.replicate(6)
    return ended(world, Ending.BROKEN)


def test_a_rewind_that_had_not_caught_up_when_the_source_was_lost(scenes: Scenes) -> None:
    """Whoever has yet to read what was not copied again goes on in the first copies."""
    found = scenes[lost_in_a_rewind, ReadFrom.NONE]

    assert not shortest(one for one in found if one.wrong)
    assert {one.position: one.lower for one in found}[9] == 6


@read_from(ReadFrom.NONE)
def recreated_remote_topic() -> World:
    world = replicated(10)
    world.groups["reader"] = 6
    world.checkpoint()
    world.recreate_target()
    world.produce(10, 11, 12)
    world.flow.replicate()
    return ended(world, Ending.BROKEN)


def test_a_checkpoint_of_an_earlier_remote_topic(scenes: Scenes) -> None:
    """It is not believed where the syncs show that the topic was created anew."""
    found = scenes[recreated_remote_topic, ReadFrom.NONE]

    assert not shortest(one for one in found if one.wrong)
    assert {one.lower for one in found if one.position <= 9} <= {None, 0}


@read_from(ReadFrom.NONE)
def reset_once() -> World:
    world = replicated(10)
    world.reset(5)
    world.produce(10, 11)
    world.flow.replicate()
    return ended(world)


def test_mappings_that_a_reset_has_kept(scenes: Scenes) -> None:
    """The syncs of the first copies went with the reset; what it has kept is there, and gives these offsets again."""
    answers = scenes[reset_once, ReadFrom.NONE]
    found = translated(answers)

    assert [found[at][0] for at in range(13)] == bests(answers[0].world)

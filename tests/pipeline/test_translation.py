"""Translated positions, compared with random worlds of which everything is known."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from random import Random

import pytest
from pyspark.sql import SparkSession

from airflow_provider_connect_offsets.pipeline.translate.mappings import known_mappings
from tests.support.model.mirror_answered import Question, answered_together
from tests.support.model.mirror_events import history
from tests.support.model.mirror_kinds import Event, Trait
from tests.support.model.mirror_logs import Traits
from tests.support.model.mirror_presumed import BLURRED, excused, looks_alike
from tests.support.model.mirror_rows import Answer, ReadFrom, partitions_of, searched_mappings, syncs_of
from tests.support.model.mirror_truth import bests
from tests.support.model.mirror_world import Ending, Sync, World

pytestmark = pytest.mark.histories
HISTORIES = int(os.environ.get("HISTORIES", "250"))
SEEDS = [int(seed) for seed in os.environ.get("SEEDS", "1").split(",")]
_UNCLEAR = {
    *BLURRED,
    Trait.LOG_APPEND_TIME,
    Event.TIMESTAMP_TYPE,
    Event.RETAIN_SOURCE,
    Trait.COMPACTED,
    Event.CLEANUP_POLICY,
}
Translated = tuple[int | None, int | None, int | None, bool]
MOST = (Ending.DRAINED, Ending.DRAINED, Ending.DRAINED, Ending.STOPPED)
# How histories end, which records were read, and whether single ones were.
Asked = tuple[tuple[Ending, ...], ReadFrom, bool]
ASKED: list[Asked] = [
    *[(MOST, read, bisected) for read in (ReadFrom.ALL, ReadFrom.SOME, ReadFrom.NONE) for bisected in (True, False)],
    *[((Ending.DRAINED,), read, True) for read in (ReadFrom.ALL, ReadFrom.SOME, ReadFrom.NONE)],
    ((Ending.BROKEN,), ReadFrom.NONE, False),
]
Histories = dict[Asked, list[Answer]]
SCENES: dict[Callable[[], World], tuple[ReadFrom, ...]] = {}
Scenes = dict[tuple[Callable[[], World], ReadFrom], list[Answer]]


def made_up(seed: int, *endings: Ending) -> list[World]:
    """Histories, drawn by ``seed``."""
    random = Random(seed)
    return [history(random, ending=random.choice(endings)) for _ in range(HISTORIES)]


@pytest.fixture(scope="module", params=SEEDS)
def seed(request: pytest.FixtureRequest) -> int:
    return int(request.param)


@pytest.fixture(scope="module")
def histories(spark: SparkSession, seed: int) -> Histories:
    """Answers for every position of the histories that a seed draws."""
    worlds = {endings: made_up(seed, *endings) for endings in {asked[0] for asked in ASKED}}
    questions = {
        (endings, read, bisected): Question(worlds[endings], read, bisected=bisected)
        for endings, read, bisected in ASKED
    }
    found = answered_together(spark, list(questions.values()))
    return {asked: found[question] for asked, question in questions.items()}


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


def shortest(wrong: Iterable[Answer]) -> str:
    """The simplest of those that are wrong."""
    return min((str(answer) for answer in wrong), key=len, default="")


def translated(found: Sequence[Answer]) -> dict[int, Translated]:
    """Of one world, by position: lower, upper, missing, exact."""
    return {one.position: (one.lower, one.upper, one.missing, one.exact) for one in found}


def test_with_all_records_read(histories: Histories) -> None:
    """Whatever happened: nothing is skipped, exact is true, and what is missing or read again lies within bounds."""
    found = histories[MOST, ReadFrom.ALL, False]

    assert not shortest(one for one in found if one.wrong and not excused(one, ReadFrom.ALL))
    drained = [one for one in found if one.world.ending is Ending.DRAINED]
    assert sum(one.exact for one in drained) > 0.55 * len(drained)
    assert {one.lower is None for one in found if not one.world.absent} == {False}


def test_records_that_were_read_take_no_proof_away(histories: Histories) -> None:
    """What is exact by single records is so with all records too, and hardly ever not with some of them.

    Hardly ever not with all of them, too, where digests leave open what a record is.
    """
    by_mappings = [one for one in histories[MOST, ReadFrom.NONE, True] if one.exact]

    def lost(read: ReadFrom) -> list[Answer]:
        exact = {(id(one.world), one.position) for one in histories[MOST, read, True] if one.exact}
        return [one for one in by_mappings if (id(one.world), one.position) not in exact]

    with_all = lost(ReadFrom.ALL)
    assert not [one for one in with_all if not _UNCLEAR & one.world.happened]
    assert len(with_all) <= 0.02 * len(by_mappings)
    assert len(lost(ReadFrom.SOME)) <= 0.04 * len(by_mappings)


@pytest.mark.parametrize("read", [ReadFrom.ALL, ReadFrom.SOME, ReadFrom.NONE])
def test_what_can_be_proved_is_proved(histories: Histories, read: ReadFrom) -> None:
    """Nearly all of what records can show is exact, and what they show is true; a few hundred histories vary."""
    found = histories[(Ending.DRAINED,), read, True]
    provable = [one for one in found if one.can_be_proved]

    assert all(one.can_be_exact for one in provable if not looks_alike(one.world))
    assert sum(one.exact for one in provable) > 0.95 * len(provable)


@pytest.mark.parametrize(
    ("read", "bisected", "share"),
    [(ReadFrom.SOME, True, 0.5), (ReadFrom.NONE, True, 0.5), (ReadFrom.SOME, False, 0.1), (ReadFrom.NONE, False, 0.01)],
)
def test_with_less_than_that(
    histories: Histories,
    read: ReadFrom,
    bisected: bool,  # noqa: FBT001 - a parameter of the test
    share: float,
) -> None:
    """The same, with and without the mappings that single records prove; what is only presumed is not exact."""
    found = histories[MOST, read, bisected]

    assert not shortest(one for one in found if one.wrong and not excused(one, read))
    drained = [one for one in found if one.world.ending is Ending.DRAINED]
    assert sum(one.exact for one in drained) > share * len(drained)


def test_mappings_that_a_search_begins_with_are_those_that_are_believed(spark: SparkSession, seed: int) -> None:
    """Two pieces of code leave out what is of earlier topics: that of the task, and that of the job."""
    worlds = made_up(seed, *MOST)
    partitions = partitions_of(spark, worlds, ReadFrom.NONE)

    believed = known_mappings(syncs_of(spark, worlds), partitions).select("topic", "upstream", "downstream")

    assert {tuple(row) for row in believed.distinct().collect()} == searched_mappings(worlds)


def test_where_the_source_was_lost(histories: Histories) -> None:
    """Nothing that the remote topic has is skipped, and nothing is exact: what the source had more, nobody knows."""
    found = histories[(Ending.BROKEN,), ReadFrom.NONE, False]

    assert not shortest(one for one in found if one.wrong and not excused(one, ReadFrom.NONE))
    assert not any(one.exact for one in found)
    assert sum(one.lower is not None for one in found) > 0.4 * len(found)


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

"""Translated positions, compared with random worlds of which everything is known."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from random import Random

import pytest
from pyspark.sql import SparkSession

from airflow_provider_connect_offsets.pipeline.translate.mappings import known_mappings
from tests.support.model.mirror_events import history
from tests.support.model.mirror_kinds import Event, Trait
from tests.support.model.mirror_logs import Traits
from tests.support.model.mirror_presumed import BLURRED, excused, looks_alike
from tests.support.model.mirror_rows import Answer, ReadFrom, answered, partitions_of, searched_mappings, syncs_of
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


def made_up(seed: int, *endings: Ending) -> list[World]:
    """Histories, drawn by ``seed``."""
    random = Random(seed)
    return [history(random, ending=random.choice(endings)) for _ in range(HISTORIES)]


def shortest(wrong: Iterable[Answer]) -> str:
    """The simplest of those that are wrong."""
    return min((str(answer) for answer in wrong), key=len, default="")


def translated(found: Sequence[Answer]) -> dict[int, Translated]:
    """Of one world, by position: lower, upper, missing, exact."""
    return {one.position: (one.lower, one.upper, one.missing, one.exact) for one in found}


@pytest.mark.parametrize("seed", SEEDS)
def test_with_all_records_read(spark: SparkSession, seed: int) -> None:
    """Whatever happened: nothing is skipped, exact is true, and what is missing or read again lies within bounds."""
    found = answered(spark, made_up(seed, *[Ending.DRAINED] * 3, Ending.STOPPED), ReadFrom.ALL)

    assert not shortest(one for one in found if one.wrong and not excused(one, ReadFrom.ALL))
    drained = [one for one in found if one.world.ending is Ending.DRAINED]
    assert sum(one.exact for one in drained) > 0.55 * len(drained)
    assert {one.lower is None for one in found if not one.world.absent} == {False}


@pytest.mark.parametrize("seed", SEEDS)
def test_records_that_were_read_take_no_proof_away(spark: SparkSession, seed: int) -> None:
    """What is exact by single records is so with all records too, and hardly ever not with some of them.

    Hardly ever not with all of them, too, where digests leave open what a record is.
    """
    worlds = made_up(seed, *[Ending.DRAINED] * 3, Ending.STOPPED)
    by_mappings = [one for one in answered(spark, worlds, ReadFrom.NONE, bisected=True) if one.exact]

    def lost(read: ReadFrom) -> list[Answer]:
        found = answered(spark, worlds, read, bisected=True)
        exact = {(id(one.world), one.position) for one in found if one.exact}
        return [one for one in by_mappings if (id(one.world), one.position) not in exact]

    with_all = lost(ReadFrom.ALL)
    assert not [one for one in with_all if not _UNCLEAR & one.world.happened]
    assert len(with_all) <= 0.02 * len(by_mappings)
    assert len(lost(ReadFrom.SOME)) <= 0.04 * len(by_mappings)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("read", [ReadFrom.ALL, ReadFrom.SOME, ReadFrom.NONE])
def test_what_can_be_proved_is_proved(spark: SparkSession, seed: int, read: ReadFrom) -> None:
    """Nearly all of what records can show is exact, and what they show is true; a few hundred histories vary."""
    found = answered(spark, made_up(seed, Ending.DRAINED), read, bisected=True)
    provable = [one for one in found if one.can_be_proved]

    assert all(one.can_be_exact for one in provable if not looks_alike(one.world))
    assert sum(one.exact for one in provable) > 0.95 * len(provable)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    ("read", "bisected", "share"),
    [(ReadFrom.SOME, True, 0.5), (ReadFrom.NONE, True, 0.5), (ReadFrom.SOME, False, 0.1), (ReadFrom.NONE, False, 0.01)],
)
def test_with_less_than_that(
    spark: SparkSession,
    seed: int,
    read: ReadFrom,
    bisected: bool,  # noqa: FBT001 - a parameter of the test
    share: float,
) -> None:
    """The same, with and without the mappings that single records prove; what is only presumed is not exact."""
    found = answered(spark, made_up(seed, *[Ending.DRAINED] * 3, Ending.STOPPED), read, bisected=bisected)

    assert not shortest(one for one in found if one.wrong and not excused(one, read))
    drained = [one for one in found if one.world.ending is Ending.DRAINED]
    assert sum(one.exact for one in drained) > share * len(drained)


@pytest.mark.parametrize("seed", SEEDS)
def test_mappings_that_a_search_begins_with_are_those_that_are_believed(spark: SparkSession, seed: int) -> None:
    """Two pieces of code leave out what is of earlier topics: that of the task, and that of the job."""
    worlds = made_up(seed, *[Ending.DRAINED] * 3, Ending.STOPPED)
    partitions = partitions_of(spark, worlds, ReadFrom.NONE)

    believed = known_mappings(syncs_of(spark, worlds), partitions).select("topic", "upstream", "downstream")

    assert {tuple(row) for row in believed.distinct().collect()} == searched_mappings(worlds)


@pytest.mark.parametrize("seed", SEEDS)
def test_where_the_source_was_lost(spark: SparkSession, seed: int) -> None:
    """Nothing that the remote topic has is skipped, and nothing is exact: what the source had more, nobody knows."""
    found = answered(spark, made_up(seed, Ending.BROKEN), ReadFrom.NONE)

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


def test_records_of_somebody_else_behind_the_last_one(spark: SparkSession) -> None:
    """Whoever has read all goes on before them; nobody goes on behind.

    Nothing is exact but that: nothing shows that they aren't changed copies.
    """
    world = replicated(10)
    world.write_foreign(*range(100, 105))

    found = translated(answered(spark, [ended(world)], ReadFrom.ALL))

    assert {at: (lower, missing) for at, (lower, _upper, missing, _exact) in found.items()} == {
        at: (at, 0) for at in range(11)
    }
    assert not any(exact for *_bounds, exact in found.values())


@pytest.mark.parametrize("read", [ReadFrom.ALL, ReadFrom.NONE])
def test_a_partition_that_the_target_lacks(spark: SparkSession, read: ReadFrom) -> None:
    """All that a group has not read is missing, what was deleted since as well."""
    world = World(absent=True)
    world.produce(*range(4))
    world.source.retain(1)

    found = translated(answered(spark, [ended(world, Ending.STOPPED)], read))

    assert found == {at: (None, None, 4 - at, False) for at in range(5)}


def test_what_retention_took_before_it_was_replicated(spark: SparkSession) -> None:
    """Nothing is left to be replicated, but no group that has yet to read it is exact."""
    world = replicated(4)
    world.produce(*range(4, 10))
    world.source.retain(10)

    found = translated(answered(spark, [ended(world)], ReadFrom.NONE))

    assert all(missing is None for _lower, _upper, missing, _exact in (found[at] for at in range(10)))
    assert not any(found[at][3] for at in range(10))
    assert found[10][2] == 0


def test_a_record_of_somebody_else_that_looks_like_one_to_come(spark: SparkSession) -> None:
    """Where values repeat, one that looks alike proves no offset by itself, however rare it is."""
    world = World(Traits(repeats=True))
    world.produce(1, 1, 2, 3, each=1000)
    world.flow.replicate()
    world.produce(1, 4, each=1000)
    world.write_foreign(4, each=1000)
    world.flow.replicate(1)

    found = answered(spark, [ended(world, Ending.STOPPED)], ReadFrom.ALL)

    assert not shortest(one for one in found if one.wrong)


@pytest.mark.parametrize("read", [ReadFrom.ALL, ReadFrom.REMOTE, ReadFrom.SOME])
def test_a_second_copy_reaches_back_over_a_marker_that_no_mapping_shows(spark: SparkSession, read: ReadFrom) -> None:
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

    found = answered(spark, [world], read)

    assert not shortest(one for one in found if one.wrong)
    lower, upper, _missing, exact = translated(found)[7]
    assert (lower is not None and upper is not None and lower <= 18 <= upper, exact) == (True, False)


def test_a_flow_that_was_moved_forward(spark: SparkSession) -> None:
    """The records that it has left out are counted, and those who have yet to read them are not exact."""
    world = replicated(4)
    world.produce(*range(4, 10))
    world.flow.move(6)
    world.flow.replicate()

    found = translated(answered(spark, [ended(world)], ReadFrom.ALL))

    offsets = [0, 1, 2, 3, 4, 4, 4, 5, 6, 7, 8]
    missing = [2, 2, 2, 2, 2, 1, 0, 0, 0, 0, 0]
    assert found == {at: (offsets[at], offsets[at], missing[at], not missing[at]) for at in range(11)}


def test_a_rewind_that_had_not_caught_up_when_the_source_was_lost(spark: SparkSession) -> None:
    """Whoever has yet to read what was not copied again goes on in the first copies."""
    world = replicated(10)
    world.flow.move(2)
    world.flow.replicate(6)

    found = answered(spark, [ended(world, Ending.BROKEN)], ReadFrom.NONE)

    assert not shortest(one for one in found if one.wrong)
    assert {one.position: one.lower for one in found}[9] == 6


def test_a_checkpoint_of_an_earlier_remote_topic(spark: SparkSession) -> None:
    """It is not believed where the syncs show that the topic was created anew."""
    world = replicated(10)
    world.groups["reader"] = 6
    world.checkpoint()
    world.recreate_target()
    world.produce(10, 11, 12)
    world.flow.replicate()

    found = answered(spark, [ended(world, Ending.BROKEN)], ReadFrom.NONE)

    assert not shortest(one for one in found if one.wrong)
    assert {one.lower for one in found if one.position <= 9} <= {None, 0}


def test_mappings_that_a_reset_has_kept(spark: SparkSession) -> None:
    """The syncs of the first copies went with the reset; what it has kept is there, and gives these offsets again."""
    world = replicated(10)
    world.reset(5)
    world.produce(10, 11)
    world.flow.replicate()

    found = translated(answered(spark, [ended(world)], ReadFrom.NONE))

    assert world.kept
    assert [found[at][0] for at in range(13)] == bests(world)

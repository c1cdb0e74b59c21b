"""Positions of remote topics translated back to their sources, compared with worlds that are fully known."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping
from enum import StrEnum
from functools import partial
from random import Random

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from airflow_provider_connect_offsets.pipeline.translate.home import choose_ranges, combine_replicated, find_uncertain
from tests.support.model.mirror_events import history
from tests.support.model.mirror_home import AnswerAtHome, answered_at_home
from tests.support.model.mirror_kinds import Event, Trait
from tests.support.model.mirror_logs import Traits
from tests.support.model.mirror_presumed import looks_alike, misled
from tests.support.model.mirror_rows import ReadFrom, partitions_of, syncs_of
from tests.support.model.mirror_world import Ending, World
from tests.support.rows.frames import frame_of

pytestmark = pytest.mark.histories
HISTORIES = int(os.environ.get("HISTORIES", "250"))
SEEDS = [int(seed) for seed in os.environ.get("SEEDS", "1").split(",")]
_ANEW = {Event.SOURCE_ANEW, Event.TARGET_ANEW}
_ORDINARY = {
    Event.PRODUCE,
    Event.REPLICATE,
    Event.CRASH,
    Event.RESTART,
    Event.REWIND,
    Event.PAUSE,
    Event.GROUPS_MOVE,
    Event.CHECKPOINT,
}
# Events and traits that keep both logs from being read whole, or hide in the records what was passed over.
_HIDES = {
    Event.RETAIN_TARGET,
    Event.CONVERTER,
    Event.TRANSFORM,
    Event.TIMESTAMP_TYPE,
    Event.CLEANUP_POLICY,
    Trait.COMPACTED,
    Trait.CONVERTED,
    Trait.DROPS,
    Trait.CHANGES,
}


def made_up(seed: int) -> list[World]:
    """Histories whose flows were stopped, some of them after they had broken off."""
    random = Random(seed)
    made = [history(random, ending=random.choice(list(Ending))) for _ in range(HISTORIES)]
    for world in made:
        world.ending = Ending.DRAINED if world.ending is Ending.DRAINED else Ending.STOPPED
    return made


def shortest(wrong: Iterable[AnswerAtHome]) -> str:
    """The simplest of those that are wrong."""
    return min((str(place) for place in wrong), key=len, default="")


def ordinary(found: Iterable[AnswerAtHome]) -> list[AnswerAtHome]:
    """Those of flows that have replicated something, and to which nothing else happened than restarts and rewinds."""
    return [one for one in found if one.world.happened <= _ORDINARY and one.world.target.end]


@pytest.mark.parametrize("seed", SEEDS)
def test_with_all_records_read(spark: SparkSession, seed: int) -> None:
    """Whatever happened: nothing is skipped, except in records that can't be read or recognised; exact is true."""
    found = answered_at_home(spark, made_up(seed), ReadFrom.ALL)

    wrong = _wrong(found)
    assert not shortest(one for one in wrong if one.wrong != "SKIP" or not _may_be_passed_over(one, _HIDES))
    assert all(one.exact for one in ordinary(found))
    assert sum(one.exact for one in found) > 0.37 * len(found)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("read", [ReadFrom.SOME, ReadFrom.NONE])
def test_with_less_than_that(spark: SparkSession, seed: int, read: ReadFrom) -> None:
    """The same, but that a flow was moved forward by hand doesn't show in its mappings; so they make nothing exact."""
    found = answered_at_home(spark, made_up(seed), read)

    wrong = _wrong(found)
    assert not shortest(one for one in wrong if one.wrong != "SKIP" or not _may_be_passed_over(one))
    assert sum(one.max_rereads == 0 for one in ordinary(found)) > 0.7 * len(ordinary(found))


def _wrong(found: Iterable[AnswerAtHome]) -> list[AnswerAtHome]:
    """Those that are, though nothing that mappings presume is false, or that are called exact."""
    wrong = (one for one in found if one.wrong and not _may_be_another(one.world))
    return [one for one in wrong if one.exact or not misled(one.world)]


def _may_be_another(world: World) -> bool:
    """Whether only an id distinguishes one topic, or one record, from another, or nothing shows an earlier copy."""
    return bool({*_ANEW, Event.CLEANUP_POLICY} & world.happened) or looks_alike(world)


def _may_be_passed_over(one: AnswerAtHome, unless: Collection[StrEnum] = ()) -> bool:
    """Whether the flow was moved forward, or the source's markers and what no copy is on the target are as many."""
    happened = one.world.happened
    others = {Trait.EXACTLY_ONCE, Event.FOREIGN, Event.SECOND_FLOW}
    even = Trait.TRANSACTIONS in happened and not happened.isdisjoint(others)
    return (Event.FORWARD in happened or even) and not one.exact and (not unless or not happened.isdisjoint(unless))


def replicated_world(count: int, traits: Traits | None = None) -> World:
    """A world in which so many records were produced, all of them different, and replicated."""
    world = World(traits or Traits())
    world.produce(*range(count))
    world.flow.replicate()
    world.flow.commit()
    return world


def starts(found: Iterable[AnswerAtHome]) -> dict[int, tuple[int | None, bool]]:
    """Of one world, by position."""
    return {one.position: (one.start, one.exact) for one in found}


def rewound() -> World:
    """0 to 9, then 5 to 9 once more."""
    world = replicated_world(10)
    world.reset(5)
    world.flow.replicate()
    world.flow.commit()
    world.produce(10, 11)
    return world


def passed_over(*, begin: int = 4, to: int = 6, end: int = 10) -> World:
    """The flow was moved from ``begin`` to ``to``."""
    world = replicated_world(begin)
    world.produce(*range(begin, end))
    world.flow.move(to)
    world.flow.replicate()
    world.flow.commit()
    return world


def moved_back() -> World:
    """The flow was moved from 4 to 6, and back to 4."""
    world = replicated_world(4)
    world.produce(*range(4, 10))
    world.flow.move(6)
    world.flow.replicate()
    world.flow.move(4)
    world.flow.replicate()
    world.flow.commit()
    return world


def deleted_copies() -> World:
    """The flow was moved from 8 to 15, and home has deleted what lies before 12."""
    world = passed_over(begin=8, to=15, end=24)
    world.source.retain(12)
    return world


def never_replicated() -> World:
    """Retention has deleted 5 to 9 at home before they were replicated."""
    world = replicated_world(5)
    world.produce(*range(5, 15))
    world.source.retain(10)
    world.flow.replicate()
    world.flow.commit()
    return world


def without_beginning() -> World:
    """Retention has taken the beginning of both logs, compaction the first syncs."""
    world = replicated_world(20)
    world.source.retain(8)
    world.target.retain(8)
    del world.syncs[:3]
    return world


def much_at_home(*, repeats: bool) -> World:
    """60 records were replicated, and 300 have come behind them."""
    world = World(Traits(repeats=repeats, log_append_time=repeats))
    values = [number % 3 for number in range(60)] if repeats else list(range(60))
    world.produce(*values)
    world.flow.replicate()
    world.flow.commit()
    world.produce(*([0, 1, 2] * 100 if repeats else range(60, 360)))
    return world


SMALL_WORLDS: dict[str, Callable[[], World]] = {
    "rewound": rewound,
    "passed over": passed_over,
    "moved back": moved_back,
    "deleted copies": deleted_copies,
    "never replicated": never_replicated,
    "without beginning": without_beginning,
    "different values": partial(much_at_home, repeats=False),
    "repeated values": partial(much_at_home, repeats=True),
}
AtHome = Callable[[str, ReadFrom], list[AnswerAtHome]]


@pytest.fixture(scope="module")
def at_home(spark: SparkSession) -> AtHome:
    """Answers for every position of a small world; all worlds are translated at once."""
    worlds = {name: make() for name, make in SMALL_WORLDS.items()}
    found = {read: answered_at_home(spark, list(worlds.values()), read) for read in (ReadFrom.ALL, ReadFrom.NONE)}
    return lambda name, read: [one for one in found[read] if one.world is worlds[name]]


@pytest.mark.parametrize("read", [ReadFrom.ALL, ReadFrom.NONE])
def test_a_record_that_was_replicated_before_a_rewind_is_not_read_again(at_home: AtHome, read: ReadFrom) -> None:
    """A group in the second copy has read all ten."""
    shown = read is ReadFrom.ALL
    assert starts(at_home("rewound", read)) == {at: (min(at, 10), shown or not at) for at in range(16)}


def test_what_was_passed_over_never_left_home(at_home: AtHome) -> None:
    """Whoever has come further has not read what lies between."""
    assert starts(at_home("passed over", ReadFrom.ALL)) == {at: (min(at, 4), at <= 4) for at in range(9)}


def test_copies_of_deleted_records_do_not_hide_what_was_passed_over(at_home: AtHome) -> None:
    """They look like none of home's records, and nothing shows that they are changed copies of those passed over."""
    found = at_home("deleted copies", ReadFrom.ALL)

    assert not shortest(one for one in found if one.wrong)
    last = found[0].world
    start, exact = starts(found)[last.target.end]
    assert start is not None
    assert (max(start, last.source.start), exact) == (12, False)


@pytest.mark.parametrize("read", [ReadFrom.ALL, ReadFrom.NONE])
def test_records_that_retention_deleted_before_they_were_replicated(at_home: AtHome, read: ReadFrom) -> None:
    """What is gone at home can't be read there: whoever has read the first record after it goes on from there."""
    found = at_home("never replicated", read)

    assert found
    assert not shortest(one for one in found if one.wrong)
    assert {one.position for one in found if one.exact} == ({0} | set(range(6, 11)) if read is ReadFrom.ALL else {0})


def test_what_was_passed_over_and_copied_later_was_read(at_home: AtHome) -> None:
    """Who has read all of it has passed nothing."""
    found = starts(at_home("moved back", ReadFrom.ALL))

    assert found[8] == (4, False)
    assert found[14] == (10, True)


@pytest.mark.parametrize("values", ["different values", "repeated values"])
def test_much_that_was_produced_at_home_since(at_home: AtHome, values: str) -> None:
    """What is read at home is what was replicated, however much has come behind it."""
    assert starts(at_home(values, ReadFrom.ALL)) == {at: (at, True) for at in range(61)}


def test_as_much_is_read_at_home_as_was_replicated(spark: SparkSession) -> None:
    """The last records of what was replicated, not of what is there."""
    worlds = [SMALL_WORLDS[values]() for values in ("different values", "repeated values")]
    partitions, syncs = partitions_of(spark, worlds, ReadFrom.NONE), syncs_of(spark, worlds)
    partitions = partitions.withColumn("drained", F.expr("true"))
    requested = frame_of(spark, [("0", 0, 60), ("1", 0, 60)], "topic string, kafka_partition int, position long")
    found = combine_replicated(partitions, syncs=syncs)

    ranges = choose_ranges(requested, partitions, found, compared=20).collect()

    assert {row["topic"]: (row["source_from"], row["target_from"]) for row in ranges} == {
        "0": (40, 40),
        "1": (40, 40),
    }


def test_reading_begins_where_no_sync_says_what_was_copied(spark: SparkSession) -> None:
    """A worker that died before its first sync has left copies: all positions behind them depend on these."""
    died, lived = World(), World()
    for world in (died, lived):
        world.produce(*range(20))
    died.flow.silent = True
    died.flow.replicate(6)
    died.flow.crash()
    died.flow.silent = False
    for world in (died, lived):
        world.flow.replicate()
        world.flow.commit()
    worlds = [died, lived]
    partitions = partitions_of(spark, worlds, ReadFrom.NONE).withColumn("drained", F.expr("true"))
    found = combine_replicated(partitions, syncs=syncs_of(spark, worlds))

    begins = [
        [(row["topic"], row["begins"]) for row in find_uncertain(partitions, found, compared=compared).collect()]
        for compared in (26, 25)
    ]

    assert died.target.end == 26
    assert begins == [[("0", 0)], []]


def test_nothing_is_known_of_the_beginning(at_home: AtHome) -> None:
    """Neither logs nor syncs tell what was there."""
    found = at_home("without beginning", ReadFrom.NONE)
    first: Mapping[int, tuple[int | None, bool]] = starts(found)

    known = found[0].world.syncs[0].downstream
    assert {at: first[at][0] for at in range(1, known + 1)} == dict.fromkeys(range(1, known + 1))
    assert {at: first[at] for at in range(known + 1, 21)} == {at: (at, False) for at in range(known + 1, 21)}

"""Translated positions, compared with random worlds of which everything is known."""

from __future__ import annotations

import os
from random import Random

import pytest
from pyspark.sql import SparkSession

from airflow_provider_connect_offsets.pipeline.translate.mappings import known_mappings
from tests.support.model.mirror_answered import Question, answered_together, shortest
from tests.support.model.mirror_events import history
from tests.support.model.mirror_kinds import Event, Trait
from tests.support.model.mirror_presumed import BLURRED, excused, looks_alike
from tests.support.model.mirror_rows import Answer, ReadFrom, partitions_of, searched_mappings, syncs_of
from tests.support.model.mirror_world import Ending, World

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
MOST = (Ending.DRAINED, Ending.DRAINED, Ending.DRAINED, Ending.STOPPED)
# How histories end, which records were read, and whether single ones were.
Asked = tuple[tuple[Ending, ...], ReadFrom, bool]
ASKED: list[Asked] = [
    *[(MOST, read, bisected) for read in (ReadFrom.ALL, ReadFrom.SOME, ReadFrom.NONE) for bisected in (True, False)],
    *[((Ending.DRAINED,), read, True) for read in (ReadFrom.ALL, ReadFrom.SOME, ReadFrom.NONE)],
    ((Ending.BROKEN,), ReadFrom.NONE, False),
]
Histories = dict[Asked, list[Answer]]


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

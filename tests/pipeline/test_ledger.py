"""The ledger that readiness runs keep: its size, and its use once the source is lost."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from random import Random

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from airflow_provider_connect_offsets.pipeline.failover.unplanned import Remains
from airflow_provider_connect_offsets.pipeline.frames import struct_type
from airflow_provider_connect_offsets.pipeline.translate.ledger import MAPPING, MOST_MAPPINGS, select_newest, thin
from airflow_provider_connect_offsets.workspace.flow_schemas import FLOW_TOPICS, MIRROR_LEDGER
from tests.support.model.mirror_events import drawn, history
from tests.support.model.mirror_kinds import Event, Trait
from tests.support.model.mirror_ledger import CHECKPOINTED, answered_with_ledger, kept_ledger
from tests.support.model.mirror_presumed import excused
from tests.support.model.mirror_rows import NOON, Answer, ReadFrom
from tests.support.model.mirror_world import Ending, Sync, World
from tests.support.rows.frames import assert_same_rows, frame_of

HISTORIES = int(os.environ.get("HISTORIES", "100"))
SEEDS = [int(seed) for seed in os.environ.get("SEEDS", "1").split(",")]
# Readiness runs in each history, at any time of it.
OBSERVATIONS = 3
_MAPPINGS = "topic string, kafka_partition int, upstream long, downstream long, target_start long"
# Nothing is left that shows whether a record is a copy, or which topic of that name the source had.
_UNKNOWABLE = {Event.FOREIGN, Event.SECOND_FLOW, Event.SOURCE_ANEW, Event.CLEANUP_POLICY, Trait.REPEATS}


def test_mappings_that_add_nothing_are_left_out(spark: SparkSession) -> None:
    """Those between two at the same distance, and those before the last one where the remote topic begins."""
    points = [(0, 0), (5, 5), (10, 10), (15, 15), (20, 20), (12, 21), (17, 26), (22, 31), (40, 50)]
    mappings = frame_of(spark, [("t", 0, *mapping, 8) for mapping in points], _MAPPINGS)

    kept = frame_of(
        spark, [("t", 0, *mapping, 8) for mapping in ((5, 5), (20, 20), (12, 21), (22, 31), (40, 50))], _MAPPINGS
    )
    assert_same_rows(thin(mappings), kept)


def test_no_more_mappings_than_that(spark: SparkSession) -> None:
    """Where each has another distance, the last ones."""
    points = [(at, at * 2) for at in range(MOST_MAPPINGS + 10)]
    mappings = frame_of(spark, [("t", 0, *mapping, 0) for mapping in points], _MAPPINGS)

    assert_same_rows(thin(mappings), mappings.where("upstream >= 10"))


def looked_at_twice(*, anew: bool) -> World:
    """A flow of 12 records, observed after 6 of them, and once more at the end, when its first syncs are gone."""
    world = World(ending=Ending.BROKEN)
    world.produce(*range(6))
    world.flow.replicate()
    world.flow.commit()
    world.observe()
    if anew:
        world.recreate_target()
    world.produce(*range(6, 12))
    world.flow.replicate()
    world.flow.commit()
    world.syncs[:2] = []
    world.observe()
    return world


def test_mappings_outlive_the_syncs_but_not_the_topic(spark: SparkSession) -> None:
    """Kept from the first readiness run on; of a remote topic with another id only what came since."""
    rows = kept_ledger(spark, [looked_at_twice(anew=False), looked_at_twice(anew=True)])

    kept: dict[str, list[tuple[int, int]]] = {"0": [], "1": []}
    for row in rows.where(F.col("kind") == MAPPING).orderBy("downstream").collect():
        kept[row["topic"]].append((row["upstream"], row["downstream"]))
    assert kept["0"] == [(0, 0), (11, 11)]
    assert (0, 0) not in kept["1"]
    assert all(upstream >= 6 for upstream, _ in kept["1"])


def test_of_two_connectors_the_newer_ledger_counts(spark: SparkSession) -> None:
    """Where both have replicated a partition; another one only the older has observed."""
    rows = [
        ("position", at, "t", "s.t", partition, None, None, "reader", position, *[None] * 12)
        for at, partition, position in (
            (NOON, 0, 7),
            (NOON - timedelta(days=1), 0, 3),
            (NOON - timedelta(days=1), 1, 4),
        )
    ]

    ledgers = frame_of(spark, rows, struct_type(MIRROR_LEDGER))
    assert_same_rows(select_newest(ledgers), ledgers.where("upstream in (7, 4)"))


def test_the_later_of_a_readiness_run_and_a_checkpoint_counts(spark: SparkSession) -> None:
    """By the checkpoints that the run has observed, whatever the clocks say, as a group may have gone back."""
    place, hour = ("t", "s.t", 0), timedelta(hours=1)
    observations = [
        ("rewound", 400),
        ("further", 400),
        ("back since", 400),
        ("no checkpoint", 400),
        ("the first", None),
    ]
    rows = [("position", NOON, *place, None, None, name, 50, *[None] * 11, end) for name, end in observations]
    by_checkpoint = [
        ("rewound", "s.t", 0, 90, 90, "checkpoint", NOON + hour, 399),
        ("further", "s.t", 0, 60, 60, "checkpoint", NOON - hour, 400),
        ("back since", "s.t", 0, 20, 20, "checkpoint", NOON, 401),
        ("the first", "s.t", 0, 60, 60, "checkpoint", NOON, 0),
        ("not looked at", "s.t", 0, 7, 7, "checkpoint", NOON, 12),
    ]
    remains = Remains(frame_of(spark, rows, struct_type(MIRROR_LEDGER)), frame_of(spark, [], struct_type(FLOW_TOPICS)))

    found = remains.positions(frame_of(spark, by_checkpoint, CHECKPOINTED)).collect()

    assert {row["group"]: (row["position"], row["position_of"]) for row in found} == {
        "rewound": (50, "ledger"),
        "further": (60, "checkpoint"),
        "back since": (20, "checkpoint"),
        "no checkpoint": (50, "ledger"),
        "the first": (60, "checkpoint"),
        "not looked at": (7, "checkpoint"),
    }


def lost(seed: int, *, ordinary: bool) -> list[World]:
    """Histories that end with the loss of the source, observed now and then; half of them lose their syncs too."""
    random = Random(seed)
    worlds = []
    for number in range(HISTORIES):
        kinds, traits = ([Event.RESTART, Event.REWIND, Event.PAUSE], set()) if ordinary else drawn(random)
        world = history(random, ending=Ending.BROKEN, kinds=kinds, traits=traits, observations=OBSERVATIONS)
        if number % 2:
            world.syncs.clear()
        worlds.append(world)
    return worlds


def shortest(wrong: Iterable[Answer]) -> str:
    """The simplest of those that are wrong."""
    return min((str(answer) for answer in wrong), key=len, default="")


def answered_by_name(spark: SparkSession, worlds: Mapping[str, Sequence[World]]) -> dict[str, list[Answer]]:
    """The answers in worlds of several names, all translated at once."""
    found = answered_with_ledger(spark, [world for made in worlds.values() for world in made])
    names = {id(world): name for name, made in worlds.items() for world in made}
    return {name: [one for one in found if names[id(one.world)] == name] for name in worlds}


@pytest.fixture(scope="module", params=SEEDS)
def histories(request: pytest.FixtureRequest, spark: SparkSession) -> dict[str, list[Answer]]:
    """Answers in histories that a seed draws: ordinary ones, and others."""
    seed = int(request.param)
    worlds = {"ordinary": lost(seed, ordinary=True), "others": lost(seed, ordinary=False)}
    return answered_by_name(spark, worlds)


@pytest.mark.histories
def test_ordinary_flows_are_exact(histories: dict[str, list[Answer]]) -> None:
    """With restarts, rewinds and pauses nothing is skipped, and 95 of 100 answers are exact, with or without syncs."""
    found = histories["ordinary"]

    assert not shortest(one for one in found if one.wrong)
    can_be = [one for one in found if one.can_be_exact]
    assert sum(one.exact for one in can_be) >= 0.95 * len(can_be)


def killed_again_and_again(*, copies: int) -> World:
    """A flow that has copied six records, and then ``copies`` of them once more, before its first sync was sent."""
    world = World(ending=Ending.BROKEN)
    world.produce(*range(6))
    world.flow.silent = True
    world.flow.replicate()
    for count in (copies, 0):
        world.flow.crash()
        world.flow.replicate(count)
    world.flow.silent = False
    world.produce(*range(6, 12))
    world.flow.replicate()
    world.flow.commit()
    world.observe()
    return world


def with_a_twin(seed: int) -> World:
    """A flow with a new record that looks like an earlier one, workers that were killed, and lost syncs."""
    random, world = Random(seed), World(ending=Ending.BROKEN, seed=seed)
    after = random.randrange(3, 12)
    twin = random.choice([after - 1, random.randrange(after)])
    contents = [*range(after), twin, *range(after, after + random.choice([0, 1, 5]))]
    for content in contents:
        world.produce(content, each=100)
        if random.random() < 0.5:
            world.flow.replicate(random.randint(1, 4))
        if random.random() < 0.2:
            world.flow.commit()
        if random.random() < 0.2:
            world.flow.crash()
    world.flow.replicate()
    world.flow.commit()
    world.observe()
    for one in (world, *world.observations):
        one.syncs[:] = [sync for sync in one.syncs if Random(f"{seed} {sync.order}").random() < 0.4]
    return world


def before_a_new_remote_topic(seed: int) -> World:
    """A flow whose first sync is older than the remote topic, which only a later sync shows.

    Between 0 at 0 and 6 at 1 lie six records of the source and one of the remote topic, which has room for no more.
    """
    world = World(ending=Ending.BROKEN, seed=seed)
    world.produce(*range(5))
    world.flow.replicate()
    world.flow.commit()
    world.recreate_target()
    world.produce(*range(5, 19))
    world.flow.replicate()
    world.flow.commit()
    world.syncs[:] = [Sync(*sent, number) for number, sent in enumerate([(0, 0), (6, 1), (10, 5), (15, 10)])]
    world.observe()
    return world


@pytest.fixture(scope="module")
def small(spark: SparkSession) -> dict[str, list[Answer]]:
    """Answers in small worlds."""
    worlds = {
        "killed": [killed_again_and_again(copies=copies) for copies in (1, 2, 5)],
        "new topic": [before_a_new_remote_topic(seed) for seed in range(5)],
        "twins": [with_a_twin(seed) for seed in range(HISTORIES)],
    }
    return answered_by_name(spark, worlds)


def test_workers_that_were_killed_at_once(small: dict[str, list[Answer]]) -> None:
    """One of them may have copied a single record once more; what was replicated later shows that it is no new one."""
    found = small["killed"]

    assert found
    assert not shortest(one for one in found if one.wrong)
    assert all(one.exact for one in found)


@pytest.mark.histories
def test_a_new_record_that_looks_like_an_earlier_one(small: dict[str, list[Answer]]) -> None:
    """It is not taken for a second copy of that one."""
    found = small["twins"]

    assert not shortest(one for one in found if one.wrong)
    assert found


def test_a_sync_before_a_new_remote_topic(small: dict[str, list[Answer]]) -> None:
    """Readiness runs began when the remote topic was new already."""
    found = small["new topic"]

    assert not shortest(one for one in found if one.wrong)
    assert found


@pytest.mark.histories
def test_whatever_else_has_happened(histories: dict[str, list[Answer]]) -> None:
    """Nothing is skipped, and what is called exact is, but for what can't be known without the source."""
    found = histories["others"]

    assert found
    known = (one for one in found if not _UNKNOWABLE & one.world.happened)
    # A claim alone moves nothing: it is for a comparison with the source, and there is none.
    wrong = (one for one in known if one.wrong not in {"", "CLAIMED"})
    assert not shortest(one for one in wrong if not excused(one, ReadFrom.NONE))

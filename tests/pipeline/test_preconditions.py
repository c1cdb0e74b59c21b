"""The preconditions of evidence: without any one of them, an answer that was right is wrong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from random import Random

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from airflow_provider_connect_offsets.pipeline.translate import bounds, elements, records, translation
from airflow_provider_connect_offsets.pipeline.translate.mappings import created_anew
from tests.support.model.mirror_events import history
from tests.support.model.mirror_kinds import Event, Trait
from tests.support.model.mirror_logs import Traits
from tests.support.model.mirror_rows import Answer, ReadFrom, answered, read_from
from tests.support.model.mirror_world import Ending, World

HISTORIES = 150
_ANEW = {Event.SOURCE_ANEW, Event.TARGET_ANEW}


@dataclass(frozen=True)
class Precondition:
    """One that is left out: by what a partition is said to be, or by a rule in place of the one that requires it."""

    kinds: tuple[Event, ...] = ()
    traits: tuple[Trait, ...] = ()
    read: ReadFrom = ReadFrom.NONE
    ending: Ending = Ending.DRAINED
    said: dict[str, bool] = field(default_factory=dict)
    rule: Callable[[pytest.MonkeyPatch], None] = lambda _patch: None


def all_comes_again(patch: pytest.MonkeyPatch) -> None:
    """Whatever comes later, all of an element is taken to come again."""
    again = F.when(F.col("again_to").isNull(), F.col("high"))
    patch.setattr(bounds, "reach_unread", lambda: again)


def nothing_comes_again(patch: pytest.MonkeyPatch) -> None:
    """Each certain copy is taken for the last one."""
    patch.setattr(bounds, "reach_last", lambda: F.when(F.col("certain"), F.col("high")))


def no_topic_is_new(patch: pytest.MonkeyPatch) -> None:
    """Checkpoints are believed, whatever the syncs show."""

    def none(syncs: DataFrame, partitions: DataFrame) -> DataFrame:
        return created_anew(syncs, partitions).limit(0)

    patch.setattr(translation, "created_anew", none)


def no_value_repeats(patch: pytest.MonkeyPatch) -> None:
    """Each record of the remote topic is taken for the first one that looks like it."""
    with_straight = records._with_straight

    def certain(frame: DataFrame, source: DataFrame) -> DataFrame:
        return with_straight(frame.withColumn("upstream", F.coalesce("upstream", "first")), source)

    patch.setattr(records, "_with_straight", certain)


def no_gap_is_known(patch: pytest.MonkeyPatch) -> None:
    """Equal distances are believed also where the flow surely has left out some record."""
    by_mappings = elements._by_mappings

    def believed(mappings: DataFrame) -> DataFrame:
        return by_mappings(mappings.withColumn("believed", F.col("whole")))

    patch.setattr(elements, "_by_mappings", believed)


def any_checkpoint_counts(patch: pytest.MonkeyPatch) -> None:
    """One that was written after a rewind, too."""
    patch.setattr(bounds, "_since_the_last_rewind", lambda: F.expr("true"))


def checkpoints_are_trusted(patch: pytest.MonkeyPatch) -> None:
    """They count where no offset mapping is left."""
    bounded = bounds.bounded
    patch.setattr(translation, "bounded", lambda *args, **_trusts: bounded(*args, trusts_checkpoints=True))


PRECONDITIONS = {
    "earlier copies come again": Precondition(
        (Event.REWIND, Event.FORWARD), read=ReadFrom.ALL, ending=Ending.STOPPED, rule=all_comes_again
    ),
    "a copy is the last one": Precondition((Event.REWIND, Event.CRASH), read=ReadFrom.ALL, rule=nothing_comes_again),
    "no transform": Precondition((Event.RESTART,), (Trait.DROPS,), said={"transformed": False}),
    "no topic created anew": Precondition(
        (Event.TARGET_ANEW, Event.CHECKPOINT), ending=Ending.BROKEN, rule=no_topic_is_new
    ),
    "values that repeat are distinguished": Precondition(
        (Event.CRASH,), (Trait.REPEATS,), read=ReadFrom.ALL, rule=no_value_repeats
    ),
    "a checkpoint was written after the last rewind": Precondition(
        (Event.REWIND, Event.CHECKPOINT), ending=Ending.BROKEN, rule=any_checkpoint_counts
    ),
    "the tail is the flow's own": Precondition((Event.FOREIGN,), said={"ends_with_stored": True}),
    "replication has caught up": Precondition(ending=Ending.STOPPED, said={"drained": True}),
}


@pytest.mark.parametrize("name", PRECONDITIONS)
def test_it_is_needed(spark: SparkSession, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """None of the answers is wrong, and without it some are."""
    one = PRECONDITIONS[name]
    random = Random(7)
    worlds = [history(random, ending=one.ending, kinds=one.kinds, traits=one.traits) for _ in range(HISTORIES)]
    before = answered(spark, worlds, one.read)

    one.rule(monkeypatch)
    without = answered(spark, worlds, one.read, one.said)

    assert not [str(answer) for answer in before if answer.wrong and not _unknowable(answer)]
    assert any(answer.wrong for answer in without if not _unknowable(answer) or one.rule is no_topic_is_new)


def test_no_gap_is_known(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """A record that was left out and somebody else's make up for one another; a second gap shows that some were."""
    world = World()
    world.produce(*range(16))
    world.flow.replicate(4)
    world.flow.move(6)
    world.flow.replicate(2)
    world.write_foreign(100, 101)
    world.flow.replicate(2)
    world.flow.move(12)
    world.flow.replicate()
    world.flow.commit()
    world.syncs = [sync for sync in world.syncs if sync.upstream != 6]
    assert {(0, 0), (9, 9), (12, 10)} <= {(sync.upstream, sync.downstream) for sync in world.syncs}

    before = answered(spark, [world], ReadFrom.NONE)
    no_gap_is_known(monkeypatch)
    without = answered(spark, [world], ReadFrom.NONE)

    assert not [str(answer) for answer in before if answer.wrong]
    assert "SKIP" in {answer.wrong for answer in without}


def test_a_checkpoint_lies_behind_a_mapping(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where none is left, it may have been written in the midst of a rewind that never caught up."""
    world = World(ending=Ending.BROKEN)
    world.produce(*range(20))
    world.flow.replicate()
    world.flow.move(0)
    world.flow.replicate(9)
    world.groups["reader"] = 12
    world.checkpoint()
    world.syncs.clear()

    before = answered(spark, [world], ReadFrom.NONE)
    checkpoints_are_trusted(monkeypatch)
    without = answered(spark, [world], ReadFrom.NONE)

    assert not [str(answer) for answer in before if answer.wrong]
    assert {answer.wrong for answer in without if answer.position == 12} == {"SKIP"}


def test_timestamps_are_those_of_the_source(spark: SparkSession) -> None:
    """Without them records that were not read may look like those that were, and have the copies that those lack."""
    world = World(Traits(log_append_time=True), Ending.STOPPED)
    world.produce(1, 2, 3, 4, 1, 2, 3)
    world.flow.replicate(4)
    world.flow.commit()
    world.syncs.clear()
    world.seed = next(seed for seed in count() if _read_from(world, seed) == (4, 0))

    before = answered(spark, [world], ReadFrom.SOME)
    without = answered(spark, [world], ReadFrom.SOME, {"timed": True})

    assert not [str(answer) for answer in before if answer.wrong]
    assert {answer.wrong for answer in without if answer.position >= 4} - {""}


def _read_from(world: World, seed: int) -> tuple[int | None, int | None]:
    world.seed = seed
    return read_from(world, ReadFrom.SOME)


def _unknowable(answer: Answer) -> bool:
    """Whether only an id of the topic could show it."""
    return bool(_ANEW & answer.world.happened)

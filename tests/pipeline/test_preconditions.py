"""What evidence presumes: where one of these is left out, an answer is wrong that is right with it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

import pytest
from mirror_events import Ending, Event, Trait, history
from mirror_rows import Answer, ReadFrom, answered
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from airflow_provider_connect_offsets.pipeline.translate import answers, bounds, records
from airflow_provider_connect_offsets.pipeline.translate.mappings import created_anew

HISTORIES = 150
_ANEW = {Event.SOURCE_ANEW, Event.TARGET_ANEW}


@dataclass(frozen=True)
class Precondition:
    """One that is left out: by what a partition is said to be, or by a rule in place of the one that asks for it."""

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

    patch.setattr(answers, "created_anew", none)


def no_value_repeats(patch: pytest.MonkeyPatch) -> None:
    """Each record of the remote topic is taken for the first one that looks like it."""
    straight = records._straight

    def certain(frame: DataFrame, source: DataFrame) -> DataFrame:
        return straight(frame.withColumn("upstream", F.coalesce("upstream", "first")), source)

    patch.setattr(records, "_straight", certain)


PRECONDITIONS = {
    "earlier copies come again": Precondition(
        (Event.REWIND, Event.FORWARD), read=ReadFrom.ALL, ending=Ending.STOPPED, rule=all_comes_again
    ),
    "a copy is the last one": Precondition((Event.REWIND, Event.CRASH), rule=nothing_comes_again),
    "no compaction": Precondition(
        (Event.COMPACT_TARGET, Event.RESTART), (Trait.COMPACTED,), said={"gapless": True, "ends_with_stored": True}
    ),
    "no transform": Precondition((Event.RESTART,), (Trait.DROPS,), said={"transformed": False}),
    "no topic created anew": Precondition(
        (Event.TARGET_ANEW, Event.CHECKPOINT), ending=Ending.BROKEN, rule=no_topic_is_new
    ),
    "values that repeat are told apart": Precondition(
        (Event.CRASH,), (Trait.REPEATS,), read=ReadFrom.ALL, rule=no_value_repeats
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


def _unknowable(answer: Answer) -> bool:
    """Whether only an id of the topic could tell."""
    return bool(_ANEW & answer.world.happened)

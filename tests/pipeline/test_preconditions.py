"""The preconditions of evidence: without any one of them, an answer that was right is wrong."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import count
from random import Random

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from airflow_provider_connect_offsets.pipeline.translate import bounds, elements, records, translation
from airflow_provider_connect_offsets.pipeline.translate.mappings import find_recreated
from tests.support.model.mirror_answered import Question, answered, answered_together
from tests.support.model.mirror_events import history
from tests.support.model.mirror_kinds import Event, Trait
from tests.support.model.mirror_logs import Traits
from tests.support.model.mirror_rows import Answer, ReadFrom, read_from
from tests.support.model.mirror_world import Ending, World

HISTORIES = 150
_ANEW = {Event.SOURCE_ANEW, Event.TARGET_ANEW}
Rule = Callable[[pytest.MonkeyPatch], None]


@dataclass(frozen=True)
class Precondition:
    """One that is left out: by what a partition is said to be, or by a rule in place of the one that requires it."""

    worlds: Callable[[], Sequence[World]]
    read: ReadFrom = ReadFrom.NONE
    said: dict[str, bool] = field(default_factory=dict)
    rule: Rule | None = None
    is_shown_by: Callable[[Answer], bool] = lambda answer: not _unknowable(answer)


def drawn(*kinds: Event, traits: Sequence[Trait] = (), ending: Ending = Ending.DRAINED) -> Callable[[], list[World]]:
    """Histories of these kinds."""

    def worlds() -> list[World]:
        random = Random(7)
        return [history(random, ending=ending, kinds=kinds, traits=traits) for _ in range(HISTORIES)]

    return worlds


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
        return find_recreated(syncs, partitions).limit(0)

    patch.setattr(translation, "find_recreated", none)


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
    bounded = bounds.bound_offsets
    patch.setattr(translation, "bound_offsets", lambda *args, **_trusts: bounded(*args, trusts_checkpoints=True))


def gap_and_as_many_others() -> World:
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
    return world


def checkpoint_of_a_rewind() -> World:
    """It was written in the midst of a rewind that never caught up, and no sync is left."""
    world = World(ending=Ending.BROKEN)
    world.produce(*range(20))
    world.flow.replicate()
    world.flow.move(0)
    world.flow.replicate(9)
    world.groups["reader"] = 12
    world.checkpoint()
    world.syncs.clear()
    return world


def other_timestamps() -> World:
    """Records that were not read look like those that were, but for the source's timestamps, which the copies lack."""
    world = World(Traits(log_append_time=True), Ending.STOPPED)
    world.produce(1, 2, 3, 4, 1, 2, 3)
    world.flow.replicate(4)
    world.flow.commit()
    world.syncs.clear()
    world.seed = next(seed for seed in count() if _read_from(world, seed) == (4, 0))
    return world


PRECONDITIONS = {
    "earlier copies come again": Precondition(
        drawn(Event.REWIND, Event.FORWARD, ending=Ending.STOPPED), ReadFrom.ALL, rule=all_comes_again
    ),
    "a copy is the last one": Precondition(drawn(Event.REWIND, Event.CRASH), ReadFrom.ALL, rule=nothing_comes_again),
    "no transform": Precondition(drawn(Event.RESTART, traits=[Trait.DROPS]), said={"transformed": False}),
    "no topic created anew": Precondition(
        drawn(Event.TARGET_ANEW, Event.CHECKPOINT, ending=Ending.BROKEN),
        rule=no_topic_is_new,
        is_shown_by=lambda _: True,
    ),
    "values that repeat are distinguished": Precondition(
        drawn(Event.CRASH, traits=[Trait.REPEATS]), ReadFrom.ALL, rule=no_value_repeats
    ),
    "a checkpoint was written after the last rewind": Precondition(
        drawn(Event.REWIND, Event.CHECKPOINT, ending=Ending.BROKEN), rule=any_checkpoint_counts
    ),
    "the tail is the flow's own": Precondition(drawn(Event.FOREIGN), said={"ends_with_stored": True}),
    "replication has caught up": Precondition(drawn(ending=Ending.STOPPED), said={"drained": True}),
    "no gap is known": Precondition(
        lambda: [gap_and_as_many_others()], rule=no_gap_is_known, is_shown_by=lambda answer: answer.wrong == "SKIP"
    ),
    "a checkpoint lies behind a mapping": Precondition(
        lambda: [checkpoint_of_a_rewind()],
        rule=checkpoints_are_trusted,
        is_shown_by=lambda answer: (answer.position, answer.wrong) == (12, "SKIP"),
    ),
    "timestamps are those of the source": Precondition(
        lambda: [other_timestamps()],
        ReadFrom.SOME,
        said={"timed": True},
        is_shown_by=lambda answer: answer.position >= 4,
    ),
}
Found = dict[str, list[Answer]]


@pytest.fixture(scope="module")
def before(spark: SparkSession) -> Found:
    """The answers while each precondition holds."""
    questions = {name: Question(one.worlds(), one.read) for name, one in PRECONDITIONS.items()}
    found = answered_together(spark, list(questions.values()))
    return {name: found[question] for name, question in questions.items()}


@pytest.fixture(scope="module")
def without(spark: SparkSession) -> Callable[[str], list[Answer]]:
    """The answers without a precondition."""
    said = {name: Question(one.worlds(), one.read, one.said) for name, one in PRECONDITIONS.items() if one.said}
    found = answered_together(spark, list(said.values()))

    def of(name: str) -> list[Answer]:
        one = PRECONDITIONS[name]
        if one.rule is None:
            return found[said[name]]
        with pytest.MonkeyPatch.context() as patch:
            one.rule(patch)
            return answered(spark, one.worlds(), one.read)

    return of


@pytest.mark.parametrize("name", PRECONDITIONS)
def test_it_is_needed(before: Found, without: Callable[[str], list[Answer]], name: str) -> None:
    """None of the answers is wrong, and without it some are."""
    assert before[name]
    assert not [str(answer) for answer in before[name] if answer.wrong and not _unknowable(answer)]

    wrong = [answer for answer in without(name) if answer.wrong]

    assert any(PRECONDITIONS[name].is_shown_by(answer) for answer in wrong)


def _read_from(world: World, seed: int) -> tuple[int | None, int | None]:
    world.seed = seed
    return read_from(world, ReadFrom.SOME)


def _unknowable(answer: Answer) -> bool:
    """Whether only an id of the topic could show it."""
    return bool(_ANEW & answer.world.happened)

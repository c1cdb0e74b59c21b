"""Small histories in which witnesses contradict each other, or mappings presume what is not so: nothing false is exact.

Each was answered wrongly once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import pytest
from pyspark.sql import SparkSession

from tests.support.model.mirror_answered import Question, answered, answered_together
from tests.support.model.mirror_logs import Traits
from tests.support.model.mirror_rows import Answer, ReadFrom
from tests.support.model.mirror_truth import best
from tests.support.model.mirror_world import Sync, World


class Mode(NamedTuple):
    """What is known: which records were read as a whole, and whether single ones were searched."""

    read: ReadFrom
    bisected: bool

    def __str__(self) -> str:
        return f"{self.read} records{', single ones' * self.bisected}"


# A planned failover always searches; a search that finds nothing leaves what all records show.
MODES = [Mode(ReadFrom.ALL, bisected=False), *[Mode(read, bisected=True) for read in ReadFrom]]


def changed_once(count: int, traits: Traits) -> World:
    """Half of the records were replicated under ``traits``, half of them unchanged."""
    world = World(traits)
    world.produce(*range(count // 2))
    world.flow.replicate()
    world.flow.restart()
    world.traits = Traits()
    world.produce(*range(count // 2, count))
    return drained(world)


def drained(world: World, *syncs: tuple[int, int]) -> World:
    """All is replicated; ``syncs``: only these are left."""
    world.flow.replicate()
    world.flow.commit()
    if syncs:
        world.syncs[:] = [Sync(*mapping, number) for number, mapping in enumerate(syncs)]
    return world


def two_markers() -> World:
    """A transaction's marker in either log makes up for the other: both syncs have the same distance."""
    world = World(Traits(exactly_once=True))
    world.produce(*range(6))
    world.source.append_unseen()
    world.produce(*range(7, 12))
    for offset, record in world.source.records.items():
        if offset == 9:
            world.target.append_unseen()
        world.target.append(record)
    world.flow.stored = 11
    world.syncs[:] = [Sync(0, 0, 0), Sync(11, 11, 1)]
    return world


def gap_and_as_many_others() -> World:
    """6 and 7 have no copy, and two records of somebody else take their offsets."""
    world = World()
    world.produce(*range(20))
    world.flow.replicate(6)
    world.flow.move(8)
    world.flow.replicate(4)
    world.write_foreign(100, 101)
    return drained(world, (0, 0), (5, 5), (12, 12), (19, 19))


def rewound_across_a_marker() -> World:
    """Moved from 18 to 7 after a transaction; a busy worker has left out the syncs of the second copies."""
    world = World()
    world.produce(*range(18))
    world.source.append_unseen()
    world.flow.replicate()
    world.flow.commit()
    world.produce(*range(19, 23))
    world.flow.move(7)
    return drained(world, (0, 0), (17, 17), (22, 32))


def compacted_once() -> World:
    """Neither topic is compacted any longer, but the earlier copies are gone."""
    world = World()
    world.produce(*range(10))
    world.flow.replicate()
    world.flow.move(4)
    world.flow.replicate()
    world.target.compact(10)
    return drained(world)


def recreated_source() -> World:
    """The source is new, and the syncs that are left fit into it; its last records have no copy."""
    world = World()
    world.produce(*range(20))
    world.flow.replicate()
    world.flow.silent = True
    world.recreate_source()
    world.produce(*range(100, 130))
    world.flow.replicate(27)
    world.flow.move(30)
    return drained(world)


HISTORIES: dict[str, Callable[[], World]] = {
    "one record through a converter": lambda: changed_once(2, Traits(converted=True)),
    "a converter that was corrected": lambda: changed_once(100, Traits(converted=True)),
    "LogAppendTime at first": lambda: changed_once(40, Traits(log_append_time=True)),
    "a transform that was removed": lambda: changed_once(40, Traits(changes=True)),
    "a converter that still changes all": lambda: drained(_produced(World(Traits(converted=True)), 100)),
    "a marker in either log": two_markers,
    "a gap and as many others": gap_and_as_many_others,
    "rewound across a marker": rewound_across_a_marker,
    "compacted once": compacted_once,
    "a recreated source": recreated_source,
}


def _produced(world: World, count: int) -> World:
    world.produce(*range(count))
    return world


def positions(found: Sequence[Answer]) -> dict[int, Answer]:
    return {answer.position: answer for answer in found}


@pytest.fixture(scope="module")
def claims(spark: SparkSession) -> dict[Mode, dict[str, list[Answer]]]:
    """The answers in each mode for each history."""
    questions = {
        (mode, name): Question([history()], mode.read, bisected=mode.bisected)
        for mode in MODES
        for name, history in HISTORIES.items()
    }
    found = answered_together(spark, list(questions.values()))
    return {mode: {name: found[questions[mode, name]] for name in HISTORIES} for mode in MODES}


@pytest.mark.parametrize("mode", MODES, ids=str)
def test_nothing_false_is_claimed(claims: dict[Mode, dict[str, list[Answer]]], mode: Mode) -> None:
    """However many records were read: no unread record is skipped, exact is true, bounds and counts are."""
    found = claims[mode]

    assert {name for name, answers in found.items() if not answers} == set()
    assert {name: [str(answer) for answer in answers if answer.wrong] for name, answers in found.items()} == {
        name: [] for name in HISTORIES
    }


@pytest.mark.parametrize("bisected", [False, True])
def test_an_answer_is_a_bound_where_bytes_were_changed(
    claims: dict[Mode, dict[str, list[Answer]]],
    bisected: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    """No group is moved past a record that an offset sync calls a copy; behind the change all is proved."""
    found = positions(claims[Mode(ReadFrom.ALL, bisected)]["a converter that was corrected"])

    for position in (0, 30):
        answer = found[position]
        assert (answer.exact, answer.missing) == (False, None)
        assert answer.lower is not None
        assert answer.lower <= best(answer.world, position)
    assert {at: (found[at].lower, found[at].exact) for at in (50, 60, 99)} == {at: (at, True) for at in (50, 60, 99)}


@pytest.mark.parametrize(
    "traits", [Traits(exactly_once=True), Traits(transactions=True)], ids=["exactly once", "transactional source"]
)
def test_what_can_be_proved_by_single_records_is_proved(spark: SparkSession, traits: Traits) -> None:
    """Transaction markers may be at the end of the remote topic, or between records of the source."""
    world = World(traits)
    for start in range(0, 40, 8):
        world.produce(*range(start, start + 8))
        if traits.transactions:
            world.source.append_unseen()
        world.flow.replicate()
        world.flow.commit()

    found = answered(spark, [drained(world)], ReadFrom.NONE, bisected=True)

    assert [str(answer) for answer in found if answer.wrong or not answer.exact] == []

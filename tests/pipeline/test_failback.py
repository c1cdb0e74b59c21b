"""Translations of a failback in logs that are whole, cut off, mixed or copied."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pytest
from pyspark.sql import SparkSession

from airflow_provider_connect_offsets.pipeline.failover.failback import Forward, choose_ways
from airflow_provider_connect_offsets.pipeline.frames import struct_type
from airflow_provider_connect_offsets.pipeline.translate.home import combine_replicated
from airflow_provider_connect_offsets.pipeline.translate.translation import combine_known, translate
from airflow_provider_connect_offsets.workspace.flow_schemas import MIRROR_PARTITIONS, RETURN_PARTITIONS
from airflow_provider_connect_offsets.workspace.schemas import OFFSET_SYNCS
from tests.support.rows.frames import frame_of

# Translated offset, exact, max_rereads, missing.
Answer = tuple[int | None, bool, int | None, int | None]
NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)
REQUESTED = "group string, topic string, kafka_partition int, position long, checkpoint long"
CHECKPOINTS = "topic string, kafka_partition int, upstream long, downstream long"


@dataclass(frozen=True)
class Scene:
    """A log of 100 records that came from home as they were, and what lies around them."""

    requested: Sequence[int]
    log_end: int = 100
    forward_end: int | None = 100
    copied_from: int | None = None
    left_behind: int | None = None
    home: Mapping[str, Any] = field(default_factory=dict)
    copies: Mapping[str, Any] | None = None
    copy_syncs: Sequence[tuple[int, int]] = ()


SCENES = {
    "a remote topic": Scene((0, 40, 100)),
    "retention": Scene((40, 80, 100), home={"source_start": 70}),
    "all gone": Scene((100,), home={"source_start": 120, "source_end": 120}),
    "not at home": Scene((70, 100), forward_end=None),
    "no copies": Scene((40, 105, 110), log_end=110),
    "copies": Scene(
        (40, 105, 110),
        log_end=110,
        copied_from=100,
        left_behind=0,
        home={"source_end": 110},
        copies={"source_end": 110, "target_end": 110, "stored": 109, "origin_upstream": 99, "origin_downstream": 99},
    ),
    "never left": Scene(
        (40, 105),
        log_end=110,
        copied_from=100,
        left_behind=20,
        home={"source_end": 130},
        copies={"source_end": 110, "target_end": 130, "stored": 109, "origin_upstream": 99, "origin_downstream": 119},
    ),
    "copies of all": Scene(
        (0, 40, 105),
        log_end=110,
        copied_from=0,
        left_behind=0,
        home={"source_end": 210},
        copies={"source_end": 110, "target_end": 210, "stored": 109, "origin_upstream": -1, "origin_downstream": 99},
    ),
    "not found": Scene(
        (40, 105),
        log_end=110,
        forward_end=None,
        copies={
            "source_end": 110,
            "target_end": 110,
            "stored": 109,
            "origin_upstream": None,
            "origin_downstream": None,
        },
        copy_syncs=[(102, 102)],
    ),
}


@pytest.fixture(scope="module")
def answers(spark: SparkSession) -> dict[str, dict[int, Answer]]:
    """Where groups go, by scene and position; all of them at once, each scene a topic of its own."""
    made = {
        name: {"stored": 99, "source_end": 100, "target_end": scene.forward_end, **scene.home}
        for name, scene in SCENES.items()
        if scene.forward_end is not None
    }
    home = frame_of(spark, _partitions(made), struct_type(MIRROR_PARTITIONS))
    home_syncs = frame_of(spark, _syncs({name: [(0, 0), (60, 60)] for name in made}), struct_type(OFFSET_SYNCS))
    forward = Forward(
        here=frame_of(
            spark,
            [(name, 0, one.log_end, one.forward_end, one.copied_from, one.left_behind) for name, one in SCENES.items()],
            struct_type(RETURN_PARTITIONS),
        ),
        partitions=home,
        elements=combine_replicated(home, syncs=home_syncs),
    )
    rows = [(f"g{at}", name, 0, at, None) for name, scene in SCENES.items() for at in scene.requested]
    requested = frame_of(spark, rows, REQUESTED)
    copies = {name: scene.copies for name, scene in SCENES.items() if scene.copies is not None}
    partitions = frame_of(spark, _partitions(copies), struct_type(MIRROR_PARTITIONS))
    copy_syncs = _syncs({name: scene.copy_syncs for name, scene in SCENES.items()})
    syncs = frame_of(spark, copy_syncs, struct_type(OFFSET_SYNCS))
    answered = translate(requested, partitions, combine_known(partitions, syncs=syncs))
    found: dict[str, dict[int, Answer]] = {name: {} for name in SCENES}
    for row in choose_ways(requested, answered, forward).collect():
        answer = (row["downstream"], row["exact"], row["max_rereads"], row["not_at_home"])
        found[row["topic"]][row["position"]] = answer
    return found


def _partitions(given: Mapping[str, Mapping[str, Any]]) -> list[tuple[Any, ...]]:
    usual = {"kafka_partition": 0, "source_start": 0, "target_start": 0, "drained": True, "gapless": True}
    origin = {"origin_upstream": -1, "origin_downstream": -1, "ends_with_stored": True}
    others = {"target_last": None, "contradicted_upstream": None, "contradicted_downstream": None}
    records = {"transformed": False, "timed": True, "source_from": None, "target_from": None}
    rows = [
        {"topic": name, "target_topic": name, **usual, **origin, **others, **records, **one}
        for name, one in given.items()
    ]
    return [tuple(row[name] for name in MIRROR_PARTITIONS.names) for row in rows]


def _syncs(mappings: Mapping[str, Sequence[tuple[int, int]]]) -> list[tuple[Any, ...]]:
    return [
        (name, 0, *mapping, number, NOON) for name, known in mappings.items() for number, mapping in enumerate(known)
    ]


def test_a_remote_topic_of_its_own_name(answers: dict[str, dict[int, Answer]]) -> None:
    """Each position goes to where it came from, and who has read all of it to what was left at home.

    Only mappings are known, and they presume that nothing was skipped: nothing behind the beginning is exact.
    """
    assert answers["a remote topic"] == {0: (0, True, 0, 0), 40: (40, False, 0, 0), 100: (100, False, 0, 0)}


def test_what_retention_has_taken_at_home_is_missed(answers: dict[str, dict[int, Answer]]) -> None:
    """Not by those who have read it."""
    assert answers["retention"] == {40: (70, False, 0, 30), 80: (80, False, 0, 0), 100: (100, False, 0, 0)}
    assert answers["all gone"] == {100: (120, True, 0, 0)}


def test_a_topic_that_is_not_at_home(answers: dict[str, dict[int, Answer]]) -> None:
    """Who has read all of it has nothing to lose; of the others it is counted how much."""
    assert answers["not at home"] == {70: (None, False, None, 30), 100: (None, False, None, None)}


def test_records_produced_behind_the_remote_topic_without_copies_at_home(answers: dict[str, dict[int, Answer]]) -> None:
    """They are missed by each group that has not read them, wherever they are."""
    assert answers["no copies"] == {40: (40, False, 0, 10), 105: (100, False, 0, 5), 110: (100, False, 0, 0)}


def test_copies_that_begin_where_the_remote_topic_ends(answers: dict[str, dict[int, Answer]]) -> None:
    """Behind the remote topic's end a position goes among the copies, before it among home's own records."""
    assert answers["copies"] == {40: (40, False, 0, 0), 105: (105, False, 0, 0), 110: (110, True, 0, 0)}


def test_copies_behind_records_that_never_left_home(answers: dict[str, dict[int, Answer]]) -> None:
    """Nothing of either is skipped: a group among the copies begins before home's own."""
    assert answers["never left"] == {40: (40, False, 0, 0), 105: (100, False, 30, 0)}


def test_copies_of_everything(answers: dict[str, dict[int, Answer]]) -> None:
    """What a group has read comes once more behind what it has not, and that is said."""
    assert answers["copies of all"] == {0: (0, True, 0, 0), 40: (40, False, 170, 0), 105: (205, False, 0, 0)}


def test_an_end_that_was_not_found(answers: dict[str, dict[int, Answer]]) -> None:
    """Then only the flow that leads back decides, and it knows nothing of what it has not replicated."""
    assert answers["not found"] == {40: (None, False, None, None), 105: (105, False, 0, None)}

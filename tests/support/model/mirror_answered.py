"""Translations of every position of made-up worlds, of many worlds and questions in one query.

Spark takes seconds to plan a translation, whatever the number of its rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby, islice
from typing import Any

from pyspark.sql import SparkSession

from airflow_provider_connect_offsets.pipeline.frames import struct_type
from airflow_provider_connect_offsets.pipeline.translate.translation import combine_known, translate
from airflow_provider_connect_offsets.workspace.flow_schemas import KEPT_MAPPINGS, MIRROR_PARTITIONS, RECORD_DIGESTS
from tests.support.model.mirror_rows import (
    Answer,
    ReadFrom,
    asked_of,
    checkpoints_of,
    digest_rows,
    kept_by,
    partition_row,
    syncs_of,
)
from tests.support.model.mirror_world import Ending, World
from tests.support.rows.frames import frame_of

# Worlds of one query. A driver with 2 GB has room for more.
_AT_ONCE = 5000
_NAMES = ("downstream", "upper", "missing", "exact", "max_rereads", "method", "claimed")


@dataclass(frozen=True, slots=True, eq=False)
class Question:
    """What all positions of some worlds are translated to.

    Attributes:
        worlds: the worlds, each of them once
        read: which of their records were read
        said: what the rows say of each partition instead
        bisected: with the mappings that single records prove
    """

    worlds: Sequence[World]
    read: ReadFrom
    said: Mapping[str, bool] = field(default_factory=dict)
    bisected: bool = False


_Case = tuple[World, Question]


def answered(
    spark: SparkSession,
    worlds: Sequence[World],
    read: ReadFrom,
    said: Mapping[str, bool] | None = None,
    *,
    bisected: bool = False,
) -> list[Answer]:
    """Translate every position of every world; see ``Question``."""
    question = Question(worlds, read, said or {}, bisected)
    return answered_together(spark, [question])[question]


def answered_together(spark: SparkSession, questions: Sequence[Question]) -> dict[Question, list[Answer]]:
    """Answer several questions, with as few queries as possible.

    Where no record was read, the translation gets no digests at all: these are queries of their own.
    """
    found: dict[Question, list[Answer]] = {question: [] for question in questions}
    by_kind = sorted(questions, key=lambda question: question.read is ReadFrom.NONE)
    for is_unread, alike in groupby(by_kind, key=lambda question: question.read is ReadFrom.NONE):
        cases = iter([(world, question) for question in alike for world in question.worlds])
        while batch := list(islice(cases, _AT_ONCE)):
            for number, answer in _translated(spark, batch, are_unread=is_unread):
                found[batch[number][1]].append(answer)
    return found


def _translated(spark: SparkSession, cases: Sequence[_Case], *, are_unread: bool) -> Iterator[tuple[int, Answer]]:
    """Translate the groups of all cases in one job; yield each answer with the number of its case."""
    worlds = [world for world, _question in cases]
    partitions = frame_of(spark, list(map(_partition, range(len(cases)), cases)), struct_type(MIRROR_PARTITIONS))
    digests = [row for number, (world, asked) in enumerate(cases) for row in digest_rows(number, world, asked.read)]
    kept = [
        (str(number), 0, *mapping)
        for number, (world, asked) in enumerate(cases)
        for mapping in kept_by(world, bisected=asked.bisected)
    ]
    elements = combine_known(
        partitions,
        syncs=syncs_of(spark, worlds),
        digests=None if are_unread else frame_of(spark, digests, struct_type(RECORD_DIGESTS)),
        kept=frame_of(spark, kept, struct_type(KEPT_MAPPINGS)),
    )
    found = translate(asked_of(spark, worlds), partitions, elements, checkpoints_of(spark, worlds))
    for row in found.select("topic", "position", *_NAMES).collect():
        number = int(row["topic"])
        yield number, Answer(worlds[number], row["position"], *(row[name] for name in _NAMES))


def _partition(number: int, case: _Case) -> dict[str, Any]:
    world, question = case
    row = partition_row(number, world, question.read, there=world.ending is not Ending.BROKEN)
    return {**row, **question.said}


def shortest(wrong: Iterable[Answer]) -> str:
    """The simplest of those that are wrong."""
    return min((str(answer) for answer in wrong), key=len, default="")

"""Made-up worlds as datasets of the translation, and its answers compared with the truth.

World ``i`` is topic ``str(i)``, partition 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from random import Random
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from airflow_provider_connect_offsets.offsets.flow import Side
from airflow_provider_connect_offsets.offsets.mappings.bisecting import OffsetMapping
from airflow_provider_connect_offsets.pipeline.frames import struct_type
from airflow_provider_connect_offsets.workspace.flow_schemas import KEPT_MAPPINGS, MIRROR_PARTITIONS, RECORD_DIGESTS
from airflow_provider_connect_offsets.workspace.schemas import OFFSET_SYNCS
from tests.support.model.mirror_bisected import found_in, known_in
from tests.support.model.mirror_compared import (
    alike,
    both_begin,
    contradicted,
    digest_of,
    ends_with_stored,
    last_of,
)
from tests.support.model.mirror_provable import provable
from tests.support.model.mirror_truth import best, copies, missing, rereads, skipped
from tests.support.model.mirror_world import Ending, Log, World
from tests.support.rows.frames import frame_of

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)
_PAIRS = "topic string, kafka_partition int, upstream long, downstream long"
_POSITIONS = "topic string, kafka_partition int, position long"


class ReadFrom(StrEnum):
    """What was read: both logs; the remote topic and the end of the source; the ends of both; or nothing."""

    ALL = "all"
    REMOTE = "remote"
    SOME = "some"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer for one position; ``lower`` is where a group would resume."""

    world: World
    position: int
    lower: int | None
    upper: int | None
    missing: int | None
    exact: bool
    max_rereads: int | None
    method: str
    claimed: int | None = None
    known_to: int | None = None

    @property
    def wrong(self) -> str:
        """The first false part of the answer; empty if all is true."""
        checks = {
            "ABSENT": self.lower is not None and self.world.absent,
            "SKIP": self.lower is not None and bool(skipped(self.world, self.position, self.lower)),
            "UPPER": self.upper is not None and self.upper < self._best,
            "EXACT": self.exact and not self._is_exact,
            "MISSING": self._misses_more,
            "REREADS": self._rereads_more,
            "CLAIMED": self.exact and self.claimed is not None and not self._is_claimed,
        }
        return next((name for name, is_so in checks.items() if is_so), "")

    @property
    def can_be_exact(self) -> bool:
        """Whether all unread records, and no record that was read, have copies from one offset on."""
        best = max(self._best, self.world.target.start)
        return self._missing == 0 and not rereads(self.world, best, self.position)

    @property
    def can_be_proved(self) -> bool:
        """Whether the records of both logs prove the exact offset; of a lost source nothing does."""
        return self.world.ending is Ending.DRAINED and not self.world.absent and provable(self.world, self.position)

    @property
    def is_exact_by_mm2(self) -> bool:
        """Whether MirrorMaker 2's own translation of the position is exact."""
        offset = self.world.translated(self.position)
        return offset is not None and replace(self, lower=offset)._is_exact

    def __str__(self) -> str:
        answer = f"lower {self.lower}, upper {self.upper}, missing {self.missing}, rereads {self.max_rereads}"
        true = f"best {self._best}, missing {self._missing}"
        return f"{self.wrong}: {self.position} -> {answer}, exact {self.exact}, {self.method}; {true} in {self.world}"

    @property
    def _is_claimed(self) -> bool:
        """Whether the record at the group's resume offset is a copy of the claimed one."""
        return (self.lower, self.claimed) in copies(self.world)

    @property
    def _missing(self) -> int | None:
        return missing(self.world, self.position, self.known_to)

    @property
    def _best(self) -> int:
        return best(self.world, self.position)

    @property
    def _start(self) -> int | None:
        """The offset at which a group that commits ``lower`` starts to read."""
        return None if self.lower is None else max(self.lower, self.world.target.start)

    @property
    def _is_exact(self) -> bool:
        start = self._start
        whole = start == self._best and self._missing == 0
        return start is not None and whole and not rereads(self.world, start, self.position)

    @property
    def _misses_more(self) -> bool:
        true = self._missing
        return self.missing is not None and true is not None and true > self.missing

    @property
    def _rereads_more(self) -> bool:
        start, most = self._start, self.max_rereads
        return start is not None and most is not None and rereads(self.world, start, self.position) > most


def read_from(world: World, read: ReadFrom) -> tuple[int | None, int | None]:
    """The offsets from which source and remote topic were read; a lost source is not read."""
    if read is ReadFrom.NONE or world.ending is Ending.BROKEN or world.absent:
        return None, None
    if read is ReadFrom.ALL:
        return world.source.start, world.target.start
    random = Random(world.seed)
    source, target = (random.randint(log.start, log.end) for log in (world.source, world.target))
    return source, world.target.start if read is ReadFrom.REMOTE else target


def partitions_of(spark: SparkSession, worlds: Sequence[World], read: ReadFrom) -> DataFrame:
    """Dataset ``mirror_partitions``."""
    rows = [
        partition_row(number, world, read, there=world.ending is not Ending.BROKEN)
        for number, world in enumerate(worlds)
    ]
    return frame_of(spark, rows, struct_type(MIRROR_PARTITIONS))


def syncs_of(spark: SparkSession, worlds: Sequence[World]) -> DataFrame:
    """Dataset ``offset_syncs``."""
    rows = _rows(worlds, lambda world: [(*sync, NOON) for sync in world.syncs])
    return frame_of(spark, rows, struct_type(OFFSET_SYNCS))


def checkpoints_of(spark: SparkSession, worlds: Sequence[World]) -> DataFrame:
    """The current checkpoint of each group: topic (of the source), kafka_partition, upstream, downstream."""
    return frame_of(spark, _rows(worlds, lambda world: world.checkpoints.values()), _PAIRS)


def kept_of(spark: SparkSession, worlds: Sequence[World]) -> DataFrame:
    """Dataset ``kept_mappings``: the mappings kept by resets that the records still confirm."""
    return frame_of(spark, _rows(worlds, kept_by), struct_type(KEPT_MAPPINGS))


def kept_by(world: World, *, bisected: bool = False) -> list[OffsetMapping]:
    """The mappings kept by resets that the records confirm; none if the source is lost.

    bisected: with those that are found by reading single records
    """
    if world.ending is Ending.BROKEN:
        return []
    return _with_found(world) if bisected else proved(world)


def digests_of(spark: SparkSession, worlds: Sequence[World], read: ReadFrom) -> DataFrame:
    """Dataset ``record_digests``."""
    rows = [row for number, world in enumerate(worlds) for row in digest_rows(number, world, read)]
    return frame_of(spark, rows, struct_type(RECORD_DIGESTS))


def asked_of(spark: SparkSession, worlds: Sequence[World]) -> DataFrame:
    """Every position of every world, from 0 to the log end: topic, kafka_partition, position."""
    return frame_of(spark, _rows(worlds, lambda world: ((at,) for at in range(world.source.end + 1))), _POSITIONS)


def _rows(worlds: Sequence[World], of: Callable[[World], Iterable[tuple[Any, ...]]]) -> list[tuple[Any, ...]]:
    return [(str(number), 0, *row) for number, world in enumerate(worlds) for row in of(world)]


def partition_row(number: int, world: World, read: ReadFrom, *, there: bool) -> dict[str, Any]:
    """A row of the dataset ``mirror_partitions``; there: whether the source is available."""
    source, target, traits = world.source, world.target, world.traits
    origin = -1 if there and both_begin(world) else None
    source_from, target_from = read_from(world, read)
    return {
        "topic": str(number),
        "target_topic": str(number) if traits.identity else f"source.{number}",
        "kafka_partition": 0,
        "source_start": source.start if there else None,
        "source_end": source.end if there else None,
        "stored": world.flow.stored if there else None,
        "drained": there and world.ending is Ending.DRAINED,
        "target_start": None if world.absent else target.start,
        "target_end": None if world.absent else target.end,
        "origin_upstream": origin,
        "origin_downstream": origin,
        "ends_with_stored": ends_with_stored(world) if there and not world.absent else None,
        "target_last": last_of(world) if there and not world.absent else None,
        "gapless": not traits.compacted,
        "transformed": traits.drops or traits.changes or traits.converted,
        "timed": not traits.log_append_time,
        **contradicted(world, there=there),
        "source_from": source_from,
        "target_from": target_from,
    }


def proved(world: World) -> list[OffsetMapping]:
    """The mappings kept by resets that the records confirm."""
    return [OffsetMapping(*mapping) for mapping in dict.fromkeys(world.kept) if alike(world, mapping)]


def searched_mappings(worlds: Sequence[World]) -> set[tuple[str, int, int]]:
    """Mappings that bisecting starts with, without those kept by resets: topic and both offsets."""
    proofs = {
        str(number): known_in(world, partition_row(number, world, ReadFrom.NONE, there=True), [])
        for number, world in enumerate(worlds)
    }
    return {(name, *mapping[:2]) for name, mappings in proofs.items() for mapping in mappings}


def _with_found(world: World) -> list[OffsetMapping]:
    kept, row = proved(world), partition_row(0, world, ReadFrom.NONE, there=True)
    return list(dict.fromkeys([*kept, *found_in(world, row, kept, lambda record: digest_of(world, record))]))


def digest_rows(number: int, world: World, read: ReadFrom) -> Iterator[tuple[Any, ...]]:
    """Rows of the dataset ``record_digests``."""
    source_from, target_from = read_from(world, read)
    if source_from is not None and target_from is not None:
        yield from _digests_from(source_from, number, world, Side.SOURCE, world.source)
        yield from _digests_from(target_from, number, world, Side.TARGET, world.target)


def _digests_from(start: int, number: int, world: World, side: Side, log: Log) -> Iterator[tuple[Any, ...]]:
    for offset, record in log.records.items():
        if offset >= start:
            yield side.value, str(number), 0, offset, digest_of(world, record)

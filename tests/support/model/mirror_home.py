"""Translations back to the source of a made-up world, compared with the truth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from airflow_provider_connect_offsets.pipeline.translate.home import combine_replicated, positions_at_home
from tests.support.model.mirror_rows import ReadFrom, digests_of, kept_of, partitions_of, syncs_of
from tests.support.model.mirror_truth import rereads_at_home, unread_at_home
from tests.support.model.mirror_world import World
from tests.support.rows.frames import frame_of

_POSITIONS = "topic string, kafka_partition int, position long"


@dataclass(frozen=True, slots=True)
class AnswerAtHome:
    """The answer for one position; ``start`` is where a group would resume on the source."""

    world: World
    position: int
    start: int | None
    exact: bool
    max_rereads: int | None
    method: str

    @property
    def wrong(self) -> str:
        """The first false part of the answer; empty if all is true."""
        start = self._start
        if start is None:
            return ""
        again = rereads_at_home(self.world, start, self.position)
        if any(offset < start for offset in unread_at_home(self.world, self.position)):
            return "SKIP"
        if self.exact and again:
            return "EXACT"
        return "" if self.max_rereads is not None and again <= self.max_rereads else "REREADS"

    def __str__(self) -> str:
        answer = f"{self.start}, exact {self.exact}, rereads {self.max_rereads}, {self.method}"
        return f"{self.wrong}: {self.position} -> {answer}; {unread_at_home(self.world, self.position)} in {self.world}"

    @property
    def _start(self) -> int | None:
        return None if self.start is None else max(self.start, self.world.source.start)


def answered_at_home(spark: SparkSession, worlds: Sequence[World], read: ReadFrom) -> list[AnswerAtHome]:
    """Translate every position of every remote topic, of stopped flows."""
    # Whatever is left at home, nothing comes behind what is stored.
    partitions = partitions_of(spark, worlds, read).withColumn("drained", F.col("stored").isNotNull())
    digests = None if read is ReadFrom.NONE else digests_of(spark, worlds, read)
    found = combine_replicated(partitions, syncs=syncs_of(spark, worlds), digests=digests, kept=kept_of(spark, worlds))
    positions = [(str(number), 0, at) for number, world in enumerate(worlds) for at in range(world.target.end + 1)]
    rows = positions_at_home(frame_of(spark, positions, _POSITIONS), partitions, found).collect()
    names = ("downstream", "exact", "max_rereads", "method")
    return [AnswerAtHome(worlds[int(row["topic"])], row["position"], *(row[name] for name in names)) for row in rows]

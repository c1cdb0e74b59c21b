"""Made-up histories of replication as the frames that the translation works on, each history a topic of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from frames import frame_of
from mirror_history import Ending, History, Kind
from pyspark.sql import DataFrame, SparkSession

from airflow_provider_connect_offsets.pipeline.frames import struct_type
from airflow_provider_connect_offsets.workspace.schemas import MIRROR_PARTITIONS, OFFSET_SYNCS, RECORD_DIGESTS

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)


def partitions_of(
    spark: SparkSession, histories: Sequence[History], compared: Mapping[int, int] | None = None
) -> DataFrame:
    """Dataset ``mirror_partitions``; compared: where reading of each history's replica began."""
    rows = []
    for number, one in enumerate(histories):
        seen = one.ending is not Ending.BROKEN
        start = min(one.source) if seen else None
        end = one.end if seen else None
        sides = (start, end, one.stored, seen, 0, len(one.replica))
        as_stored = one.ends_as_stored or one.ending is not Ending.STOPPED
        origin = (-1, -1) if one.from_origin and seen else (None, None)
        read = (compared or {}).get(number)
        known = (*origin, as_stored if seen else None, one.kind is Kind.PLAIN, False, True, read, read)
        rows.append((str(number), f"source.{number}", 0, *sides, *known))
    return frame_of(spark, rows, struct_type(MIRROR_PARTITIONS))


def syncs_of(spark: SparkSession, histories: Sequence[History]) -> DataFrame:
    """Dataset ``offset_syncs``."""
    rows = [
        (str(number), 0, upstream, downstream, order, NOON)
        for number, one in enumerate(histories)
        for order, (upstream, downstream) in enumerate(one.syncs)
    ]
    return frame_of(spark, rows, struct_type(OFFSET_SYNCS))


def digests_of(
    spark: SparkSession, histories: Sequence[History], source_from: Mapping[int, int], target_from: Mapping[int, int]
) -> DataFrame:
    """Dataset ``record_digests``, read from these offsets on; some records of a source are the same as others."""
    rows = []
    for number in source_from:
        one = histories[number]
        rows += [
            ("source", str(number), 0, offset, one.digest(offset))
            for offset in one.source
            if offset >= source_from[number]
        ]
        rows += [
            ("target", str(number), 0, place, one.digest(offset))
            for place, offset in enumerate(one.replica)
            if offset is not None and place >= target_from[number]
        ]
    return frame_of(spark, rows, struct_type(RECORD_DIGESTS))

"""Datasets of a flow's readiness as DataFrames, and verdicts as tuples."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from airflow_provider_connect_offsets.pipeline.frames import struct_type
from airflow_provider_connect_offsets.workspace.schemas import Schema
from tests.support.rows.frames import frame_of

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)


def ago(seconds: float) -> datetime:
    return NOON - timedelta(seconds=seconds)


def frame(spark: SparkSession, schema: Schema, rows: Iterable[dict[str, Any]]) -> DataFrame:
    """Make a dataset; columns that a row leaves out are null."""
    filled = [tuple(row.get(name) for name in schema.names) for row in rows]
    shape = struct_type(schema)
    for field in shape.fields:
        field.nullable = True
    return frame_of(spark, filled, shape)


def messages(verdicts: DataFrame) -> list[tuple[str, str, str]]:
    """Severity, rule, and the message without its partition."""
    return sorted((row["severity"], row["rule"], row["message"].partition(": ")[2]) for row in verdicts.collect())


def joined(*parts: str) -> str:
    """Join the parts of a sentence that is longer than a line."""
    return "".join(parts)

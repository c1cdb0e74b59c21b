"""Make a DataFrame of a test's rows, and compare DataFrames with expected rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, cast

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T
from pyspark.sql.pandas.types import to_arrow_schema

from airflow_provider_connect_offsets.pipeline.session import SMALL


def frame_of(
    spark: SparkSession, rows: Sequence[Sequence[Any] | Mapping[str, Any]], shape: T.StructType | str
) -> DataFrame:
    """Make a DataFrame by Arrow, as Python rows go through a Python process, most of a small test's time."""
    struct = cast("T.StructType", T.StructType.fromDDL(shape)) if isinstance(shape, str) else shape
    named = [row if isinstance(row, Mapping) else dict(zip(struct.names, row, strict=True)) for row in rows]
    table = pa.Table.from_pylist(named, schema=to_arrow_schema(struct))
    return spark.createDataFrame(table, struct)


def assert_same_rows(actual: DataFrame, expected: DataFrame) -> None:
    """Assert that both frames have the same columns and rows, in any order.

    ``pyspark.testing.assertDataFrameEqual`` imports pandas-on-Spark, which fails with pandas 3.
    """
    assert actual.schema.simpleString() == expected.schema.simpleString()
    assert Counter(map(tuple, actual.collect())) == Counter(map(tuple, expected.collect()))


@contextmanager
def as_for_large_datasets(spark: SparkSession) -> Iterator[None]:
    """Plan queries as for datasets that are not small: several tasks, generated code, broadcasts, adapted plans."""
    others = ("3", "10485760", "true", "true", "FALLBACK")
    small = {setting: spark.conf.get(setting) for setting in SMALL}
    for setting, value in zip(SMALL, others, strict=True):
        spark.conf.set(setting, value)
    try:
        yield
    finally:
        for setting, before in small.items():
            assert before is not None
            spark.conf.set(setting, before)

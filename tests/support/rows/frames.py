"""Make a DataFrame of a test's rows, and compare DataFrames with expected rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, cast

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T
from pyspark.sql.pandas.types import to_arrow_schema


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

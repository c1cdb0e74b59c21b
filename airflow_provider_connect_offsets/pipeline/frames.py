"""Read, write and build DataFrames of datasets."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, cast

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from airflow_provider_connect_offsets.exceptions import DatasetError
from airflow_provider_connect_offsets.offsets.verdicts import Verdict
from airflow_provider_connect_offsets.pipeline import jvm
from airflow_provider_connect_offsets.workspace.layout import RunDirectory
from airflow_provider_connect_offsets.workspace.paths import MARKER, join
from airflow_provider_connect_offsets.workspace.schemas import (
    CONNECTOR_OFFSETS,
    CONNECTORS,
    LOG_BOUNDS,
    NEXT_RECORDS,
    REPLICATION_SLOTS,
    VERDICTS,
    ColumnKind,
    Schema,
)

_TYPES: Mapping[ColumnKind, T.DataType] = {
    ColumnKind.STRING: T.StringType(),
    ColumnKind.INT: T.IntegerType(),
    ColumnKind.LONG: T.LongType(),
    ColumnKind.BINARY: T.BinaryType(),
    ColumnKind.BOOLEAN: T.BooleanType(),
    ColumnKind.TIMESTAMP: T.TimestampType(),
}

# A missing or damaged file is an error whatever the session's settings: a plan without its rows would be wrong.
WHOLE = {"ignoreCorruptFiles": "false", "ignoreMissingFiles": "false"}
# Most frames in one query of ``write_together``.
_AT_ONCE = 16
_MARKED = "mapreduce.fileoutputcommitter.marksuccessfuljobs"


def struct_type(schema: Schema) -> T.StructType:
    """Return Spark's schema of a dataset."""
    return T.StructType([T.StructField(c.name, _TYPES[c.kind], nullable=c.nullable) for c in schema.columns])


def conform(frame: DataFrame, schema: Schema) -> DataFrame:
    """Select the columns of a dataset, in order, and cast them to its types."""
    # One call into the JVM for all columns; making a Column of each would take several calls.
    columns = [f"CAST(`{c.name}` AS {_TYPES[c.kind].simpleString()}) AS `{c.name}`" for c in schema.columns]
    return frame.selectExpr(*columns)


def read_dataset(spark: SparkSession, uri: str, schema: Schema) -> DataFrame:
    """Read a dataset.

    A nullable column that the files lack, because it was added to the schema later, is null. Spark is given the schema,
    so it needs no job to infer it.

    Raises:
        DatasetError: the dataset is missing or unfinished, or lacks a column that must not be null
    """
    if not is_finished(spark, uri):
        raise DatasetError(f"the dataset {schema.name} at {uri} does not exist, or was never finished (no {MARKER})")
    absent = jvm.absent_columns(spark, uri, [column.name for column in schema.columns if not column.nullable])
    if absent:
        raise DatasetError(f"{uri} is not a dataset {schema.name}: it lacks required columns ({', '.join(absent)})")
    return spark.read.schema(struct_type(schema)).options(**WHOLE).parquet(uri)


def is_finished(spark: SparkSession, uri: str) -> bool:
    """Whether a dataset exists and was written completely."""
    return jvm.exists(spark, join(uri, MARKER))


def write_dataset(frame: DataFrame, uri: str) -> None:
    """Write a dataset, replacing an earlier one, with the marker that its readers require.

    Hadoop writes the marker last. Clusters with object stores are often configured to write none, so it is requested
    here.
    """
    frame.write.mode("overwrite").option(_MARKED, "true").parquet(uri)


def write_together(frames: Sequence[DataFrame], uri: str, *, files: int = 1) -> None:
    """Write frames of one shape as one dataset, replacing an earlier one.

    Each query writes a few frames: a query over hundreds would take Spark longer to plan than to run.

    Args:
        frames: the frames
        uri: the dataset
        files: into how many files at most each query writes its frames
    """
    batches = [frames[first : first + _AT_ONCE] for first in range(0, len(frames), _AT_ONCE)]
    for number, batch in enumerate(batches):
        writer = reduce(DataFrame.unionByName, batch).coalesce(files).write
        is_last = number == len(batches) - 1
        writer.mode("append" if number else "overwrite").option(_MARKED, "true" if is_last else "false").parquet(uri)


def materialise(frame: DataFrame) -> DataFrame:
    """Compute a frame now, so that later frames can use it several times and Spark need not plan it again for each.

    If an executor is lost, its rows are lost too: the job fails, and the task that submitted it retries.
    """
    computed = frame.localCheckpoint()
    # If Spark finds part of a frame to be empty, it may give its columns other ids than the checkpoint has. Spark 4.0
    # then refuses to join the frame with the one that it was computed from ("conflicting references").
    return computed.select(*(F.col(name).alias(name) for name in computed.columns))


@dataclass(frozen=True, slots=True)
class PlanFrames:
    """The snapshot that a plan is made from.

    Attributes:
        connectors: dataset ``connectors``
        offsets: dataset ``connector_offsets``
        bounds: dataset ``log_bounds`` of all topics in the cluster; a topic that it lacks does not exist
        slots: dataset ``replication_slots``; without rows if no database was observed
        next_records: dataset ``next_records``; without rows if no record is skipped
    """

    connectors: DataFrame
    offsets: DataFrame
    bounds: DataFrame
    slots: DataFrame
    next_records: DataFrame

    @classmethod
    def read(cls, spark: SparkSession, directory: RunDirectory) -> PlanFrames:
        """Read the datasets of a run."""
        return cls(
            connectors=read_dataset(spark, directory.connectors, CONNECTORS),
            offsets=read_dataset(spark, directory.connector_offsets, CONNECTOR_OFFSETS),
            bounds=read_dataset(spark, directory.log_bounds, LOG_BOUNDS),
            slots=_read_if_observed(spark, directory.replication_slots, REPLICATION_SLOTS),
            next_records=_read_if_observed(spark, directory.next_records, NEXT_RECORDS),
        )


def _read_if_observed(spark: SparkSession, uri: str, schema: Schema) -> DataFrame:
    """Read a dataset; the frame has no rows if the dataset does not exist or was never finished."""
    return read_dataset(spark, uri, schema) if is_finished(spark, uri) else make_frame(spark, [], struct_type(schema))


def matches_whole(text: Column, pattern: str) -> Column:
    """Whether a Java regular expression matches the whole text, as Kafka's ``topics.regex`` does."""
    return text.rlike(f"^(?:{pattern})$")


def verdict_frame(spark: SparkSession, verdicts: Iterable[Verdict]) -> DataFrame:
    """Dataset ``verdicts`` with these verdicts."""
    rows = [(str(v.rule), v.severity.value, v.connector, v.partition, v.message) for v in verdicts]
    return make_frame(spark, rows, struct_type(VERDICTS))


def make_frame(spark: SparkSession, rows: Sequence[tuple[Any, ...]], shape: T.StructType | str) -> DataFrame:
    """Make a frame of a few rows in the driver's memory.

    The rows become one JSON literal. ``createDataFrame`` would start a Python process on an executor, which takes
    longer than most jobs and needs the driver's Python version there.

    Args:
        spark: the session
        rows: texts, numbers, booleans and null
        shape: the schema, or its DDL
    """
    struct = cast("T.StructType", T.StructType.fromDDL(shape)) if isinstance(shape, str) else shape
    if not rows:  # Spark's optimizer then knows the frame to be empty and plans no join with it
        nothing = [F.lit(None).cast(field.dataType).alias(field.name) for field in struct]
        return spark.range(0).select(*nothing).limit(0)
    named = json.dumps([dict(zip(struct.names, row, strict=True)) for row in rows])
    parsed = F.from_json(F.lit(named), T.ArrayType(struct), {"mode": "FAILFAST"})
    return spark.range(1).select(F.inline(parsed))

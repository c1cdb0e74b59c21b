"""Datasets as Spark reads and writes them, and the values that the jobs take from a snapshot to the driver."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from airflow_provider_connect_offsets.exceptions import DatasetError
from airflow_provider_connect_offsets.offsets.families import FAMILIES, ConnectorType, Family
from airflow_provider_connect_offsets.offsets.verdicts import Verdict
from airflow_provider_connect_offsets.pipeline import jvm
from airflow_provider_connect_offsets.workspace.layout import RunDirectory
from airflow_provider_connect_offsets.workspace.paths import MARKER, join
from airflow_provider_connect_offsets.workspace.schemas import (
    CONNECTOR_OFFSETS,
    CONNECTORS,
    LOG_BOUNDS,
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

# A part that is missing or damaged is an error whatever the session is set to: a plan made without it would be wrong.
WHOLE = {"ignoreCorruptFiles": "false", "ignoreMissingFiles": "false"}
_MARKED = "mapreduce.fileoutputcommitter.marksuccessfuljobs"


def struct_type(schema: Schema) -> T.StructType:
    """Give Spark's schema of a dataset."""
    return T.StructType([T.StructField(c.name, _TYPES[c.kind], nullable=c.nullable) for c in schema.columns])


def shaped(frame: DataFrame, schema: Schema) -> DataFrame:
    """Select a dataset's columns, in order and of the right types."""
    # As texts, which the JVM is handed all at once: each column that is put together from here takes several calls.
    columns = [f"CAST(`{c.name}` AS {_TYPES[c.kind].simpleString()}) AS `{c.name}`" for c in schema.columns]
    return frame.selectExpr(*columns)


def read_dataset(spark: SparkSession, uri: str, schema: Schema) -> DataFrame:
    """Read a dataset; a nullable column that was added to the schema later is null in it.

    The schema is known, which saves Spark a job to find it out. Raises :class:`DatasetError` for a dataset that is
    missing or unfinished, or without a column that must not be null.
    """
    if not is_finished(spark, uri):
        raise DatasetError(f"the dataset {schema.name} at {uri} does not exist, or was never finished (no {MARKER})")
    absent = jvm.absent_columns(spark, uri, [column.name for column in schema.columns if not column.nullable])
    if absent:
        raise DatasetError(f"{uri} is no dataset {schema.name}: {', '.join(absent)} is missing, and may not be null")
    return spark.read.schema(struct_type(schema)).options(**WHOLE).parquet(uri)


def is_finished(spark: SparkSession, uri: str) -> bool:
    """Whether a dataset is there, whole."""
    return jvm.exists(spark, join(uri, MARKER))


def write_dataset(frame: DataFrame, uri: str) -> None:
    """Write a dataset in place of what is there, with the marker that its readers ask for.

    Hadoop writes the marker last; clusters on object stores are often configured to write none.
    """
    frame.write.mode("overwrite").option(_MARKED, "true").parquet(uri)


def worked_out(frame: DataFrame) -> DataFrame:
    """Work a frame out once, for what asks for it many times: without its plan, which would be planned as many times.

    An executor that is lost takes its part along: then the job fails, and the task that submitted it tries again.
    """
    found = frame.localCheckpoint()
    # Where Spark finds a piece to be empty, it may give columns other ids than the checkpoint's: Spark 4.0 then refuses
    # to join it with what it was worked out from ("conflicting references").
    return found.select(*(F.col(name).alias(name) for name in found.columns))


@dataclass(frozen=True, slots=True)
class PlanFrames:
    """What a plan is made from.

    connectors, offsets: datasets ``connectors`` and ``connector_offsets``
    bounds: dataset ``log_bounds`` of all topics in the cluster, so that a name that isn't there is a wrong one
    """

    connectors: DataFrame
    offsets: DataFrame
    bounds: DataFrame

    @classmethod
    def read(cls, spark: SparkSession, directory: RunDirectory) -> PlanFrames:
        """Read the datasets."""
        return cls(
            connectors=read_dataset(spark, directory.connectors, CONNECTORS),
            offsets=read_dataset(spark, directory.connector_offsets, CONNECTOR_OFFSETS),
            bounds=read_dataset(spark, directory.log_bounds, LOG_BOUNDS),
        )


@dataclass(frozen=True, slots=True)
class Subject:
    """The connector whose offsets are to be changed, from its row in the dataset ``connectors``."""

    name: str
    type: ConnectorType
    connector_class: str
    family: Family
    config: Mapping[str, str]
    failed_tasks: int

    @classmethod
    def of(cls, connectors: DataFrame, name: str) -> Subject:
        """Read the row of ``name``; raises :class:`DatasetError` where the snapshot hasn't got it."""
        row = connectors.where(F.col("connector") == name).first()
        if row is None:
            raise DatasetError(f"the snapshot holds no connector {name!r}")
        return cls(
            name=name,
            type=ConnectorType(row["connector_type"]),
            connector_class=row["connector_class"],
            family=FAMILIES[row["family"]],
            config=json.loads(row["config"]),
            failed_tasks=sum(1 for task in json.loads(row["tasks"]) if task["state"] == "FAILED"),
        )


def matches_whole(text: Column, pattern: str) -> Column:
    """Whether a Java pattern matches the whole text, as Kafka's ``topics.regex`` does."""
    return text.rlike(f"^(?:{pattern})$")


def verdict_frame(spark: SparkSession, verdicts: Iterable[Verdict]) -> DataFrame:
    """Make the dataset ``verdicts`` of verdicts on the connector as a whole."""
    rows = [(str(v.rule), v.severity.value, v.connector, v.partition, v.message) for v in verdicts]
    return few_rows(spark, rows, struct_type(VERDICTS))


def few_rows(spark: SparkSession, rows: Sequence[tuple[Any, ...]], shape: T.StructType | str) -> DataFrame:
    """Make a frame of rows that the driver holds: texts, numbers, booleans and null. ``shape`` may be DDL.

    They travel as one JSON literal. ``createDataFrame`` would put them through a Python process on an executor, which
    takes longer than most of the jobs, and needs the driver's version of Python there.
    """
    struct = cast("T.StructType", T.StructType.fromDDL(shape)) if isinstance(shape, str) else shape
    if not rows:  # known to be empty, so that no join with it is planned
        nothing = [F.lit(None).cast(field.dataType).alias(field.name) for field in struct]
        return spark.range(0).select(*nothing).limit(0)
    named = json.dumps([dict(zip(struct.names, row, strict=True)) for row in rows])
    parsed = F.from_json(F.lit(named), T.ArrayType(struct), {"mode": "FAILFAST"})
    return spark.range(1).select(F.inline(parsed))

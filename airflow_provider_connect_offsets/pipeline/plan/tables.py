"""Read positions from tables that people keep: files whose columns are named, and the result of a query.

``lists`` describes the columns of the result. Unlike in a list of offsets, an empty position never removes an offset.
"""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from airflow_provider_connect_offsets.exceptions import InvalidDocument
from airflow_provider_connect_offsets.offsets.requests.place import LAST, POSITION, TableColumns
from airflow_provider_connect_offsets.offsets.requests.request import Request, suffix_of
from airflow_provider_connect_offsets.pipeline.jvm import JVM_ERRORS, root_cause
from airflow_provider_connect_offsets.pipeline.plan import family_columns, queries
from airflow_provider_connect_offsets.pipeline.plan.lists import Listed
from airflow_provider_connect_offsets.pipeline.plan.subjects import Subjects

#: More partitions than any Connect cluster has: a table with more rows was not reduced to one row per partition.
MOST_ROWS = 1_000_000


def from_query(spark: SparkSession, request: Request, subjects: Subjects) -> Listed:
    """Take the rows of the Spark SQL query that a request names.

    Raises:
        InvalidDocument: the query can't be run or is not allowed, or its rows are not positions; the message is for
            people
    """
    query = request.reference or ""
    return _check_columns(lambda: queries.run(spark, query, request.catalogs), "the query", request.columns, subjects)


def from_table(spark: SparkSession, uri: str, columns: TableColumns | None, subjects: Subjects) -> Listed:
    """Read a table: a name that ends with ``.csv`` is CSV with a header, with ``.json`` or ``.jsonl`` JSON lines.

    Anything else must be Parquet (a file or a directory).

    Raises:
        InvalidDocument: the table can't be read, or its rows are not positions; the message is shown to the user
    """
    return _check_columns(lambda: _read(spark, uri), f"the file {uri}", columns, subjects)


def _read(spark: SparkSession, uri: str) -> DataFrame:
    suffix = suffix_of(uri)
    if suffix == ".csv":
        return spark.read.csv(uri, header=True, mode="FAILFAST", quote='"', escape='"')
    if suffix in {".json", ".jsonl"}:
        return spark.read.json(uri, mode="FAILFAST")
    return spark.read.parquet(uri)


def _check_columns(
    read: Callable[[], DataFrame], named: str, columns: TableColumns | None, subjects: Subjects
) -> Listed:
    most = MOST_ROWS * len(subjects.members)
    try:
        # Spark runs the query here, within the try, and only once.
        listed = Listed.of(_entries(read(), named, columns or TableColumns(), subjects).limit(most + 1))
    except JVM_ERRORS as error:
        raise InvalidDocument(f"{named} can't be read: {root_cause(error)}") from error
    if listed.size > most:
        raise InvalidDocument(
            f"{named} has more than {MOST_ROWS:,} rows. It must have one row for each partition, like SELECT topic, "
            "partition, max(offset) AS last … GROUP BY topic, partition"
        )
    return listed


def _entries(table: DataFrame, named: str, columns: TableColumns, subjects: Subjects) -> DataFrame:
    family = subjects.kind.family
    if not family.has_positions:
        raise InvalidDocument(
            f"{named} has positions in topics, which this connector does not have: {family.why_no_position}"
        )
    position, is_last = _position_column(table, named, columns)
    names = [_find_column(table, named, column) for column in (columns.topic, columns.partition, position)]
    texts = [F.col(name).cast("string").alias(f"_{number}") for number, name in enumerate(names)]
    if "connector" in table.columns:
        rows = subjects.of(table).select("connector", *texts)
    else:
        rows = subjects.repeat(table.select(*texts))
    entry = family_columns.position_entry(subjects, is_last=is_last)("connector", "_0", "_1", "_2")
    return rows.select("connector", entry.alias("entry")).select("connector", "entry.*")


def _position_column(table: DataFrame, named: str, columns: TableColumns) -> tuple[str, bool]:
    """Find the column with the position, and whether it has the last delivered offset instead of the position."""
    if columns.position or columns.last:
        return columns.position or columns.last or "", columns.last is not None
    there = [name for name in (POSITION, LAST) if name in table.columns]
    if len(there) != 1:
        raise InvalidDocument(
            f"{named} has the columns {', '.join(table.columns)}. Exactly one of them must be position (the next "
            "offset to be read) or last (the last offset that was delivered). Otherwise, set the Param columns, like "
            "position=next_offset or last=max_offset"
        )
    return there[0], there == [LAST]


def _find_column(table: DataFrame, named: str, column: str) -> str:
    """Return the column's name, quoted; raise :class:`InvalidDocument` if the table lacks it."""
    if column not in table.columns:
        raise InvalidDocument(
            f"{named} has no column {column}; its columns are {', '.join(table.columns)}. Set the Param columns to the "
            "names of its columns, like topic=kafka_topic,partition=part,last=max_offset"
        )
    return "`" + column.replace("`", "``") + "`"

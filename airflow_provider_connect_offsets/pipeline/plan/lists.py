"""Read the offsets that a request takes from a list: a file, another connector, or a position in a source system.

All lists have these columns::

    connector string
    partition string  canonical JSON
    after     string  canonical JSON, null: remove
    problem   string  why this entry is not an offset (partition and after are null then), null: it is an offset
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from airflow_provider_connect_offsets.exceptions import InvalidDocument
from airflow_provider_connect_offsets.offsets.document import canonical_json
from airflow_provider_connect_offsets.offsets.requests.request import suffix_of
from airflow_provider_connect_offsets.pipeline.frames import make_frame
from airflow_provider_connect_offsets.pipeline.jvm import JVM_ERRORS, root_cause
from airflow_provider_connect_offsets.pipeline.plan import family_columns
from airflow_provider_connect_offsets.pipeline.plan.subjects import Subject, Subjects

# Columns that kafka-consumer-groups --export writes, without a header.
KAFKA_COLUMNS = ("topic", "kafka_partition", "position")
_MALFORMED = "_malformed"


@dataclass(frozen=True, slots=True)
class Listed:
    """A list that was read.

    Attributes:
        entries: its rows
        flawed: how many entries of each connector are not offsets; connectors without entries are left out
        size: how many entries there are
    """

    entries: DataFrame
    flawed: Mapping[str, int]
    size: int

    @classmethod
    def of(cls, entries: DataFrame) -> Listed:
        """Read a list now, and keep its rows in memory."""
        cached = entries.cache()
        counts = F.count("problem").alias("flawed"), F.count("*").alias("size")
        counted = cached.groupBy("connector").agg(*counts).collect()
        return cls(cached, {row["connector"]: row["flawed"] for row in counted}, sum(row["size"] for row in counted))


def from_file(spark: SparkSession, uri: str, subjects: Subjects) -> Listed:
    """Read KIP-199 JSON, REST JSON, CSV or Parquet.

    A name that ends with ``.json`` is JSON, with ``.csv`` CSV; anything else must be Parquet (a file or a dataset's
    directory). CSV and Parquet have either the columns ``partition`` and ``offset`` (JSON) or ``topic``,
    ``kafka_partition`` (or ``partition``) and ``position`` (or ``offset``). Without a column ``connector``, the rows
    are for every connector. A CSV without a header has topic, partition and position, as ``kafka-consumer-groups
    --export`` writes it.

    Raises:
        InvalidDocument: the file can't be read; the message is shown to the user
    """
    try:
        # Spark reads the file here, within the try.
        return Listed.of(_read(spark, uri, subjects))
    except JVM_ERRORS as error:
        raise InvalidDocument(f"the file {uri} can't be read: {root_cause(error)}") from error
    except InvalidDocument as error:
        raise InvalidDocument(f"the file {uri} can't be used: {error}") from error


def from_connector(offsets: DataFrame, other: str, subjects: Subjects) -> DataFrame:
    """Take the offsets of another connector from the snapshot.

    Raises:
        InvalidDocument: the other connector has no offsets, or has another type or family
    """
    listed, subject = offsets.where(F.col("connector") == other), subjects.kind
    kind = listed.select("connector_type", "family").first()
    if kind is None:
        raise InvalidDocument(f"{subject.noun} `{other}` has no offsets to copy")
    if (kind["connector_type"], kind["family"]) != (subject.type.value, subject.family.name):
        raise InvalidDocument(
            f"the offsets of {subject.noun} `{other}` are of kind {kind['family']}, but this {subject.noun} needs kind "
            f"{subject.family.name}, so they can't be copied"
        )
    return _select_sound(subjects.repeat(listed.select("partition", F.col("offset").alias("after"))))


def at_source_position(spark: SparkSession, offsets: DataFrame, value: str, subjects: Subjects) -> DataFrame:
    """List the offset of a position in the source system for the partitions of each connector.

    If a connector can have only one partition, the list has that one, else all that have an offset.

    Raises:
        InvalidRequest: the value is not a position in the source system
    """
    family = subjects.kind.family
    only = [(one.name, family.only_partition(one.config)) for one in subjects.members]
    after = F.lit(canonical_json(family.offset_from(value)))
    known = [(name, canonical_json(partition)) for name, partition in only if partition is not None]
    listed = make_frame(spark, known, "connector string, partition string")
    if others := [name for name, partition in only if partition is None]:
        stored = offsets.where(F.col("connector").isin(others) & F.col("offset").isNotNull())
        listed = listed.unionByName(stored.select("connector", "partition"))
    return _select_sound(listed.withColumn("after", after))


def _select_sound(entries: DataFrame) -> DataFrame:
    return entries.select("connector", "partition", "after", F.lit(None).cast("string").alias("problem"))


def _read(spark: SparkSession, uri: str, subjects: Subjects) -> DataFrame:
    suffix = suffix_of(uri)
    if suffix == ".json":
        return _read_document(spark, uri, subjects)
    table = _read_csv(spark, uri) if suffix == ".csv" else spark.read.parquet(uri)
    columns = set(table.columns)
    rows = subjects.of(table) if "connector" in columns else subjects.repeat(table)
    return _entries_of_table(rows, columns, subjects)


def _read_document(spark: SparkSession, uri: str, subjects: Subjects) -> DataFrame:
    parse = family_columns.document_entries(subjects.names)
    # An empty file has no rows; the aggregate makes one.
    text = spark.read.text(uri, wholetext=True).agg(F.coalesce(F.first("value"), F.lit("")).alias("value"))
    parsed = text.select(parse("value").alias("document")).cache()
    problem = parsed.select(F.col("document.problem").alias("problem")).first()
    if problem is not None and problem["problem"] is not None:
        raise InvalidDocument(problem["problem"])
    return parsed.select(F.explode("document.entries").alias("entry")).select("entry.*")


def _read_csv(spark: SparkSession, uri: str) -> DataFrame:
    first = spark.read.text(uri).first()
    if first is None:
        raise InvalidDocument("the file is empty")
    # Spreadsheets write a byte order mark.
    fields = [field.strip().lower() for field in next(csv.reader([str(first["value"]).lstrip("\ufeff")]), [])]
    header = bool({"topic", "partition"} & set(fields))
    if not header and len(fields) != len(KAFKA_COLUMNS):
        raise InvalidDocument(
            f"it has no header, and its first row has {len(fields)} columns instead of topic,partition,position"
        )
    if len(set(fields)) < len(fields) and header:
        raise InvalidDocument(f"its header has a column twice: {','.join(fields)}")
    names = [*(fields if header else KAFKA_COLUMNS), _MALFORMED]
    return spark.read.csv(
        uri,
        schema=T.StructType([T.StructField(name, T.StringType()) for name in names]),
        header=header,
        # Quotes in JSON columns are doubled (RFC 4180).
        quote='"',
        escape='"',
        # A row that was cut off must not look like a row with an empty position, which removes the offset.
        mode="PERMISSIVE",
        columnNameOfCorruptRecord=_MALFORMED,
    )


def _entries_of_table(table: DataFrame, columns: set[str], subjects: Subjects) -> DataFrame:
    if {"partition", "offset"} <= columns and ("topic" not in columns or "kafka_partition" in columns):
        entry = family_columns.json_entry()("partition", "offset")
    else:
        names = _position_columns(columns, subjects.kind)
        texts = [F.col(name).cast("string") for name in names]
        entry = family_columns.position_entry(subjects, removes=True)("connector", *texts)
    if _MALFORMED not in columns:
        return table.select("connector", entry.alias("entry")).select("connector", "entry.*")
    broken = F.concat(F.lit("the row "), F.col(_MALFORMED), F.lit(" has too few or too many columns"))
    sound = F.col(_MALFORMED).isNull()
    return table.select("connector", _MALFORMED, entry.alias("entry")).select(
        "connector",
        F.when(sound, F.col("entry.partition")).alias("partition"),
        F.when(sound, F.col("entry.after")).alias("after"),
        F.when(sound, F.col("entry.problem")).otherwise(broken).alias("problem"),
    )


def _position_columns(columns: set[str], subject: Subject) -> list[str]:
    choices = (("topic",), ("kafka_partition", "partition"), ("position", "offset"))
    names = [name for choice in choices if (name := next((n for n in choice if n in columns), None))]
    if len(names) < len(choices):
        raise InvalidDocument(
            f"its columns are {', '.join(sorted(columns - {_MALFORMED}))}. It must have partition and offset (JSON), "
            "or topic, kafka_partition and position"
        )
    if not subject.family.has_positions:
        raise InvalidDocument(
            f"it lists positions in topics, which this connector does not have: {subject.family.why_no_position}. List "
            "partition and offset as JSON instead"
        )
    return names

"""The offsets that ``to=file`` and ``to=connector`` take from elsewhere.

Whatever the source, the result has these columns::

    partition string  canonical JSON
    after     string  canonical JSON, null: remove
    problem   string  why this entry is no offset at all, null: it is one
"""

from __future__ import annotations

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from airflow_provider_connect_offsets.exceptions import InvalidDocument
from airflow_provider_connect_offsets.pipeline import family_columns
from airflow_provider_connect_offsets.pipeline.frames import Subject

_KAFKA_COLUMNS = ("topic", "kafka_partition", "position")


def from_file(spark: SparkSession, uri: str, subject: Subject) -> DataFrame:
    """Read KIP-199 JSON, REST JSON, CSV or Parquet; raises :class:`InvalidDocument` with a sentence for people.

    JSON is told by ``.json``, CSV by ``.csv``; anything else must be Parquet (a file or a dataset's directory).
    CSV and Parquet have either the columns ``partition`` and ``offset`` (JSON) or ``topic``, ``kafka_partition`` and
    ``position``, with or without ``connector``; a CSV without a header is ``topic,partition,position``, which is what
    ``kafka-consumer-groups --export`` writes.
    """
    try:
        wanted = _read(spark, uri, subject).localCheckpoint()
    except (PySparkException, Py4JJavaError) as error:
        raise InvalidDocument(f"{uri!r} can't be read: {_first_line(error)}") from error
    if wanted.isEmpty():
        raise InvalidDocument(f"{uri!r} holds no offsets of connector {subject.name!r}")
    return wanted


def from_connector(offsets: DataFrame, other: str, subject: Subject) -> DataFrame:
    """Take the offsets of another connector from the snapshot; raises :class:`InvalidDocument`."""
    found = offsets.where(F.col("connector") == other)
    kind = found.select("connector_type", "family").first()
    if kind is None:
        raise InvalidDocument(f"connector {other!r} has no offsets to take")
    if (kind["connector_type"], kind["family"]) != (subject.type.value, subject.family.name):
        raise InvalidDocument(
            f"connector {other!r} is a {kind['family']} ({kind['connector_type']}) and {subject.name!r} a "
            f"{subject.family.name} ({subject.type}): their offsets mean different things"
        )
    return found.select("partition", F.col("offset").alias("after"), F.lit(None).cast("string").alias("problem"))


def _read(spark: SparkSession, uri: str, subject: Subject) -> DataFrame:
    path = uri.rstrip("/").lower()
    if path.endswith(".json"):
        return _read_document(spark, uri, subject)
    table = _read_csv(spark, uri) if path.endswith(".csv") else spark.read.parquet(uri)
    if "connector" in table.columns:
        table = table.where(F.col("connector") == subject.name)
    return _entries_of_table(table, uri, subject)


def _read_document(spark: SparkSession, uri: str, subject: Subject) -> DataFrame:
    parse = family_columns.document_entries(subject.name)
    # An empty file has no rows at all, so that the aggregate is what says so.
    text = spark.read.text(uri, wholetext=True).agg(F.coalesce(F.first("value"), F.lit("")).alias("value"))
    parsed = text.select(parse("value").alias("document")).localCheckpoint()
    problem = parsed.select("document.problem").first()
    if problem is not None and problem["problem"] is not None:
        raise InvalidDocument(f"{uri!r}: {problem['problem']}")
    return parsed.select(F.explode("document.entries").alias("entry")).select("entry.*")


def _read_csv(spark: SparkSession, uri: str) -> DataFrame:
    # The JSON columns are quoted by doubling the quotes, as RFC 4180 has it.
    reader = spark.read.option("quote", '"').option("escape", '"')
    plain = reader.csv(uri, header=False)
    first = plain.first()
    if first is None:
        raise InvalidDocument(f"{uri!r} is empty")
    names = [str(field).strip().lower() for field in first]
    if {"topic", "partition"} & set(names):
        return reader.csv(uri, header=True).toDF(*names)
    if len(names) == len(_KAFKA_COLUMNS):
        return plain.toDF(*_KAFKA_COLUMNS)
    raise InvalidDocument(f"{uri!r} has no header, and {len(names)} columns instead of topic,partition,position")


def _entries_of_table(table: DataFrame, uri: str, subject: Subject) -> DataFrame:
    columns = set(table.columns)
    if {"partition", "offset"} <= columns and ("topic" not in columns or "kafka_partition" in columns):
        return table.select(family_columns.json_entry()("partition", "offset").alias("entry")).select("entry.*")
    choices = (("topic",), ("kafka_partition", "partition"), ("position", "offset"))
    names = [name for choice in choices if (name := next((n for n in choice if n in columns), None))]
    if len(names) < len(choices):
        raise InvalidDocument(
            f"{uri!r} has the columns {', '.join(sorted(columns))}; expected partition and offset (JSON), or topic, "
            "kafka_partition and position"
        )
    if not subject.family.has_positions:
        raise InvalidDocument(
            f"{uri!r} lists positions of topics, but {subject.family.name} offsets are none: "
            f"{subject.family.why_no_position}; give partition and offset as JSON"
        )
    entry = family_columns.position_entry(subject)
    texts = [F.col(name).cast("string") for name in names]
    return table.select(entry(*texts).alias("entry")).select("entry.*")


def _first_line(error: PySparkException | Py4JJavaError) -> str:
    cause = getattr(error, "java_exception", None)
    while cause is not None and cause.getCause() is not None:
        cause = cause.getCause()
    text = str(error) if cause is None else str(cause.getMessage())
    return next((line.strip() for line in text.splitlines() if line.strip()), type(error).__name__)

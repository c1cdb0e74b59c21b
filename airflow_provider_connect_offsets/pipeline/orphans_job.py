"""The job ``orphans``: find offsets of connectors that no longer exist among all records of an offsets topic.

Reads ``request.json``, ``known.json`` (the connectors that exist) and ``stored_records``; writes ``orphans`` and, last
of all, ``summary.json``. An invalid regular expression becomes the summary's ``problem``; the job itself does not fail.

A worker uses the last record of each key ``["<connector>",{source partition}]`` and ignores keys of another shape. If a
key is in two partitions of the topic (written with another partitioner), the record that was written later counts as
its last one.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from airflow_provider_connect_offsets.offsets.requests.orphans import OrphanRequest
from airflow_provider_connect_offsets.pipeline import jvm
from airflow_provider_connect_offsets.pipeline.frames import (
    conform,
    make_frame,
    matches_whole,
    read_dataset,
    write_dataset,
)
from airflow_provider_connect_offsets.pipeline.plan.counts import digest_of, row_digest
from airflow_provider_connect_offsets.pipeline.session import Job, begin
from airflow_provider_connect_offsets.pipeline.summary import collect_first, now, totals, write_summary
from airflow_provider_connect_offsets.workspace.layout import OrphansDirectory
from airflow_provider_connect_offsets.workspace.schemas import ORPHANS, STORED_RECORDS

# A JSON array of a string and an object. Quantifiers are possessive, so that a long name can't exhaust Java's stack.
_KEY = r'^\s*\[\s*"[^"\\]*+(?:\\.[^"\\]*+)*+"\s*,\s*\{[\s\S]*\}\s*\]\s*$'


def select_last_records(records: DataFrame) -> DataFrame:
    """The last record of each key.

    Args:
        records: dataset ``stored_records``

    Returns:
        key, topic, kafka_partition, log_offset, written_at, value, records (how many the key has), partitions (how many
        have the key)
    """
    record = F.struct("topic", "kafka_partition", "log_offset", "written_at", "value")
    by_partition = records.groupBy("key", "kafka_partition").agg(
        F.max_by(record, "log_offset").alias("last"), F.count("*").alias("records")
    )
    return (
        by_partition.groupBy("key")
        .agg(
            F.max_by("last", F.struct("last.written_at", "last.kafka_partition")).alias("last"),
            F.sum("records").alias("records"),
            F.count("*").alias("partitions"),
        )
        .select("key", "last.*", "records", "partitions")
    )


def find_owners(keys: DataFrame, known: DataFrame) -> DataFrame:
    """Find the connector of each key, and whether it exists.

    Args:
        keys: what ``select_last_records`` returns
        known: connector (names of the connectors that exist)

    Returns:
        ``keys`` with connector and partition (null for a key of another shape), has_offset, and exists (the connector)
    """
    text = F.col("key").cast("string")
    is_key = F.is_valid_utf8(text) & text.rlike(_KEY) & (F.json_array_length(text) == 2)
    named = keys.withColumns(
        {
            "connector": F.when(is_key, F.get_json_object(text, "$[0]")),
            "partition": F.when(is_key, F.get_json_object(text, "$[1]")),
            # A worker also treats the JSON text null as no value.
            "has_offset": F.coalesce(F.col("value").cast("string") != "null", F.expr("false")),
        }
    )
    marked = known.withColumn("exists", F.expr("true"))
    return named.join(F.broadcast(marked), "connector", "left").withColumn(
        "exists", F.coalesce("exists", F.expr("false"))
    )


def orphans(keys: DataFrame, request: OrphanRequest) -> DataFrame:
    """Dataset ``orphans``: the keys that ``request`` selects. ``keys``: what ``find_owners`` returns."""
    rows = keys.where(F.col("connector").isNotNull() & F.col("has_offset") & ~F.col("exists"))
    if request.connectors is not None:
        rows = rows.where(matches_whole(F.col("connector"), request.connectors))
    if request.written_before is not None:
        last = rows.groupBy("connector").agg(F.max("written_at").alias("last_written_at"))
        quiet = last.where(F.col("last_written_at") < F.lit(request.written_before))
        rows = rows.join(quiet, "connector", "left_semi")
    value = F.make_valid_utf8(F.col("value").cast("string"))
    size = F.octet_length("key") + F.octet_length("value")
    return conform(
        rows.withColumn("offset", value).withColumn("size_bytes", size).withColumnRenamed("key", "raw_key"), ORPHANS
    )


def by_connector(rows: DataFrame) -> DataFrame:
    """Sum up dataset ``orphans`` by connector.

    Returns:
        connector, partitions, size_bytes, written_ms (of its newest record, milliseconds since 1970), and that record's
        partition and offset
    """
    newest = F.max_by(F.struct("partition", "offset"), F.struct("written_at", "partition")).alias("newest")
    return (
        rows.groupBy("connector")
        .agg(
            F.count("*").alias("partitions"),
            F.sum("size_bytes").alias("size_bytes"),
            F.unix_millis(F.max("written_at")).alias("written_ms"),
            newest,
        )
        .select("connector", "partitions", "size_bytes", "written_ms", "newest.*")
    )


def run(spark: SparkSession, directory: OrphansDirectory) -> dict[str, Any]:
    """Find the orphans that the request of ``directory`` selects, write the dataset, and return the summary."""
    document = begin(spark, directory)
    request = OrphanRequest.from_json(document)
    problem = jvm.why_pattern_is_refused(spark, connectors=request.connectors)
    summary = _find(spark, directory, request) if problem is None else {"problem": problem}
    return write_summary(spark, directory.summary, {"request": document, "found_at": now(), **summary})


def _find(spark: SparkSession, directory: OrphansDirectory, request: OrphanRequest) -> dict[str, Any]:
    names = jvm.read_json(spark, directory.known)["connectors"]
    known = make_frame(spark, [(name,) for name in names], "connector string")
    records = read_dataset(spark, directory.stored_records, STORED_RECORDS)
    keys = find_owners(select_last_records(records), known).persist()
    try:
        counts = totals(
            keys,
            F.coalesce(F.sum("records"), F.lit(0)).alias("records"),
            F.count("*").alias("keys"),
            F.count_if(F.col("connector").isNull()).alias("passed_over"),
            F.count_if(F.col("partitions") > 1).alias("in_two_partitions"),
            F.count_distinct(F.when(F.col("exists") & F.col("has_offset"), F.col("connector"))).alias("existing"),
        )
        write_dataset(orphans(keys, request), directory.orphans)
    finally:
        keys.unpersist(blocking=True)
    summary = summarise(read_dataset(spark, directory.orphans, ORPHANS))
    return {"problem": None, "known": len(names), **counts, **summary}


def summarise(rows: DataFrame) -> dict[str, Any]:
    """Compute the totals and the digest of dataset ``orphans``, and list the connectors with the most bytes."""
    counts = totals(
        rows,
        F.count_distinct("connector").alias("orphaned"),
        F.count("*").alias("partitions"),
        F.coalesce(F.sum("size_bytes"), F.lit(0)).alias("size_bytes"),
        digest_of(row_digest("topic", "kafka_partition", "log_offset", F.hex("raw_key"))).alias("digest"),
    )
    listed = [_line(row) for row in collect_first(by_connector(rows), F.desc("size_bytes"), "connector")]
    return {**counts, "connectors": listed, "more": counts["orphaned"] - len(listed)}


def _line(row: dict[str, Any]) -> dict[str, Any]:
    written_at = datetime.fromtimestamp(row.pop("written_ms") / 1000, tz=UTC)
    return {**row, "written_at": written_at.isoformat(timespec="milliseconds")}


JOB = Job.of_one_run("orphans", run, OrphansDirectory)

"""Offsets whose connector no longer exists, found among all records of an offsets topic; Catalyst only.

A worker takes the last record of a key, reads ``["<connector>",{source partition}]`` from it, and passes over keys of
another shape. The same key in two partitions of the topic (written there with another partitioner) is counted, and the
record that was written later is taken for its last one.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from airflow_provider_connect_offsets.offsets.requests.orphans import OrphanRequest
from airflow_provider_connect_offsets.pipeline.frames import matches_whole, shaped
from airflow_provider_connect_offsets.workspace.schemas import ORPHANS

# A text and an object, and nothing after them; possessive, so that a long name can't exhaust Java's stack.
_KEY = r'^\s*\[\s*"[^"\\]*+(?:\\.[^"\\]*+)*+"\s*,\s*\{[\s\S]*\}\s*\]\s*$'


def last_of_each_key(records: DataFrame) -> DataFrame:
    """Give each key its last record.

    records: dataset ``stored_records``
    returns: key, topic, kafka_partition, log_offset, written_at, value, records (how many it has), places (in how many
    partitions it stands)
    """
    record = F.struct("topic", "kafka_partition", "log_offset", "written_at", "value")
    of_a_place = records.groupBy("key", "kafka_partition").agg(
        F.max_by(record, "log_offset").alias("last"), F.count("*").alias("records")
    )
    return (
        of_a_place.groupBy("key")
        .agg(
            F.max_by("last", F.struct("last.written_at", "last.kafka_partition")).alias("last"),
            F.sum("records").alias("records"),
            F.count("*").alias("places"),
        )
        .select("key", "last.*", "records", "places")
    )


def owned(keys: DataFrame, known: DataFrame) -> DataFrame:
    """Tell whose each key is, and whether that connector exists.

    keys: as ``last_of_each_key`` gives them; known: connector (the names that the Connect cluster has)
    returns: keys + connector, partition (both null: a key of another shape), stands (it has an offset), exists
    """
    text = F.col("key").cast("string")
    is_key = F.is_valid_utf8(text) & text.rlike(_KEY) & (F.json_array_length(text) == 2)
    named = keys.withColumns(
        {
            "connector": F.when(is_key, F.get_json_object(text, "$[0]")),
            "partition": F.when(is_key, F.get_json_object(text, "$[1]")),
            # A worker reads the JSON text null as no value, too.
            "stands": F.coalesce(F.col("value").cast("string") != "null", F.expr("false")),
        }
    )
    marked = known.withColumn("exists", F.expr("true"))
    return named.join(F.broadcast(marked), "connector", "left").withColumn(
        "exists", F.coalesce("exists", F.expr("false"))
    )


def orphans(keys: DataFrame, request: OrphanRequest) -> DataFrame:
    """Dataset ``orphans``. keys: as ``owned`` gives them."""
    found = keys.where(F.col("connector").isNotNull() & F.col("stands") & ~F.col("exists"))
    if request.connectors is not None:
        found = found.where(matches_whole(F.col("connector"), request.connectors))
    if request.written_before is not None:
        last = found.groupBy("connector").agg(F.max("written_at").alias("last_written_at"))
        quiet = last.where(F.col("last_written_at") < F.lit(request.written_before))
        found = found.join(quiet, "connector", "left_semi")
    value = F.make_valid_utf8(F.col("value").cast("string"))
    size = F.octet_length("key") + F.octet_length("value")
    return shaped(
        found.withColumn("offset", value).withColumn("size_bytes", size).withColumnRenamed("key", "raw_key"), ORPHANS
    )


def key_counts() -> list[Column]:
    """What is counted over the frame of ``owned``."""
    return [
        F.coalesce(F.sum("records"), F.lit(0)).alias("records"),
        F.count("*").alias("keys"),
        F.count_if(F.col("connector").isNull()).alias("passed_over"),
        F.count_if(F.col("places") > 1).alias("in_two_partitions"),
        F.count_distinct(F.when(F.col("exists") & F.col("stands"), F.col("connector"))).alias("existing"),
    ]


def orphan_digest() -> Column:
    """What ``offsets.requests.orphans.Orphan.digest`` gives."""
    fields = ("topic", "kafka_partition", "log_offset")
    return F.sha2(F.concat_ws("\n", *[F.col(field).cast("string") for field in fields], F.hex("raw_key")), 256)


def by_connector(found: DataFrame) -> DataFrame:
    """Sum up the dataset ``orphans``.

    returns: connector, partitions, size_bytes, written_ms (its newest, milliseconds since 1970), and that one's
    partition and offset
    """
    newest = F.max_by(F.struct("partition", "offset"), F.struct("written_at", "partition")).alias("newest")
    return (
        found.groupBy("connector")
        .agg(
            F.count("*").alias("partitions"),
            F.sum("size_bytes").alias("size_bytes"),
            F.unix_millis(F.max("written_at")).alias("written_ms"),
            newest,
        )
        .select("connector", "partitions", "size_bytes", "written_ms", "newest.*")
    )

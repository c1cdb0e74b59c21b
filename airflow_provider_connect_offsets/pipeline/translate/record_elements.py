"""Make elements from the records of the remote topic that were read."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from airflow_provider_connect_offsets.pipeline.events import KEY, SO_FAR, union_of

#: Kind of an element made from records.
RECORD = "record"


def narrow(records: DataFrame, pieces: DataFrame) -> DataFrame:
    """Narrow low and high of records to what the mappings around them allow.

    Adds replicated_to: the record that replication had reached after the last record of a stretch; null if unknown.
    """
    # A weak mapping does not show how replication continued, so it gives no bounds.
    stretches = pieces.where(~F.col("certain") & F.col("firm")).select(
        *KEY, F.col("start").alias("downstream"), F.struct("start", "end", "next", "low", "high").alias("around")
    )
    in_order = Window.partitionBy(*KEY).orderBy("downstream", F.col("around").isNull()).rowsBetween(*SO_FAR)
    around = F.last("around", ignorenulls=True).over(in_order)
    within = F.coalesce(F.col("downstream") <= F.col("around.end"), F.expr("false"))
    low, high = F.greatest("low", "around.low"), F.least("high", "around.high")
    # A record that doesn't fit comes from another writer, or a mapping is missing.
    fits = within & F.col("upstream").isNull() & (low <= high)
    ends = within & (F.col("downstream") == F.col("around.end"))
    return (
        union_of(records.withColumn("is_record", F.expr("true")), stretches)
        .withColumn("around", around)
        .where("is_record")
        .withColumns(
            {
                "low": F.when(fits, low).otherwise(F.col("low")),
                "high": F.when(fits, high).otherwise(F.col("high")),
                "replicated_to": F.when(ends, F.col("around.next")),
            }
        )
        .drop("is_record", "around")
    )


def by_records(records: DataFrame, source: DataFrame) -> DataFrame:
    """Elements made from records: records that are consecutive in both logs share an element, any other has its own."""
    in_order = Window.partitionBy(*KEY).orderBy("downstream")
    follows = (F.col("upstream") == F.col("before.upstream") + 1) & (
        F.col("downstream") == F.col("before.downstream") + 1
    )
    follows &= F.col("shown") == F.col("before.shown")
    begins = F.when(F.coalesce(follows, F.expr("false")), F.lit(0)).otherwise(F.lit(1))
    nexts = source.select(*KEY, "upstream", "next")
    runs = (
        records.join(nexts, ["upstream", *KEY], "left")
        .withColumn("next", F.coalesce("next", "mapped_next", F.col("upstream") + 1, "replicated_to"))
        .withColumn("before", F.lag(F.struct("upstream", "downstream", "shown")).over(in_order))
        .withColumn("number", F.sum(begins).over(in_order.rowsBetween(*SO_FAR)))
    )
    return (
        runs.groupBy(*KEY, "number")
        .agg(
            F.min("downstream").alias("start"),
            F.max("downstream").alias("end"),
            F.min("upstream").alias("upstream"),
            F.max("next").alias("next"),
            F.min("low").alias("low"),
            F.max("high").alias("high"),
            F.min("upstream").isNotNull().alias("certain"),
            F.min("shown").alias("shown"),
            F.max("unlike").alias("unlike"),
        )
        .withColumn("kind", F.lit(RECORD))
    )

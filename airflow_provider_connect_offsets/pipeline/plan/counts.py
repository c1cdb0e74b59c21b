"""Count a plan's rows and records, and compute its digest, in one pass."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from airflow_provider_connect_offsets.offsets.plan import plan_digest


@dataclass(frozen=True, slots=True)
class Counts:
    """Numbers of a plan.

    Attributes:
        partitions: rows
        set: rows whose offset is set
        clear: rows whose offset is removed
        keep: rows that are left alone
        selected: rows that the request selects
        stuck: selected rows that can't be moved to the requested position
        unknown: selected rows whose topic or partition does not exist
        highest_partition: highest Kafka partition selected; None if no selected row has a Kafka partition
        records_again: records delivered again
        records_skipped: records never delivered
        digest: the plan's digest, as ``offsets.plan.plan_digest`` computes it
    """

    partitions: int = 0
    set: int = 0
    clear: int = 0
    keep: int = 0
    selected: int = 0
    stuck: int = 0
    unknown: int = 0
    highest_partition: int | None = None
    records_again: int = 0
    records_skipped: int = 0
    digest: str = plan_digest([])

    @property
    def changed_count(self) -> int:
        """Rows that the plan changes."""
        return self.set + self.clear


def count(rows: DataFrame) -> dict[str, Counts]:
    """Count the rows of the frame of ``effects`` by connector; a connector without rows is left out."""
    selected = F.col("selected")
    counted = rows.groupBy("connector").agg(
        F.count("*").alias("partitions"),
        *[F.count_if(F.col("action") == action).alias(action) for action in ("set", "clear", "keep")],
        F.count_if(selected).alias("selected"),
        F.count_if(F.col("stuck")).alias("stuck"),
        F.count_if(selected & F.col("topic").isNotNull() & F.col("log_end").isNull()).alias("unknown"),
        F.max(F.when(selected, F.col("kafka_partition"))).alias("highest_partition"),
        F.coalesce(F.sum("records_again"), F.lit(0)).alias("records_again"),
        F.coalesce(F.sum("records_skipped"), F.lit(0)).alias("records_skipped"),
        digest_of(row_digest("connector", "family", "partition", "before", "after", "action")).alias("digest"),
    )
    numbers = [row.asDict() for row in counted.collect()]  # a row for each connector
    return {row.pop("connector"): Counts(**row) for row in numbers}


def digest_of(row_digest: Column) -> Column:
    """The aggregate that ``offsets.plan.plan_digest`` computes from the digests of rows."""
    return F.sha2(F.array_join(F.sort_array(F.collect_list(row_digest)), ""), 256)


def row_digest(*fields: str | Column) -> Column:
    """The SHA-256 (hex) of one line per field, empty for null, as ``digest`` methods in ``offsets`` compute it."""
    columns = (F.col(field) if isinstance(field, str) else field for field in fields)
    return F.sha2(F.concat_ws("\n", *[F.coalesce(column.cast("string"), F.lit("")) for column in columns]), 256)

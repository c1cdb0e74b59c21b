"""Compare each element with later elements of the remote topic: which copies are repeated, and which are the last."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from airflow_provider_connect_offsets.pipeline.events import KEY, SO_FAR
from airflow_provider_connect_offsets.pipeline.translate.elements import is_single


def with_later(rows: DataFrame) -> DataFrame:
    """Add to each element what later elements contain.

    Replication continues at its position or at an earlier one. So if no element of a chain of certain elements begins
    beyond the end of the element before it, the chain contains all records between its lowest record and its end.

    Args:
        rows: what ``elements`` returns

    Returns:
        ``rows`` with again_from, again_to (later elements certainly contain all records between, both included; null:
        no records), later_low, later_high (later elements contain no record outside this range; null: no records),
        doubts (how many single records from here on are uncertain), doubts_low (the lowest record that one of these may
        be), unshown (how many elements from here on are not shown by records)
    """
    in_order = Window.partitionBy(*KEY).orderBy("start")
    replicated_to = F.last("next", ignorenulls=True).over(in_order.rowsBetween(Window.unboundedPreceding, -1))
    breaks = F.col("certain") & (F.col("upstream") > F.col("replicated_to"))
    chained = rows.withColumn("replicated_to", replicated_to).withColumn(
        "chain", F.sum(F.when(breaks, F.lit(1)).otherwise(F.lit(0))).over(in_order.rowsBetween(*SO_FAR))
    )
    of_partition = Window.partitionBy(*KEY)
    chained = chained.withColumn("last_chain", F.max("chain").over(of_partition))
    lowest = F.when(F.col("certain"), F.col("upstream"))
    is_last = F.col("chain") == F.col("last_chain")
    holds = F.col("low") <= F.col("high")
    later = (Window.unboundedPreceding, -1)
    backwards = Window.partitionBy(*KEY).orderBy(F.desc("start"))
    same_chain = Window.partitionBy(*KEY, "chain").orderBy(F.desc("start"))
    compared = chained.withColumns(
        {
            "rest_from": F.min(lowest).over(same_chain.rowsBetween(*later)),
            "rest_end": F.first("next", ignorenulls=True).over(same_chain.rowsBetween(*later)),
            "final_from": F.min(F.when(is_last, lowest)).over(backwards.rowsBetween(*later)),
            "final_end": F.first(F.when(is_last, F.col("next")), ignorenulls=True).over(backwards.rowsBetween(*later)),
            "later_low": F.min(F.when(holds, F.col("low"))).over(backwards.rowsBetween(*later)),
            "later_high": F.max(F.when(holds, F.col("high"))).over(backwards.rowsBetween(*later)),
            "unshown": F.sum(F.when(F.col("shown"), 0).otherwise(1)).over(backwards.rowsBetween(*SO_FAR)),
            "doubts": F.sum(F.when(is_single(), 1).otherwise(0)).over(backwards.rowsBetween(*SO_FAR)),
            "doubts_low": F.min(F.when(is_single(), F.col("low"))).over(backwards.rowsBetween(*SO_FAR)),
        }
    )
    meet = (F.col("final_from") <= F.col("rest_end")) & (F.col("rest_from") <= F.col("final_end"))
    both = F.coalesce(meet, F.expr("false"))
    begins = F.when(both, F.least("final_from", "rest_from")).otherwise(F.coalesce("rest_from", "final_from"))
    alone = F.when(F.col("rest_from").isNotNull(), F.col("rest_end")).otherwise(F.col("final_end"))
    ends = F.when(both, F.greatest("final_end", "rest_end")).otherwise(alone)
    surely = begins < ends
    return compared.withColumns({"again_from": F.when(surely, begins), "again_to": F.when(surely, ends - 1)}).drop(
        "replicated_to", "chain", "last_chain", "rest_from", "rest_end", "final_from", "final_end"
    )


def skip_uncopied(rows: DataFrame) -> DataFrame:
    """Move ``next`` of each element past records without a copy, as such records do not break a chain.

    Args:
        rows: what ``elements`` returns, for a remote topic whose records were read
    """
    upwards = Window.partitionBy(*KEY).orderBy("low").rowsBetween(Window.unboundedPreceding, -1)
    ends = (F.max("high").over(upwards) + 1).alias("next")
    gaps = rows.where("low <= high").select(*KEY, ends, F.col("low").alias("begins")).where("begins > next")
    moved = rows.join(gaps, ["next", *KEY], "left").withColumn("next", F.coalesce("begins", "next"))
    return moved.select(*rows.columns)


def reach_unread() -> Column:
    """The highest record whose last copy an element may contain; null: all its records are repeated later."""
    below = F.when(F.col("again_from") > F.col("low"), F.col("again_from") - 1)
    return (
        F.when(F.col("again_to").isNull() | (F.col("high") > F.col("again_to")), F.col("high"))
        .when(F.col("high") < F.col("again_from"), F.col("high"))
        .otherwise(below)
    )


def reach_last() -> Column:
    """The highest record whose last copy is certainly in a certain element; null: there is no such record."""
    below = F.when(F.col("later_low") > F.col("low"), F.col("later_low") - 1)
    highest = (
        F.when(F.col("later_high").isNull() | (F.col("high") > F.col("later_high")), F.col("high"))
        .when(F.col("high") < F.col("later_low"), F.col("high"))
        .otherwise(below)
    )
    return F.when(F.col("certain"), highest)

"""Translate positions by checkpoints only, if the syncs are lost with the source and there is no ledger."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from airflow_provider_connect_offsets.offsets.requests.failover import Method
from airflow_provider_connect_offsets.pipeline.events import KEY, SO_FAR
from airflow_provider_connect_offsets.pipeline.translate.translation import PARTITION, TRANSLATED


def translate_by_checkpoints(positions: DataFrame, partitions: DataFrame, *, trusts_checkpoints: bool) -> DataFrame:
    """Translate the positions of checkpoints.

    A checkpoint may be older than the topic or than the last rewind; then records may be skipped.

    Args:
        positions: target_topic, kafka_partition, position, checkpoint (null: it has no offset), and any others, of all
            groups: checkpoints of one group also translate positions of others
        partitions: dataset ``mirror_partitions``
        trusts_checkpoints: whether to translate at all; else ``downstream`` is null

    Returns:
        topic (of the source) and the columns of ``translation.translate``, for partitions with a remote topic; never
        exact, as the source may have had more records than were replicated
    """
    facts = partitions.where("target_end is not null").select(*KEY, *PARTITION)
    joined = positions.join(F.broadcast(facts), ["target_topic", "kafka_partition"])
    # rangeBetween: checkpoints at the same position count for each other.
    upwards = Window.partitionBy(*KEY).orderBy("position").rangeBetween(*SO_FAR)
    offset = F.when((F.col("position") >= 0) & (F.col("checkpoint") <= F.col("target_end")), F.col("checkpoint"))
    lower = F.max(offset).over(upwards) if trusts_checkpoints else F.lit(None).cast("long")
    method = F.when(F.col("downstream").isNull(), F.lit(Method.NONE.value)).otherwise(F.lit(Method.CHECKPOINT.value))
    translated = joined.withColumn("downstream", lower).withColumns(
        {
            "upper": F.col("target_end"),
            "missing": F.lit(None).cast("long"),
            "exact": F.expr("false"),
            "max_rereads": F.col("target_end") - F.col("downstream"),
            "method": method,
            "claimed": F.lit(None).cast("long"),
        }
    )
    return translated.select("topic", *[name for name in positions.columns if name not in TRANSLATED], *TRANSLATED)

"""Positions that nothing but checkpoints tells of, where the syncs went with the source."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from airflow_provider_connect_offsets.offsets.requests.failover import Method
from airflow_provider_connect_offsets.pipeline.events import KEY, SO_FAR
from airflow_provider_connect_offsets.pipeline.translate.answers import ANSWER, PARTITION


def answers_of_checkpoints(told: DataFrame, partitions: DataFrame, *, trusts_checkpoints: bool) -> DataFrame:
    """Translate the positions that checkpoints tell.

    told: target_topic, kafka_partition, position, checkpoint (null: it tells of no offset), and whatever else, of all
    groups: each of them tells of the topic, not of who reads it
    partitions: dataset ``mirror_partitions``; trusts_checkpoints: else no offset is told
    returns: topic (of the source) and what ``answers`` gives, of partitions that have a remote topic; never exact, as
    the source may have had more than was replicated

    Nothing shows that a checkpoint was written since the topic was created and after the last rewind: with one that
    was not, records may be skipped.
    """
    facts = partitions.where("target_end is not null").select(*KEY, *PARTITION)
    found = told.join(F.broadcast(facts), ["target_topic", "kafka_partition"])
    # By range: of checkpoints at the same position each tells the others too.
    upwards = Window.partitionBy(*KEY).orderBy("position").rangeBetween(*SO_FAR)
    tells = F.when((F.col("position") >= 0) & (F.col("checkpoint") <= F.col("target_end")), F.col("checkpoint"))
    lower = F.max(tells).over(upwards) if trusts_checkpoints else F.lit(None).cast("long")
    by = F.when(F.col("downstream").isNull(), F.lit(Method.NONE.value)).otherwise(F.lit(Method.CHECKPOINT.value))
    answered = found.withColumn("downstream", lower).withColumns(
        {
            "upper": F.col("target_end"),
            "missing": F.lit(None).cast("long"),
            "exact": F.expr("false"),
            "max_rereads": F.col("target_end") - F.col("downstream"),
            "method": by,
            "claimed": F.lit(None).cast("long"),
        }
    )
    return answered.select("topic", *[name for name in told.columns if name not in ANSWER], *ANSWER)

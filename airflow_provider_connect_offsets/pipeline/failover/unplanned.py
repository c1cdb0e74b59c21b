"""A failover without its source, by what looks at the flow's readiness have kept: positions, and what is known."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from airflow_provider_connect_offsets.offsets.requests.failover import Method
from airflow_provider_connect_offsets.pipeline.events import KEY
from airflow_provider_connect_offsets.pipeline.frames import few_rows, shaped, struct_type
from airflow_provider_connect_offsets.pipeline.translate.answers import Known, answers, known
from airflow_provider_connect_offsets.pipeline.translate.ledger import MAPPING, POSITION, created_since, of_these_topics
from airflow_provider_connect_offsets.pipeline.translate.lost import rebuilt
from airflow_provider_connect_offsets.pipeline.translate.mappings import known_mappings
from airflow_provider_connect_offsets.workspace.flow_schemas import KEPT_MAPPINGS
from airflow_provider_connect_offsets.workspace.schemas import OFFSET_SYNCS

_ON_TARGET = ("group", "target_topic", "kafka_partition")


class PositionOf(StrEnum):
    """What tells where a group was."""

    LEDGER = "ledger"
    CHECKPOINT = "checkpoint"


@dataclass(frozen=True, slots=True)
class Left:
    """What is left of a flow whose source is gone: datasets ``mirror_ledger`` and ``flow_topics`` (of now)."""

    ledger: DataFrame
    topics: DataFrame

    def lost(self, partitions: DataFrame, syncs: DataFrame | None, digests: DataFrame | None) -> Lost:
        """Put together what is known of each partition.

        partitions: dataset ``mirror_partitions``; syncs: dataset ``offset_syncs``, None where they went with the
        source; digests: dataset ``record_digests`` of the remote topics, None where none was read
        """
        kept = of_these_topics(self.ledger, self.topics)
        mappings = shaped(kept.where(F.col("kind") == MAPPING), KEPT_MAPPINGS)
        if syncs is None:
            syncs = few_rows(partitions.sparkSession, [], struct_type(OFFSET_SYNCS))
        if digests is None:
            found = known(partitions, syncs=syncs, kept=mappings)
            partitions = partitions.withColumn("known_to", F.lit(None).cast("long"))
        else:
            source = rebuilt(partitions, known_mappings(syncs, partitions, mappings), digests, kept)
            partitions = source.partitions
            found = known(partitions.drop("known_to"), syncs=syncs, digests=source.digests, kept=mappings)
        anew = found.anew.unionByName(created_since(self.ledger, self.topics)).distinct()
        return Lost(partitions, replace(found, anew=anew))

    def observed_at(self) -> int | None:
        """When the last look was taken, in milliseconds since 1970; None where none has kept anything."""
        row = self.ledger.agg(F.unix_millis(F.max("observed_at")).alias("at")).first()
        return None if row is None else row["at"]

    def positions(self, told: DataFrame) -> DataFrame:
        """Where the groups were, by the later of a look and a checkpoint.

        told: group, target_topic, kafka_partition, position, checkpoint, position_of, position_at, log_offset (of the
        last checkpoints)
        returns: told + checkpoint_upstream, of all groups that either tells of

        A look reads the checkpoints before the positions: one that it has seen is older than its position, any other
        one was written after it began. No clock is asked, as those of Airflow and of Connect's workers may differ.
        """
        seen = self.ledger.where(F.col("kind") == POSITION).select(
            *_ON_TARGET,
            F.col("upstream").alias("seen"),
            F.col("observed_at").alias("seen_at"),
            F.coalesce("checkpoints_end", F.lit(0)).alias("checkpoints_end"),
        )
        renamed = told.withColumnsRenamed({"position": "checkpoint_upstream", "position_at": "told_at"})
        both = renamed.join(seen, list(_ON_TARGET), "full")
        since = F.coalesce(F.col("log_offset") >= F.col("checkpoints_end"), F.expr("false"))
        by_checkpoint = F.col("seen").isNull() | since
        return both.withColumns(
            {
                "position": F.when(by_checkpoint, F.col("checkpoint_upstream")).otherwise(F.col("seen")),
                "position_of": F.when(by_checkpoint, PositionOf.CHECKPOINT.value).otherwise(PositionOf.LEDGER.value),
                "position_at": F.when(by_checkpoint, F.col("told_at")).otherwise(F.col("seen_at")),
            }
        ).drop("seen", "seen_at", "told_at", "log_offset", "checkpoints_end")


@dataclass(frozen=True, slots=True)
class Lost:
    """Partitions of a source that is gone, and what is known of them.

    ``partitions``: dataset ``mirror_partitions``, and known_to, of ``translate.lost.rebuilt``
    """

    partitions: DataFrame
    known: Known

    def answers(self, positions: DataFrame, checkpoints: DataFrame, *, trusts_checkpoints: bool = False) -> DataFrame:
        """Translate positions, of ``Left.positions`` by source topic; all else, and what it returns: of ``answers``.

        A position behind what is known of the source is taken for the first one that is not, or, where it is further
        on, for the place that its group's own checkpoint tells; how much lies before it nobody knows.
        """
        known_to = F.broadcast(self.partitions.select(*KEY, "known_to"))
        asked = positions.join(known_to, list(KEY), "left").withColumns(
            {"told_position": F.col("position"), "position": F.least("position", F.col("known_to") + 1)}
        )
        found = answers(
            asked,
            self.partitions.drop("known_to"),
            self.known,
            checkpoints,
            trusts_checkpoints=trusts_checkpoints,
        )
        beyond = F.col("told_position") > F.col("position")
        usable = (F.col("checkpoint_upstream") <= F.col("told_position")) & (F.col("checkpoint") <= F.col("target_end"))
        own = F.when(beyond & usable, F.col("checkpoint"))
        further = beyond & F.coalesce(own > F.col("downstream"), F.expr("false"))
        lower = F.when(further, own).otherwise(F.col("downstream"))
        return found.withColumns(
            {
                "position": F.col("told_position"),
                "upper": F.when(beyond, F.col("target_end")).otherwise(F.col("upper")),
                "missing": F.when(~beyond, F.col("missing")),
                "exact": F.col("exact") & ~beyond,
                "max_rereads": F.when(beyond, F.col("target_end") - lower).otherwise(F.col("max_rereads")),
                "method": F.when(further, F.lit(Method.CHECKPOINT.value)).otherwise(F.col("method")),
                "downstream": lower,
            }
        ).drop("told_position", "known_to")

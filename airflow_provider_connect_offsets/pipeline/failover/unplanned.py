"""Translate positions without the source, by what earlier readiness runs kept in the ledger."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from airflow_provider_connect_offsets.offsets.requests.failover import Method
from airflow_provider_connect_offsets.pipeline.events import KEY
from airflow_provider_connect_offsets.pipeline.frames import make_frame, struct_type
from airflow_provider_connect_offsets.pipeline.summary import totals
from airflow_provider_connect_offsets.pipeline.translate.ledger import (
    POSITION,
    find_recreated,
    kept_mappings_of,
    of_current_topics,
)
from airflow_provider_connect_offsets.pipeline.translate.lost import rebuild
from airflow_provider_connect_offsets.pipeline.translate.mappings import known_mappings
from airflow_provider_connect_offsets.pipeline.translate.translation import Known, combine_known, translate
from airflow_provider_connect_offsets.workspace.schemas import OFFSET_SYNCS

_ON_TARGET = ("group", "target_topic", "kafka_partition")


class PositionOf(StrEnum):
    """Where a group's position was read from."""

    LEDGER = "ledger"
    CHECKPOINT = "checkpoint"


@dataclass(frozen=True, slots=True)
class Remains:
    """What remains of a flow whose source is lost.

    Attributes:
        ledger: dataset ``mirror_ledger``
        topics: dataset ``flow_topics``, as observed now
    """

    ledger: DataFrame
    topics: DataFrame

    def find_lost(self, partitions: DataFrame, syncs: DataFrame | None, digests: DataFrame | None) -> Lost:
        """Combine all that is known of each partition.

        Args:
            partitions: dataset ``mirror_partitions``
            syncs: dataset ``offset_syncs``; None if they are lost with the source
            digests: dataset ``record_digests`` of the remote topics; None if no records were read
        """
        kept = of_current_topics(self.ledger, self.topics)
        mappings = kept_mappings_of(kept)
        if syncs is None:
            syncs = make_frame(partitions.sparkSession, [], struct_type(OFFSET_SYNCS))
        if digests is None:
            facts = combine_known(partitions, syncs=syncs, kept=mappings)
            partitions = partitions.withColumn("known_to", F.lit(None).cast("long"))
        else:
            source = rebuild(partitions, known_mappings(syncs, partitions, mappings), digests, kept)
            partitions = source.partitions
            facts = combine_known(partitions.drop("known_to"), syncs=syncs, digests=source.digests, kept=mappings)
        anew = facts.anew.unionByName(find_recreated(self.ledger, self.topics)).distinct()
        return Lost(partitions, replace(facts, anew=anew))

    def observed_at(self) -> int | None:
        """Return when the ledger was written, in milliseconds since 1970; None if it is empty."""
        at: int | None = totals(self.ledger, F.unix_millis(F.max("observed_at")).alias("at"))["at"]
        return at

    def positions(self, by_checkpoints: DataFrame) -> DataFrame:
        """The last known position of each group: from the ledger or from its checkpoint, whichever is newer.

        A readiness run reads the checkpoints before the positions: checkpoints that it read are older than its
        positions, all others are newer. Timestamps are not compared, as the clocks of Airflow and of Connect's workers
        may differ.

        Args:
            by_checkpoints: group, target_topic, kafka_partition, position, checkpoint, position_of, position_at,
                log_offset (of the last checkpoints)

        Returns:
            the columns of ``by_checkpoints`` without log_offset, with checkpoint_upstream
        """
        ledger = self.ledger.where(F.col("kind") == POSITION).select(
            *_ON_TARGET,
            F.col("upstream").alias("observed"),
            "observed_at",
            F.coalesce("checkpoints_end", F.lit(0)).alias("checkpoints_end"),
        )
        names = {"position": "checkpoint_upstream", "position_at": "checkpoint_at"}
        both = by_checkpoints.withColumnsRenamed(names).join(ledger, list(_ON_TARGET), "full")
        is_newer = F.coalesce(F.col("log_offset") >= F.col("checkpoints_end"), F.expr("false"))
        by_checkpoint = F.col("observed").isNull() | is_newer
        return both.withColumns(
            {
                "position": F.when(by_checkpoint, F.col("checkpoint_upstream")).otherwise(F.col("observed")),
                "position_of": F.when(by_checkpoint, PositionOf.CHECKPOINT.value).otherwise(PositionOf.LEDGER.value),
                "position_at": F.when(by_checkpoint, F.col("checkpoint_at")).otherwise(F.col("observed_at")),
            }
        ).drop("observed", "observed_at", "checkpoint_at", "log_offset", "checkpoints_end")


@dataclass(frozen=True, slots=True)
class Lost:
    """Partitions of a lost source, and what is known about them.

    Attributes:
        partitions: dataset ``mirror_partitions``, and known_to of ``translate.lost.rebuild``
        known: what is known of each partition
    """

    partitions: DataFrame
    known: Known

    def translate(self, positions: DataFrame, checkpoints: DataFrame, *, trusts_checkpoints: bool = False) -> DataFrame:
        """Translate positions of groups.

        A position beyond the known records of the source is translated as the first unknown record, or by the group's
        checkpoint if that gives a higher offset; the number of records in between is unknown.

        Args:
            positions: what ``Remains.positions`` returns, by source topic
            checkpoints: as ``translation.translate`` takes them
            trusts_checkpoints: as ``translation.translate`` takes it

        Returns:
            what ``translation.translate`` returns
        """
        known_to = F.broadcast(self.partitions.select(*KEY, "known_to"))
        within = positions.join(known_to, list(KEY), "left").withColumns(
            {"group_position": F.col("position"), "position": F.least("position", F.col("known_to") + 1)}
        )
        translated = translate(
            within,
            self.partitions.drop("known_to"),
            self.known,
            checkpoints,
            trusts_checkpoints=trusts_checkpoints,
        )
        position = F.col("group_position")
        beyond = position > F.col("position")
        usable = (F.col("checkpoint_upstream") <= position) & (F.col("checkpoint") <= F.col("target_end"))
        own = F.when(beyond & usable, F.col("checkpoint"))
        further = beyond & F.coalesce(own > F.col("downstream"), F.expr("false"))
        lower = F.when(further, own).otherwise(F.col("downstream"))
        return translated.withColumns(
            {
                "position": position,
                "upper": F.when(beyond, F.col("target_end")).otherwise(F.col("upper")),
                "missing": F.when(~beyond, F.col("missing")),
                "exact": F.col("exact") & ~beyond,
                "max_rereads": F.when(beyond, F.col("target_end") - lower).otherwise(F.col("max_rereads")),
                "method": F.when(further, F.lit(Method.CHECKPOINT.value)).otherwise(F.col("method")),
                "downstream": lower,
            }
        ).drop("group_position", "known_to")

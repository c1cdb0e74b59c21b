"""Translate positions: bounds in the remote topic for each position, and the evidence that they are based on."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from airflow_provider_connect_offsets.offsets.requests.failover import Method
from airflow_provider_connect_offsets.pipeline.events import KEY, SO_FAR
from airflow_provider_connect_offsets.pipeline.frames import materialise
from airflow_provider_connect_offsets.pipeline.translate.bounds import CHECKPOINT, bound_offsets
from airflow_provider_connect_offsets.pipeline.translate.elements import (
    POINT,
    RUN,
    STRETCH,
    elements,
    find_contradicted,
)
from airflow_provider_connect_offsets.pipeline.translate.later import skip_uncopied, with_later
from airflow_provider_connect_offsets.pipeline.translate.mappings import find_recreated, known_mappings
from airflow_provider_connect_offsets.pipeline.translate.record_elements import RECORD
from airflow_provider_connect_offsets.pipeline.translate.records import remote_records, source_records
from airflow_provider_connect_offsets.pipeline.translate.uncovered import find_uncovered

_METHODS = {
    RUN: Method.BRACKET,
    POINT: Method.BRACKET,
    STRETCH: Method.SYNC,
    RECORD: Method.RECORD,
    CHECKPOINT: Method.CHECKPOINT,
}
#: Columns of the remote partition, and all columns of a translation.
PARTITION = ("target_topic", "target_start", "target_end")
TRANSLATED = (*PARTITION, "downstream", "upper", "missing", "exact", "max_rereads", "method", "claimed")


@dataclass(frozen=True, slots=True)
class Known:
    """What is known about each partition.

    Attributes:
        elements: what ``later.with_later`` returns
        uncovered: what ``uncovered.find_uncovered`` returns: records without a copy
        anew: topic, kafka_partition of topics that were recreated on either cluster, according to their offset syncs
        contradicted: what ``elements.find_contradicted`` returns
    """

    elements: DataFrame
    uncovered: DataFrame
    anew: DataFrame
    contradicted: DataFrame


def combine_known(
    partitions: DataFrame, *, syncs: DataFrame, digests: DataFrame | None = None, kept: DataFrame | None = None
) -> Known:
    """Combine the offset mappings and the records. Each step is computed at once, as the next uses it several times.

    Args:
        partitions: dataset ``mirror_partitions``
        syncs: dataset ``offset_syncs``
        digests: dataset ``record_digests``, of each partition from ``source_from`` and ``target_from`` on; None if no
            records were read
        kept: dataset ``kept_mappings``, or None
    """
    mappings, anew = materialise(known_mappings(syncs, partitions, kept)), find_recreated(syncs, partitions)
    if digests is None:
        unread = partitions.withColumns(dict.fromkeys(("source_from", "target_from"), F.lit(None).cast("long")))
        rows = materialise(elements(unread, mappings))
        return Known(
            materialise(with_later(rows)),
            materialise(find_uncovered(unread, rows)),
            anew,
            find_contradicted(partitions),
        )
    source = source_records(digests)
    records = materialise(remote_records(digests, partitions, mappings))
    rows = materialise(elements(partitions, mappings, records, source))
    without = materialise(find_uncovered(partitions, rows, source))
    return Known(materialise(with_later(skip_uncopied(rows))), without, anew, find_contradicted(partitions, records))


def translate(
    positions: DataFrame,
    partitions: DataFrame,
    of: Known,
    checkpoints: DataFrame | None = None,
    *,
    trusts_checkpoints: bool = False,
) -> DataFrame:
    """Translate each position.

    No unread record has its only copies before ``downstream``. ``exact`` means: the copy of the first unread record is
    at ``downstream``, each unread record has a copy, and no record is read again.

    Args:
        positions: topic (of the source), kafka_partition, position (long), and any others
        partitions: dataset ``mirror_partitions``
        of: what ``combine_known`` returns for ``partitions``
        checkpoints: topic (of the source), kafka_partition, upstream, downstream; or None
        trusts_checkpoints: for a lost source, whether checkpoints also count before the first mapping, where they may
            skip records

    Returns:
        ``positions`` with target_topic, target_start, target_end (null: there is no remote partition), downstream (the
        lower bound; null: unknown), upper, missing (unread records without a copy; null: unknown), exact, max_rereads,
        method, claimed (the source offset of the record copied to ``downstream``; null: unknown)
    """
    facts = partitions.select(*KEY, *PARTITION, "source_end", "stored", "drained")
    believed = None if checkpoints is None else checkpoints.join(F.broadcast(of.anew), list(KEY), "left_anti")
    bounds = bound_offsets(
        positions, partitions, of.elements, of.uncovered, believed, trusts_checkpoints=trusts_checkpoints
    )
    return _decide(bounds.join(F.broadcast(facts), list(KEY), "left")).select(*positions.columns, *TRANSLATED)


def _decide(bounds: DataFrame) -> DataFrame:
    lower, is_lost = F.col("lower"), F.col("source_end").isNull()
    absent = F.col("target_end").isNull() & F.col("target_topic").isNotNull()
    left = F.greatest(F.col("source_end") - F.col("position"), F.lit(0))
    missing = F.when(absent, left).otherwise(F.col("missing"))
    # Copies between mappings are only presumed.
    is_shown = F.coalesce(F.col("unshown") == 0, F.col("position") > F.col("stored"), is_lost, F.expr("false"))
    missing = F.when(is_shown | absent, missing)
    proved = is_shown & F.col("drained") & (lower == F.col("upper")) & (missing == 0) & (F.col("max_rereads") == 0)
    exact = F.coalesce(proved, F.expr("false"))
    return bounds.withColumns(
        {
            "downstream": lower,
            # A lost source may have replaced an earlier one, and a group's position is a checkpoint: the group may have
            # read all records since.
            "upper": F.when(is_lost | ~is_shown, F.col("target_end")).otherwise(F.col("upper")),
            "missing": missing,
            "exact": exact,
            "max_rereads": F.when(is_lost, F.col("target_end") - lower).otherwise(F.col("max_rereads")),
            "method": _method(lower, exact),
        }
    )


def method_of_kind() -> Column:
    """A map column of methods, by kind of element."""
    return F.create_map(*[F.lit(word) for kind, method in _METHODS.items() for word in (kind, method.value)])


def _method(lower: Column, exact: Column) -> Column:
    return (
        F.when(lower.isNull(), F.lit(Method.NONE.value))
        .when(exact & (lower == F.col("target_end")), F.lit(Method.END.value))
        .when(F.col("kind").isNull(), F.lit(Method.END.value))
        .otherwise(method_of_kind()[F.col("kind")])
    )


def translate_by_checkpoints(positions: DataFrame, partitions: DataFrame, *, trusts_checkpoints: bool) -> DataFrame:
    """Translate the positions of checkpoints.

    A checkpoint may be older than the topic or than the last rewind; then records may be skipped.

    Args:
        positions: target_topic, kafka_partition, position, checkpoint (null: it has no offset), and any others, of all
            groups: checkpoints of one group also translate positions of other groups
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

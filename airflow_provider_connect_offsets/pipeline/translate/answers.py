"""Translated offsets: for each position an interval in the remote topic, with what it rests on."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from airflow_provider_connect_offsets.offsets.requests.failover import Method
from airflow_provider_connect_offsets.pipeline.events import KEY
from airflow_provider_connect_offsets.pipeline.frames import worked_out
from airflow_provider_connect_offsets.pipeline.translate.bounds import CHECKPOINT, bounded
from airflow_provider_connect_offsets.pipeline.translate.elements import POINT, RECORD, RUN, STRETCH, elements
from airflow_provider_connect_offsets.pipeline.translate.later import going_on, with_later
from airflow_provider_connect_offsets.pipeline.translate.mappings import created_anew, known_mappings
from airflow_provider_connect_offsets.pipeline.translate.records import remote_records, source_records
from airflow_provider_connect_offsets.pipeline.translate.uncovered import uncovered

_METHODS = {
    RUN: Method.BRACKET,
    POINT: Method.BRACKET,
    STRETCH: Method.SYNC,
    RECORD: Method.RECORD,
    CHECKPOINT: Method.CHECKPOINT,
}
#: Of the remote partition, and all of an answer.
PARTITION = ("target_topic", "target_start", "target_end")
ANSWER = (*PARTITION, "downstream", "upper", "missing", "exact", "max_rereads", "method", "claimed")


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of each partition: its elements (of ``with_later``), and what has no copy (of ``uncovered``).

    ``anew``: partitions that were created anew since, on either side, as their offset syncs show.
    """

    elements: DataFrame
    uncovered: DataFrame
    anew: DataFrame


def known(
    partitions: DataFrame, *, syncs: DataFrame, digests: DataFrame | None = None, kept: DataFrame | None = None
) -> Known:
    """Put together what the offset mappings and the records tell.

    partitions: dataset ``mirror_partitions``; syncs: dataset ``offset_syncs``; kept: dataset ``kept_mappings``, or None
    digests: dataset ``record_digests``, of each partition from ``source_from`` and ``target_from`` on; None: nothing
    was read

    It is worked out at once, step by step, as each of them asks for the one before it several times.
    """
    mappings, anew = worked_out(known_mappings(syncs, partitions, kept)), created_anew(syncs, partitions)
    if digests is None:
        unread = partitions.withColumns(dict.fromkeys(("source_from", "target_from"), F.lit(None).cast("long")))
        found = worked_out(elements(unread, mappings))
        return Known(worked_out(with_later(found)), worked_out(uncovered(unread, found)), anew)
    source = source_records(digests)
    records = worked_out(remote_records(digests, partitions, mappings))
    found = worked_out(elements(partitions, mappings, records, source))
    return Known(worked_out(with_later(going_on(found))), worked_out(uncovered(partitions, found, source)), anew)


def answers(
    positions: DataFrame,
    partitions: DataFrame,
    of: Known,
    checkpoints: DataFrame | None = None,
    *,
    trusts_checkpoints: bool = False,
) -> DataFrame:
    """Translate each position.

    positions: topic (of the source), kafka_partition, position (long; the next record to be read), and whatever else
    partitions: dataset ``mirror_partitions``; of: what is ``known`` of them
    checkpoints: topic (of the source), kafka_partition, upstream, downstream; or None
    trusts_checkpoints: of a source that is gone, they also count before the first mapping, where nothing shows whether
    records may be skipped
    returns: positions + target_topic, target_start, target_end (null: there is no remote partition), downstream (the
    lower bound; null: nothing is known), upper, missing (unread records without a copy; null: not known), exact,
    max_rereads, method, claimed (the record whose copy stands at ``downstream``; null: that is not told)

    No unread record that has a copy stands before ``downstream`` only. ``exact`` says that the first one stands there,
    that none is without a copy, and none is read again.
    """
    facts = partitions.select(*KEY, *PARTITION, "source_end", "drained")
    believed = None if checkpoints is None else checkpoints.join(F.broadcast(of.anew), list(KEY), "left_anti")
    found = bounded(positions, partitions, of.elements, of.uncovered, believed, trusts_checkpoints=trusts_checkpoints)
    return _decided(found.join(F.broadcast(facts), list(KEY), "left")).select(*positions.columns, *ANSWER)


def _decided(found: DataFrame) -> DataFrame:
    lower, is_lost = F.col("lower"), F.col("source_end").isNull()
    absent = F.col("target_end").isNull() & F.col("target_topic").isNotNull()
    left = F.greatest(F.col("source_end") - F.col("position"), F.lit(0))
    missing = F.when(absent, left).otherwise(F.col("missing"))
    proved = F.col("drained") & (lower == F.col("upper")) & (missing == 0) & (F.col("max_rereads") == 0)
    exact = F.coalesce(proved, F.expr("false"))
    return found.withColumns(
        {
            "downstream": lower,
            # Of a source that is gone nobody knows whether another one was there before it, and what is known of a
            # group is a checkpoint: it may have read all since.
            "upper": F.when(is_lost, F.col("target_end")).otherwise(F.col("upper")),
            "missing": missing,
            "exact": exact,
            "max_rereads": F.when(is_lost, F.col("target_end") - lower).otherwise(F.col("max_rereads")),
            "method": _method(lower, exact),
        }
    )


def method_of_kind() -> Column:
    """What an answer by an element of each kind is called: a map."""
    return F.create_map(*[F.lit(word) for kind, method in _METHODS.items() for word in (kind, method.value)])


def _method(lower: Column, exact: Column) -> Column:
    by = method_of_kind()
    return (
        F.when(lower.isNull(), F.lit(Method.NONE.value))
        .when(exact & (lower == F.col("target_end")), F.lit(Method.END.value))
        .when(F.col("kind").isNull(), F.lit(Method.END.value))
        .otherwise(by[F.col("kind")])
    )

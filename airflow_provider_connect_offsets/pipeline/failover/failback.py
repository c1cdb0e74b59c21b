"""Failback: translate positions in remote topics by the flow from home, and all others by the flow that leads back."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from airflow_provider_connect_offsets.offsets.requests.failover import Method
from airflow_provider_connect_offsets.pipeline.events import KEY
from airflow_provider_connect_offsets.pipeline.translate.home import choose_ranges, positions_at_home
from airflow_provider_connect_offsets.pipeline.translate.translation import PARTITION, TRANSLATED

_ALL = (*TRANSLATED, "not_at_home", "by_records")


@dataclass(frozen=True, slots=True)
class Forward:
    """The flow from home, as it was observed.

    Attributes:
        here: dataset ``return_partitions``
        partitions: dataset ``mirror_partitions``
        elements: what ``translate.home.combine_replicated`` returns
        claims: dataset ``checked_claims``; None if no claims were checked
    """

    here: DataFrame
    partitions: DataFrame
    elements: DataFrame
    claims: DataFrame | None = None


def choose_ways(positions: DataFrame, translated: DataFrame, forward: Forward) -> DataFrame:
    """Choose for each position the flow that translates it.

    Records from home before the position are covered by the flow from home. Records produced here are covered by the
    flow that leads back, together with records that home has before their copies.

    Args:
        positions: group, topic (where the groups are), kafka_partition, position (there), and any others
        translated: what ``translation.translate`` returns for ``positions``, by the flow that leads back
        forward: the flow from home

    Returns:
        the columns of ``translated``, not_at_home (unread records that home lacks; null if the topic is not at home and
        the group has read all of it), by_records (null if the flow that leads back was chosen)
    """
    by_copies = translated.select(*positions.columns, F.struct(*TRANSLATED).alias("copied"))
    home = F.struct(*TRANSLATED, "stored_end", "by_records").alias("home")
    both = by_copies.join(F.broadcast(forward.here), list(KEY), "left").join(
        _by_origin(positions, forward).select("group", *KEY, home), ["group", *KEY], "left"
    )
    chosen = both.withColumn("chosen", _chosen())
    return chosen.select(*positions.columns, *[F.col(f"chosen.{name}").alias(name) for name in _ALL])


def forward_ranges(positions: DataFrame, forward: Forward, *, compared: int) -> DataFrame:
    """Ranges of records of the flow from home that are worth reading.

    Args:
        positions: as ``choose_ways`` takes them
        forward: the flow from home
        compared: most records to read of a remote partition

    Returns:
        what ``choose_ranges`` returns
    """
    lowest = _name_at_home(positions, forward).groupBy(*KEY).agg(F.min("position").alias("position"))
    return choose_ranges(lowest, forward.partitions, forward.elements, compared=compared)


def _name_at_home(positions: DataFrame, forward: Forward) -> DataFrame:
    """Positions in remote topics, by their topics at home; ``here``: the remote topic."""
    names = forward.partitions.select(F.col("target_topic").alias("here"), *KEY, "target_end")
    own = positions.withColumnRenamed("topic", "here").join(F.broadcast(names), ["here", "kafka_partition"])
    return own.withColumn("position", F.least("position", "target_end")).drop("target_end")


def _by_origin(positions: DataFrame, forward: Forward) -> DataFrame:
    """Positions translated by the flow from home, with the columns of ``TRANSLATED``, in which the target is home."""
    in_remote_topics = _name_at_home(positions, forward).select("group", "here", *KEY, "position")
    at_home = positions_at_home(in_remote_topics, forward.partitions, forward.elements)
    logs = forward.partitions.select(*KEY, "source_start", "source_end", (F.col("stored") + 1).alias("stored_end"))
    return at_home.join(F.broadcast(logs), list(KEY)).select(
        "group",
        F.col("here").alias("topic"),
        "kafka_partition",
        F.col("topic").alias("target_topic"),
        F.col("source_start").alias("target_start"),
        F.col("source_end").alias("target_end"),
        "downstream",
        F.when(F.col("exact"), F.col("downstream")).alias("upper"),
        F.lit(None).cast("long").alias("missing"),
        "exact",
        "max_rereads",
        "method",
        "claimed",
        "stored_end",
        "by_records",
    )


def _chosen() -> Column:
    """The translated offset, and the unread records that home lacks, from ``copied``, ``home`` and ``here``."""
    on_the_spot = F.col("log_end") > F.col("forward_end")
    beyond = on_the_spot & (F.col("position") >= F.col("forward_end"))
    has_copies = F.col("copied.target_end").isNotNull()
    left = F.greatest(F.col("log_end") - F.col("position"), F.lit(0))
    return (
        F.when(F.col("forward_end").isNull(), _resume_by_copies(F.when(~has_copies & (left > 0), left)))
        .when(
            beyond & has_copies & F.col("copied_from").isNotNull() & (F.col("left_behind") > 0), _resume_at_stored_end()
        )
        .when(beyond & has_copies, _resume_by_copies(F.when(has_copies, F.lit(0))))
        .otherwise(_resume_at_home(on_the_spot, has_copies, left))
    )


def _resume_by_copies(not_at_home: Column) -> Column:
    own = [F.col(f"copied.{name}").alias(name) for name in TRANSLATED]
    by_records = F.lit(None).cast("boolean").alias("by_records")
    return F.struct(*own, not_at_home.cast("long").alias("not_at_home"), by_records)


def _resume_at_stored_end() -> Column:
    """Resume at the first record at home that was never replicated; the copies come after it."""
    begins = F.col("home.stored_end")
    return _struct(
        downstream=begins,
        upper=F.lit(None),
        missing=F.lit(0),
        exact=F.expr("false"),
        max_rereads=F.col("home.target_end") - begins,
        not_at_home=F.lit(0),
        method=F.lit(Method.SYNC.value),
        claimed=F.lit(None),
        by_records=F.expr("false"),
    )


def _resume_at_home(on_the_spot: Column, has_copies: Column, left: Column) -> Column:
    offset, start = F.col("home.downstream"), F.col("home.target_start")
    read_all = F.col("position") >= F.col("forward_end")
    gone = F.when(~read_all & (offset < start), start - offset).otherwise(F.lit(0))
    # Only one flow copies all records; a record without a known copy at home counts as missing there.
    copied = has_copies & F.col("copied_from").isNotNull() & (F.col("copied_from") <= F.col("forward_end"))
    rest = F.when(on_the_spot & ~copied, F.least(left, F.col("log_end") - F.col("forward_end"))).otherwise(F.lit(0))
    again = F.coalesce(F.col("copied_from") < F.least("position", "forward_end"), F.expr("false"))
    begins = F.when(offset.isNotNull(), F.greatest(offset, start))
    to_the_end = F.col("home.target_end") - begins
    rereads = F.when(again, to_the_end).otherwise(F.least("home.max_rereads", to_the_end))
    # If home's log is empty, no record can be skipped or read again.
    empty = start == F.col("home.target_end")
    exact = F.coalesce((F.col("home.exact") | empty) & (rereads == 0), F.expr("false"))
    return _struct(
        downstream=begins,
        upper=F.when(exact, begins),
        missing=gone + rest,
        exact=exact,
        max_rereads=rereads,
        not_at_home=gone + rest,
        method=F.col("home.method"),
        claimed=F.when(offset >= start, F.col("home.claimed")),
        by_records=F.coalesce(F.col("home.by_records"), F.expr("false")),
    )


def _struct(**values: Column) -> Column:
    """A struct of these values and the partition at home, in the order of ``_ALL``."""
    types = {"exact": "boolean", "method": "string", "by_records": "boolean"}
    fields = {name: value.cast(types.get(name, "long")) for name, value in values.items()}
    home = {name: F.col(f"home.{name}") for name in PARTITION}
    return F.struct(*[{**home, **fields}[name].alias(name) for name in _ALL])

"""Failback: translate positions in remote topics to their source topics; all others by the flow that leads back."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from airflow_provider_connect_offsets.offsets.requests.failover import Method
from airflow_provider_connect_offsets.pipeline.events import KEY
from airflow_provider_connect_offsets.pipeline.translate.answers import ANSWER, PARTITION
from airflow_provider_connect_offsets.pipeline.translate.home import places_at_home, worth_reading

_ALL = (*ANSWER, "not_at_home", "by_records")


@dataclass(frozen=True, slots=True)
class Forward:
    """What was seen of the flow from home.

    ``here``: dataset ``return_partitions``; ``partitions``: its dataset ``mirror_partitions``; ``elements``: what its
    syncs, records and kept mappings tell, of ``translate.home.replicated``; ``claims``: dataset ``checked_claims``,
    where there is one.
    """

    here: DataFrame
    partitions: DataFrame
    elements: DataFrame
    claims: DataFrame | None = None


def both_ways(asked: DataFrame, answered: DataFrame, forward: Forward) -> DataFrame:
    """Choose for each position which flow places it.

    asked: group, topic (where the groups are), kafka_partition, position (there), and whatever else
    answered: what ``translate.answers.answers`` gives for all of ``asked``, by the flow that leads back
    returns: as ``answered``, with not_at_home (how many records that the group has not read aren't at home; null: its
    topic isn't there, and nothing of it is left to be read) and by_records (null: the flow that leads back tells it)

    What came from home and stands before the position is told by the flow from home; what was produced on the spot by
    the other one, with what home itself holds before its copies.
    """
    by_copies = answered.select(*asked.columns, F.struct(*ANSWER).alias("copied"))
    both = by_copies.join(F.broadcast(forward.here), list(KEY), "left").join(
        _by_origin(asked, forward).select("group", *KEY, F.struct(*ANSWER, "stored_end", "by_records").alias("home")),
        ["group", *KEY],
        "left",
    )
    chosen = both.withColumn("place", _chosen())
    return chosen.select(*asked.columns, *[F.col(f"place.{name}").alias(name) for name in _ALL])


def forward_ranges(asked: DataFrame, forward: Forward, *, compared: int) -> DataFrame:
    """Give what is worth reading of the flow from home, for positions as ``both_ways`` takes them.

    returns: of ``worth_reading``
    """
    lowest = _named(asked, forward).groupBy(*KEY).agg(F.min("position").alias("position"))
    return worth_reading(lowest, forward.partitions, forward.elements, compared=compared)


def _named(asked: DataFrame, forward: Forward) -> DataFrame:
    """Positions of remote topics, by the topics at home; ``here``: what the topic is called where the groups are."""
    names = forward.partitions.select(F.col("target_topic").alias("here"), *KEY, "target_end")
    own = asked.withColumnRenamed("topic", "here").join(F.broadcast(names), ["here", "kafka_partition"])
    return own.withColumn("position", F.least("position", "target_end")).drop("target_end")


def _by_origin(asked: DataFrame, forward: Forward) -> DataFrame:
    """Places at home, as the flow from home tells them; target_ is what ``answers`` calls the cluster they go to."""
    asked_there = _named(asked, forward).select("group", "here", *KEY, "position")
    found = places_at_home(asked_there, forward.partitions, forward.elements)
    logs = forward.partitions.select(*KEY, "source_start", "source_end", (F.col("stored") + 1).alias("stored_end"))
    return found.join(F.broadcast(logs), list(KEY)).select(
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
    """The place, and what is missing at home, of a row with ``copied``, ``home`` and what ``here`` tells."""
    on_the_spot = F.col("log_end") > F.col("forward_end")
    beyond = on_the_spot & (F.col("position") >= F.col("forward_end"))
    has_copies = F.col("copied.target_end").isNotNull()
    left = F.greatest(F.col("log_end") - F.col("position"), F.lit(0))
    return (
        F.when(F.col("forward_end").isNull(), _copied(F.when(~has_copies & (left > 0), left)))
        .when(beyond & has_copies & F.col("copied_from").isNotNull() & (F.col("left_behind") > 0), _left_behind())
        .when(beyond & has_copies, _copied(F.when(has_copies, F.lit(0))))
        .otherwise(_at_home(on_the_spot, has_copies, left))
    )


def _copied(not_at_home: Column) -> Column:
    own = [F.col(f"copied.{name}").alias(name) for name in ANSWER]
    return F.struct(*own, not_at_home.cast("long").alias("not_at_home"), _unknown().alias("by_records"))


def _left_behind() -> Column:
    """Records that were never replicated stand at home before the copies: nothing of either is to be passed."""
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


def _at_home(on_the_spot: Column, has_copies: Column, left: Column) -> Column:
    place, start = F.col("home.downstream"), F.col("home.target_start")
    read_all = F.col("position") >= F.col("forward_end")
    gone = F.when(~read_all & (place < start), start - place).otherwise(F.lit(0))
    # Copies of everything come from one flow only; of what isn't found at home nobody knows that it is there.
    copied = has_copies & F.col("copied_from").isNotNull() & (F.col("copied_from") <= F.col("forward_end"))
    rest = F.when(on_the_spot & ~copied, F.least(left, F.col("log_end") - F.col("forward_end"))).otherwise(F.lit(0))
    again = F.coalesce(F.col("copied_from") < F.least("position", "forward_end"), F.expr("false"))
    begins = F.when(place.isNotNull(), F.greatest(place, start))
    to_the_end = F.col("home.target_end") - begins
    rereads = F.when(again, to_the_end).otherwise(F.least("home.max_rereads", to_the_end))
    # Where home has no record left, none can be passed, nor read again.
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
        claimed=F.when(place >= start, F.col("home.claimed")),
        by_records=F.coalesce(F.col("home.by_records"), F.expr("false")),
    )


def _unknown() -> Column:
    return F.lit(None).cast("boolean")


def _struct(**told: Column) -> Column:
    """A place at home, in the order of the columns."""
    types = {"exact": "boolean", "method": "string", "by_records": "boolean"}
    known = {name: value.cast(types.get(name, "long")) for name, value in told.items()}
    home = {name: F.col(f"home.{name}") for name in PARTITION}
    return F.struct(*[{**home, **known}[name].alias(name) for name in _ALL])

"""Claims that rest on pairs of offsets alone: some of them are picked, and both records of each compared.

What is picked depends on nothing but the claims and a seed, so that a task that is run again picks the same.
"""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from airflow_provider_connect_offsets.offsets.flow import Side
from airflow_provider_connect_offsets.offsets.requests.failover import Method
from airflow_provider_connect_offsets.pipeline.events import KEY
from airflow_provider_connect_offsets.pipeline.frames import shaped
from airflow_provider_connect_offsets.workspace.flow_schemas import SAMPLED_CLAIMS

#: How many claims are picked at most, of all partitions together.
LIMIT = 1000
_CLAIM = ("target_topic", *KEY, "upstream", "downstream")


def claims_of(rows: DataFrame) -> DataFrame:
    """Claims that rest on mappings of the flow that leads to where the groups go.

    rows: of ``failover.translated``; returns: topic, target_topic, kafka_partition, upstream, downstream
    """
    return _claims(rows.where(F.col("by_records").isNull())).distinct()


def claims_of_home(rows: DataFrame) -> DataFrame:
    """Claims of a failback that rest on mappings of the flow from home, as that flow has them.

    rows: of ``failover.translated``; returns: as ``claims_of``, topic and upstream at home
    """
    return claims_at_home(_claims(rows.where(~F.col("by_records")))).select(*_CLAIM).distinct()


def _claims(rows: DataFrame) -> DataFrame:
    """By offset mappings: the record at ``claimed`` of the one log is that at ``downstream`` of the other one."""
    told = rows.where((F.col("method") == Method.BRACKET.value) & F.col("claimed").isNotNull())
    named = {"source_topic": "topic", "claimed": "upstream"}
    return told.drop("upstream").withColumnsRenamed(named).select(*_CLAIM)


def claims_at_home(claims: DataFrame) -> DataFrame:
    """The same claims the other way round: topic and target_topic, upstream and downstream change places."""
    turned = {"target_topic": "topic", "topic": "target_topic", "upstream": "downstream", "downstream": "upstream"}
    rest = [name for name in claims.columns if name not in turned]
    return claims.select(*[F.col(was).alias(name) for name, was in turned.items()], *rest)


def sampled_claims(claims: DataFrame, ranges: DataFrame | None, *, seed: str) -> DataFrame:
    """Dataset ``sampled_claims``: places by brackets whose records will not be read, all of them up to a limit.

    claims: of ``claims_of`` or ``claims_of_home``; ranges: dataset ``compare_ranges`` of the same flow (None: nothing
    will be read)

    Beyond the limit chance decides, partition by partition in turn: each has one before any has two. ``exact`` is not
    asked for, as nothing is before replication is drained.
    """
    if ranges is not None:
        read_from = F.broadcast(ranges.select(*KEY, "source_from", "target_from"))
        read = (F.col("upstream") >= F.col("source_from")) & (F.col("downstream") >= F.col("target_from"))
        claims = claims.join(read_from, list(KEY), "left").where(~F.coalesce(read, F.expr("false")))
    in_turn = Window.partitionBy(*KEY).orderBy("chance", "upstream", "downstream")
    picked = (
        claims.withColumn("chance", F.xxhash64(F.lit(seed), *_CLAIM))
        .withColumn("turn", F.row_number().over(in_turn))
        # Told how many of a partition are of use at most, Catalyst leaves out the others before it shuffles.
        .where(F.col("turn") <= LIMIT)
        .orderBy("turn", "chance", *_CLAIM)
        .limit(LIMIT)
    )
    return shaped(picked, SAMPLED_CLAIMS)


def with_checked_claims(rows: DataFrame, checked: DataFrame) -> DataFrame:
    """Tell of each row whose claim was picked what came of it; of a claim that has changed since nothing is known.

    rows: as of ``failover.translated``, with checked and mismatched; checked: dataset ``checked_claims``
    returns: rows, with checked and mismatched also where the records of the claim were compared
    """
    named = {"topic": "source_topic", "upstream": "claimed"}
    told = F.broadcast(checked.where("same is not null").withColumnsRenamed(named))
    found = rows.join(told, ["target_topic", "source_topic", "kafka_partition", "claimed", "downstream"], "left")
    return found.withColumns(
        {
            "checked": F.col("checked") | F.col("same").isNotNull(),
            "mismatched": F.col("mismatched") | F.coalesce(~F.col("same"), F.expr("false")),
        }
    ).drop("same")


def mismatches(exact: DataFrame, digests: DataFrame) -> DataFrame:
    """Find claims that the records disprove.

    exact: topic, kafka_partition, claimed, downstream, and whatever else
    digests: dataset ``record_digests``
    returns: exact + checked (both records were read), mismatched (they are not the same)
    """
    source = _at(digests, Side.SOURCE, "claimed", "source_digest")
    target = _at(digests, Side.TARGET, "downstream", "target_digest")
    both = exact.join(source, [*KEY, "claimed"], "left").join(target, [*KEY, "downstream"], "left")
    checked = F.col("source_digest").isNotNull() & F.col("target_digest").isNotNull()
    return both.select(
        *exact.columns,
        checked.alias("checked"),
        (checked & (F.col("source_digest") != F.col("target_digest"))).alias("mismatched"),
    )


def _at(digests: DataFrame, side: Side, place: str, digest: str) -> DataFrame:
    own = digests.where(F.col("side") == side.value)
    return own.select(*KEY, F.col("log_offset").alias(place), F.col("digest").alias(digest))

"""Sample claims that are based on offset mappings only, and check claims against records that were read.

A claim is: the record at ``upstream`` of the source was copied to ``downstream`` of the remote topic. The sample
depends only on the claims and a seed, so a retried task draws the same one.
"""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from airflow_provider_connect_offsets.offsets.flow import Side
from airflow_provider_connect_offsets.offsets.requests.failover import Method
from airflow_provider_connect_offsets.pipeline.events import KEY
from airflow_provider_connect_offsets.pipeline.frames import conform
from airflow_provider_connect_offsets.workspace.flow_schemas import SAMPLED_CLAIMS

#: Claims in a sample, over all partitions.
LIMIT = 1000
_CLAIM = ("target_topic", *KEY, "upstream", "downstream")


def claims_of(rows: DataFrame) -> DataFrame:
    """Claims that are based on offset mappings of the flow to the cluster that the groups move to.

    Args:
        rows: what ``failover.translate_positions`` returns

    Returns:
        topic, target_topic, kafka_partition, upstream, downstream
    """
    return _claims(rows.where(F.col("by_records").isNull())).distinct()


def claims_of_home(rows: DataFrame) -> DataFrame:
    """Claims of a failback that are based on offset mappings of the flow from home, with that flow as the direction.

    Args:
        rows: what ``failover.translate_positions`` returns

    Returns:
        the columns of ``claims_of``; topic and upstream are those at home
    """
    return claims_at_home(_claims(rows.where(~F.col("by_records")))).select(*_CLAIM).distinct()


def _claims(rows: DataFrame) -> DataFrame:
    claims = rows.where((F.col("method") == Method.BRACKET.value) & F.col("claimed").isNotNull())
    names = {"source_topic": "topic", "claimed": "upstream"}
    return claims.drop("upstream").withColumnsRenamed(names).select(*_CLAIM)


def claims_at_home(claims: DataFrame) -> DataFrame:
    """Claims in the other direction: topic and target_topic, and upstream and downstream, are swapped."""
    swapped = {"target_topic": "topic", "topic": "target_topic", "upstream": "downstream", "downstream": "upstream"}
    others = [name for name in claims.columns if name not in swapped]
    return claims.select(*[F.col(old).alias(new) for new, old in swapped.items()], *others)


def sampled_claims(claims: DataFrame, ranges: DataFrame | None, *, seed: str) -> DataFrame:
    """Dataset ``sampled_claims``: claims whose records will not be read.

    Beyond ``LIMIT`` claims, sample evenly across partitions. Claims need not be ``exact``, as no claim is exact until
    replication is drained.

    Args:
        claims: what ``claims_of`` or ``claims_of_home`` returns
        ranges: dataset ``compare_ranges`` of the same flow; None if no records will be read
        seed: the seed of the sample
    """
    if ranges is not None:
        read_from = F.broadcast(ranges.select(*KEY, "source_from", "target_from"))
        read = (F.col("upstream") >= F.col("source_from")) & (F.col("downstream") >= F.col("target_from"))
        claims = claims.join(read_from, list(KEY), "left").where(~F.coalesce(read, F.expr("false")))
    in_turn = Window.partitionBy(*KEY).orderBy("chance", "upstream", "downstream")
    picked = (
        claims.withColumn("chance", F.xxhash64(F.lit(seed), *_CLAIM))
        .withColumn("turn", F.row_number().over(in_turn))
        # With this bound, Catalyst drops the other claims of a partition before it shuffles.
        .where(F.col("turn") <= LIMIT)
        .orderBy("turn", "chance", *_CLAIM)
        .limit(LIMIT)
    )
    return conform(picked, SAMPLED_CLAIMS)


def with_checked_claims(rows: DataFrame, checked: DataFrame) -> DataFrame:
    """Add the results of sampled claims; a claim that has changed since the sample counts as not checked.

    Args:
        rows: what ``failover.translate_positions`` returns, with checked and mismatched
        checked: dataset ``checked_claims``

    Returns:
        ``rows``; checked and mismatched also account for ``checked``
    """
    names = {"topic": "source_topic", "upstream": "claimed"}
    results = F.broadcast(checked.where("same is not null").withColumnsRenamed(names))
    key = ["target_topic", "source_topic", "kafka_partition", "claimed", "downstream"]
    return (
        rows.join(results, key, "left")
        .withColumns(
            {
                "checked": F.col("checked") | F.col("same").isNotNull(),
                "mismatched": F.col("mismatched") | F.coalesce(~F.col("same"), F.expr("false")),
            }
        )
        .drop("same")
    )


def mismatches(exact: DataFrame, digests: DataFrame) -> DataFrame:
    """Compare both records of each claim, if they were read.

    Args:
        exact: topic, kafka_partition, claimed, downstream, and any others
        digests: dataset ``record_digests``

    Returns:
        ``exact`` with checked (both records were read) and mismatched (they differ)
    """
    source = _at(digests, Side.SOURCE, "claimed", "source_digest")
    target = _at(digests, Side.TARGET, "downstream", "target_digest")
    both = exact.join(source, ["claimed", *KEY], "left").join(target, [*KEY, "downstream"], "left")
    checked = F.col("source_digest").isNotNull() & F.col("target_digest").isNotNull()
    return both.select(
        *exact.columns,
        checked.alias("checked"),
        (checked & (F.col("source_digest") != F.col("target_digest"))).alias("mismatched"),
    )


def _at(digests: DataFrame, side: Side, offset: str, digest: str) -> DataFrame:
    own = digests.where(F.col("side") == side.value)
    return own.select(*KEY, F.col("log_offset").alias(offset), F.col("digest").alias(digest))

"""Translate each position of a group in a failover, and decide whether it is committed on the target."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from airflow_provider_connect_offsets.exceptions import DatasetError
from airflow_provider_connect_offsets.offsets.requests.failover import FailoverRequest, Method, Mode, Move
from airflow_provider_connect_offsets.pipeline.events import KEY
from airflow_provider_connect_offsets.pipeline.failover.failback import choose_ways
from airflow_provider_connect_offsets.pipeline.failover.observed import ObservedFlow
from airflow_provider_connect_offsets.pipeline.failover.sampling import claims_at_home, mismatches, with_checked_claims
from airflow_provider_connect_offsets.pipeline.failover.unplanned import PositionOf
from airflow_provider_connect_offsets.pipeline.frames import matches_whole
from airflow_provider_connect_offsets.pipeline.translate.records import MARGIN
from airflow_provider_connect_offsets.pipeline.translate.translation import translate, translate_by_checkpoints
from airflow_provider_connect_offsets.pipeline.verdicts import sentence

_REASONS = {
    Method.END: "the group has read all replicated records",
    Method.BRACKET: "it lies between two offset mappings with the same distance on both clusters",
    Method.RECORD: "the records themselves prove it",
    Method.SYNC: "it resumes at the nearest offset sync before it",
    Method.CHECKPOINT: "it resumes at the nearest checkpoint before it",
}
#: The reason if there is no offset mapping, and only records could translate a position; the topic's name follows it.
NO_SYNC = "no offset sync translates it to "
#: The reason if the group's offset on the target is higher; that offset follows it.
FURTHER = "on the target it is already at "
# Source and time of a position that was not read from the source cluster.
_AGE = {"position_of": "string", "position_at": "timestamp"}


def without_source(partitions: DataFrame) -> DataFrame:
    """Dataset ``mirror_partitions``, with constants in the columns that are unknown without the source.

    Catalyst then removes expressions that depend on these columns.
    """
    names = (
        "source_start",
        "source_end",
        "stored",
        "origin_upstream",
        "origin_downstream",
        "source_from",
    )
    unknown = dict.fromkeys(names, F.lit(None).cast("long"))
    return partitions.withColumns({**unknown, "drained": F.expr("false")})


def queried_positions(request: FailoverRequest, observed: ObservedFlow) -> DataFrame:
    """The positions to translate: those committed on the source, or in an unplanned failover the last known positions.

    Returns:
        group, topic (of the source), kafka_partition, position, checkpoint (offset of MirrorMaker 2's checkpoint; null
        if there is none)
    """
    names = F.broadcast(observed.partitions.select("target_topic", *KEY))
    if observed.remains is None:
        known = _by_checkpoints(observed)
    else:
        known = observed.remains.positions(_by_checkpoints(observed, "log_offset"))
    known = known.join(names, ["target_topic", "kafka_partition"]).drop("target_topic")
    if request.mode is Mode.PLANNED:
        own = observed.group_offsets.where(F.col("kafka_cluster") == request.flow.source_alias)
        own = own.select("group", *KEY, F.col("offset").alias("position"))
        positions = own.join(known.select("group", *KEY, "checkpoint"), ["group", *KEY], "left")
    else:
        positions = known.where("position >= 0")
    return _select_requested(positions, request)


def _by_checkpoints(observed: ObservedFlow, *more: str) -> DataFrame:
    """Positions according to the last checkpoints.

    Returns group, target_topic, kafka_partition, position, checkpoint (null: the checkpoint has no offset),
    position_of, position_at, and ``more`` columns of ``latest``.
    """
    checkpoint = F.when(F.col("downstream") >= 0, F.col("downstream")).alias("checkpoint")
    names = F.col("topic").alias("target_topic"), "kafka_partition", F.col("upstream").alias("position")
    age = F.lit(PositionOf.CHECKPOINT.value).alias("position_of"), F.col("log_timestamp").alias("position_at")
    return observed.latest.select("group", *names, checkpoint, *age, *more)


def _select_requested(positions: DataFrame, request: FailoverRequest) -> DataFrame:
    of_groups = positions.where(matches_whole(F.col("group"), request.groups))
    return of_groups if request.topics is None else of_groups.where(matches_whole(F.col("topic"), request.topics))


def translate_positions(request: FailoverRequest, observed: ObservedFlow) -> DataFrame:
    """Translate all positions of the request.

    Returns:
        the columns of dataset ``translation``, and by_records, claimed, checkpoint, checkpoint_rereads, checked (the
        records of the claim were compared), mismatched (they differ)
    """
    rows = _translate(request, observed)
    rows = rows.withColumns({name: F.lit(None).cast(kind) for name, kind in _AGE.items() if name not in rows.columns})
    exact = F.col("exact") & (F.col("downstream") >= F.col("target_start"))
    begins = F.when(F.col("downstream").isNotNull(), F.greatest("downstream", "target_start"))
    claimed = F.when(begins == F.col("downstream"), F.col("claimed"))
    within = rows.withColumns({"downstream": begins, "exact": exact, "claimed": claimed})
    known = _with_contradictions(within, observed).join(
        _before(request, observed), ["group", "target_topic", "kafka_partition"], "left"
    )
    return _compare_claims(_decide(known, request, observed), observed)


def _translate(request: FailoverRequest, observed: ObservedFlow) -> DataFrame:
    nothing = {"not_at_home": F.lit(None).cast("long"), "by_records": F.lit(None).cast("boolean")}
    trusts = request.trust_checkpoints
    partitions = observed.partitions
    if observed.known is None:
        rows = translate_by_checkpoints(_by_checkpoints(observed), partitions, trusts_checkpoints=trusts)
        return _select_requested(rows.where("position >= 0"), request).withColumns(nothing)
    positions, checkpoints = queried_positions(request, observed), _by_source_topic(observed)
    if observed.lost is not None:
        return observed.lost.translate(positions, checkpoints, trusts_checkpoints=trusts).withColumns(nothing)
    rows = translate(positions, partitions, observed.known, checkpoints, trusts_checkpoints=trusts)
    return rows.withColumns(nothing) if observed.forward is None else choose_ways(positions, rows, observed.forward)


def _with_contradictions(rows: DataFrame, observed: ObservedFlow) -> DataFrame:
    """Add contradicted: the offset sync that the records contradict, if it makes a translated offset uncertain."""
    if observed.known is None:
        unknown = "struct<downstream: bigint, upstream: bigint>"
        return rows.withColumn("contradicted", F.lit(None).cast(unknown))
    joined = rows.join(F.broadcast(observed.known.contradicted), list(KEY), "left")
    own = F.col("by_records").isNull() & (F.col("downstream") <= F.col("contradicted.downstream"))
    open_there = own & ~F.col("downstream").eqNullSafe(F.col("upper"))
    unknown_there = F.col("by_records").isNull() & F.col("downstream").isNull()
    return joined.withColumn("contradicted", F.when(open_there | unknown_there, F.col("contradicted")))


def compare_ranges(request: FailoverRequest, observed: ObservedFlow) -> DataFrame:
    """Ranges of records of both logs that are worth reading to prove translated offsets.

    Returns:
        topic, kafka_partition, target_topic, source_from, target_from

    Raises:
        DatasetError: the source is lost
    """
    if observed.known is None:
        raise DatasetError("records of a lost source can't be compared")
    lowest = queried_positions(request, observed).groupBy(*KEY).agg(F.min("position").alias("lowest"))
    logs = observed.partitions.where("source_end is not null").select(*KEY, "source_start", "source_end")
    first = F.greatest(
        F.col("lowest") - MARGIN, F.col("source_end") - request.compared, F.col("source_start"), F.lit(0)
    )
    source_from = lowest.join(F.broadcast(logs), list(KEY)).select(*KEY, first.alias("position"))
    return translate(source_from, observed.partitions, observed.known).select(
        *KEY,
        "target_topic",
        F.col("position").alias("source_from"),
        F.coalesce("downstream", "target_start").alias("target_from"),
    )


def _decide(known: DataFrame, request: FailoverRequest, observed: ObservedFlow) -> DataFrame:
    """Decide the action, and give its reason."""
    stays = _reason_to_stay(request)
    settled = F.col("target_before").eqNullSafe(F.col("downstream")) & F.col("downstream").isNotNull()
    joined = known.join(F.broadcast(observed.members), "group", "left")
    judged = joined.withColumns({"stays": stays, "settled": settled})
    # A partition that the target lacks is not covered if it has unread records, and does not count if it has none.
    lacking = F.col("target_end").isNull() & (F.col("missing") > 0)
    replicated = F.col("target_end").isNotNull() | lacking
    commits = F.col("stays").isNull() & ~F.col("settled")
    return judged.select(
        "by_records",
        "group",
        F.col("topic").alias("source_topic"),
        F.coalesce("target_topic", F.lit("")).alias("target_topic"),
        "kafka_partition",
        F.col("position").alias("upstream"),
        "downstream",
        "upper",
        "missing",
        F.coalesce("exact", F.expr("false")).alias("exact"),
        "max_rereads",
        F.coalesce("method", F.lit(Method.NONE.value)).alias("method"),
        F.when(commits, F.lit(Move.COMMIT.value)).otherwise(F.lit(Move.SKIP.value)).alias("action"),
        F.coalesce("stays", F.when(F.col("settled"), F.lit("it is already there")), _reason()).alias("reason"),
        F.when(replicated | F.col("not_at_home").isNotNull(), F.col("stays").isNull()).alias("covered"),
        "target_before",
        *_AGE,
        "claimed",
        "checkpoint",
        F.when(F.col("exact"), F.greatest(F.col("downstream") - F.col("checkpoint"), F.lit(0))).alias(
            "checkpoint_rereads"
        ),
    )


def _reason_to_stay(request: FailoverRequest) -> Column:
    """Why a partition's offset on the target is left alone; null if the translated offset may be committed."""
    remote_partition = sentence("the remote topic {target_topic}")
    back = sentence(
        FURTHER + "{target_before:number}, {at_most}{ahead:record} further: to move it back, select the group with the "
        "Param rewind",
        at_most=F.when(F.col("max_rereads") > 0, F.lit("at most ")).otherwise(F.lit("")),
        ahead=F.col("target_before") - F.col("downstream"),
    )
    further = F.col("target_before") > F.col("downstream")
    may_go_back = F.expr("false") if request.rewind is None else matches_whole(F.col("group"), request.rewind)
    unread = sentence(
        "the target lacks {not_at_home:record} that the group has not read: let the group read first, or replicate more"
    )
    absent = sentence("the target has no partition {kafka_partition} of {target_topic}")
    uncopied = sentence(", so it has no copy of {missing:record} that the group has not read")
    lacking = F.concat(absent, F.coalesce(uncopied, F.lit("")))  # missing may be unknown, and a null would be no reason
    untrusted = sentence(
        "only MirrorMaker 2's checkpoint translates it to the remote topic {target_topic}: offset {checkpoint:number}, "
        "which may skip records. To let it resume there, set the Param trust_checkpoints"
    )
    doubtful = sentence(
        "an offset sync and the records contradict each other: according to the sync, offset {copy:number} of the "
        "remote topic {target_topic} is the copy of offset {original:number}, but their records differ. Either the "
        "topic has been recreated, or a converter, a transformation or LogAppendTime has changed copies. Compare both "
        "records, then set the offset with the DAG group_offsets_change",
        copy=F.col("contradicted.downstream"),
        original=F.col("contradicted.upstream"),
    )
    return (
        F.when(F.col("not_at_home") > 0, unread)
        .when(F.col("target_end").isNull() & F.col("target_topic").isNotNull(), lacking)
        .when(F.col("target_end").isNull(), F.lit("its topic has no remote topic on the target"))
        .when(F.col("target_kind").isNotNull(), sentence("on the target it isn't a consumer group but {target_kind}"))
        .when(F.col("on_target"), F.lit("it has members on the target: stop them first"))
        .when(F.col("on_source"), F.lit("it has members on the source, which keep reading there: stop them first"))
        .when(doubtful.isNotNull(), doubtful)
        .when(_is_untrusted(request), untrusted)
        .when(F.col("downstream").isNull(), F.concat(F.lit(NO_SYNC), remote_partition))
        .when(F.col("downstream") > F.col("target_end"), F.concat(remote_partition, F.lit(" ends before that offset")))
        .when(further & ~may_go_back, back)
    )


def _is_untrusted(request: FailoverRequest) -> Column:
    """Whether only a checkpoint translates the position, and the request does not trust checkpoints."""
    if request.trust_checkpoints or request.mode is not Mode.UNPLANNED:
        return F.expr("false")
    has_checkpoint = F.coalesce(F.col("checkpoint") <= F.col("target_end"), F.expr("false"))
    return F.col("downstream").isNull() & has_checkpoint


def _reason() -> Column:
    base = F.create_map(*[F.lit(word) for reason in _REASONS.items() for word in reason])[F.col("method")]
    again = sentence("; at most {max_rereads:record is} read again")
    # Without a comparison, a record without a copy, or a record of another writer, goes unnoticed.
    presumed = (F.col("method") == Method.BRACKET.value) & F.col("missing").isNull()
    doubt = F.when(presumed, F.lit("; the records there were not compared")).otherwise(F.coalesce(again, F.lit("")))
    return F.when(F.col("exact"), base).otherwise(F.concat(base, doubt))


def _compare_claims(rows: DataFrame, observed: ObservedFlow) -> DataFrame:
    """Compare both records of each claim, if they were read."""
    if observed.digests is None:
        checked = rows.withColumns({"checked": F.expr("false"), "mismatched": F.expr("false")})
    else:
        checked = mismatches(rows.withColumnRenamed("source_topic", "topic"), observed.digests)
        checked = checked.withColumnRenamed("topic", "source_topic")
    # In a failback, the digests are of the flow that leads back; rows of the flow from home are checked below.
    own = F.col("by_records").isNull() & F.col("exact")
    checked = checked.withColumns({name: F.col(name) & own for name in ("checked", "mismatched")})
    if observed.claims is not None:
        checked = with_checked_claims(checked, observed.claims)
    if observed.forward is not None and observed.forward.claims is not None:
        checked = with_checked_claims(checked, claims_at_home(observed.forward.claims))
    read = F.coalesce("by_records", F.expr("false"))
    return checked.withColumn("checked", F.col("checked") | (read & F.col("exact")))


def _by_source_topic(observed: ObservedFlow) -> DataFrame:
    """Checkpoints of all groups as offset mappings; they hold for the topic, whichever group reads it."""
    latest = observed.latest.where("upstream >= 0 and downstream >= 0").withColumnRenamed("topic", "target_topic")
    names = observed.partitions.select("target_topic", *KEY, "target_end")
    within = latest.join(F.broadcast(names), ["target_topic", "kafka_partition"]).where("downstream <= target_end")
    return within.select(*KEY, "upstream", "downstream")


def _before(request: FailoverRequest, observed: ObservedFlow) -> DataFrame:
    on_target = observed.group_offsets.where(F.col("kafka_cluster") == request.flow.target_alias)
    return on_target.select(
        "group", F.col("topic").alias("target_topic"), "kafka_partition", F.col("offset").alias("target_before")
    )

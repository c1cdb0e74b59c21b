"""What becomes of each group's partition in a failover: its place on the target, or why it is left alone."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from airflow_provider_connect_offsets.exceptions import DatasetError
from airflow_provider_connect_offsets.offsets.requests.failover import FailoverRequest, Method, Mode, Move
from airflow_provider_connect_offsets.pipeline.events import KEY
from airflow_provider_connect_offsets.pipeline.failover.failback import both_ways
from airflow_provider_connect_offsets.pipeline.failover.observed import ObservedFlow
from airflow_provider_connect_offsets.pipeline.failover.sampling import claims_at_home, mismatches, with_checked_claims
from airflow_provider_connect_offsets.pipeline.failover.unplanned import PositionOf
from airflow_provider_connect_offsets.pipeline.frames import matches_whole, shaped
from airflow_provider_connect_offsets.pipeline.translate.answers import answers
from airflow_provider_connect_offsets.pipeline.translate.checkpoints import answers_of_checkpoints
from airflow_provider_connect_offsets.pipeline.translate.records import MARGIN
from airflow_provider_connect_offsets.workspace.flow_schemas import TRANSLATION

_WHY = {
    Method.END: "it has read all that was replicated",
    Method.BRACKET: "it lies between two known offsets that are as far apart on either side",
    Method.RECORD: "the records themselves show it",
    Method.SYNC: "it lies behind the nearest sync before it",
    Method.CHECKPOINT: "it lies behind the nearest checkpoint before it",
}
#: Why a position has no place that only records could tell; the remote topic's name follows.
NO_SYNC = "no sync tells where it is in "
# What tells a position of which nobody can ask the group any more, and when it stood there.
_AGE = {"position_of": "string", "position_at": "timestamp"}


def without_source(partitions: DataFrame) -> DataFrame:
    """The same rows, with what a source that is gone can't tell as constants: Catalyst leaves out what asks for it.

    partitions: dataset ``mirror_partitions``
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


def asked_positions(request: FailoverRequest, seen: ObservedFlow) -> DataFrame:
    """The positions to be translated.

    returns: group, topic (of the source), kafka_partition, position, checkpoint (where MirrorMaker 2 would put the
    group, null: nowhere); of a planned failover the positions that the groups have committed on the source, of an
    unplanned one those that the checkpoints tell
    """
    names = F.broadcast(seen.partitions.select("target_topic", *KEY))
    told = _told(seen) if seen.left is None else seen.left.positions(_told(seen, "log_offset"))
    told = told.join(names, ["target_topic", "kafka_partition"]).drop("target_topic")
    if request.mode is Mode.PLANNED:
        own = seen.group_offsets.where(F.col("kafka_cluster") == request.flow.source_alias)
        own = own.select("group", *KEY, F.col("offset").alias("position"))
        found = own.join(told.select("group", *KEY, "checkpoint"), ["group", *KEY], "left")
    else:
        found = told.where("position >= 0")
    return _selected(found, request)


def _told(seen: ObservedFlow, *more: str) -> DataFrame:
    """What the last checkpoints tell.

    returns: group, target_topic, kafka_partition, position, checkpoint (null: no place), position_of, position_at, and
    more columns of ``latest``
    """
    place = F.when(F.col("downstream") >= 0, F.col("downstream")).alias("checkpoint")
    names = F.col("topic").alias("target_topic"), "kafka_partition", F.col("upstream").alias("position")
    age = F.lit(PositionOf.CHECKPOINT.value).alias("position_of"), F.col("log_timestamp").alias("position_at")
    return seen.latest.select("group", *names, place, *age, *more)


def _selected(found: DataFrame, request: FailoverRequest) -> DataFrame:
    found = found.where(matches_whole(F.col("group"), request.groups))
    return found if request.topics is None else found.where(matches_whole(F.col("topic"), request.topics))


def translated(request: FailoverRequest, seen: ObservedFlow) -> DataFrame:
    """Dataset ``translation``, with checked and mismatched (the records on either side were read, and differ)."""
    found = _answered(request, seen)
    aged = {name: F.lit(None).cast(kind) for name, kind in _AGE.items() if name not in found.columns}
    found = found.withColumns(aged)
    still_there = F.col("exact") & (F.col("downstream") >= F.col("target_start"))
    begins = F.when(F.col("downstream").isNotNull(), F.greatest("downstream", "target_start"))
    claimed = F.when(begins == F.col("downstream"), F.col("claimed"))
    within = found.withColumns({"downstream": begins, "exact": still_there, "claimed": claimed})
    known = within.join(_before(request, seen), ["group", "target_topic", "kafka_partition"], "left")
    return _checked(_judged(known, request, seen), seen)


def _answered(request: FailoverRequest, seen: ObservedFlow) -> DataFrame:
    nothing = {"not_at_home": F.lit(None).cast("long"), "by_records": F.lit(None).cast("boolean")}
    trusts = request.trust_checkpoints
    if seen.lost is not None:
        asked = asked_positions(request, seen)
        found = seen.lost.answers(asked, _by_source_topic(seen), trusts_checkpoints=trusts)
        return found.withColumns(nothing)
    if seen.known is None:
        told = answers_of_checkpoints(_told(seen), seen.partitions, trusts_checkpoints=trusts).where("position >= 0")
        return _selected(told, request).withColumns(nothing)
    asked = asked_positions(request, seen)
    found = answers(asked, seen.partitions, seen.known, _by_source_topic(seen), trusts_checkpoints=trusts)
    return found.withColumns(nothing) if seen.forward is None else both_ways(asked, found, seen.forward)


def compare_ranges(request: FailoverRequest, seen: ObservedFlow) -> DataFrame:
    """From where on the records of either log are worth reading, to prove places in them.

    returns: topic, kafka_partition, target_topic, source_from, target_from
    """
    if seen.known is None:
        raise DatasetError("of a source that is gone there are no records to be compared")
    asked = asked_positions(request, seen).groupBy(*KEY).agg(F.min("position").alias("lowest_asked"))
    known = seen.partitions.where("source_end is not null").select(*KEY, "source_start", "source_end")
    first = F.greatest(
        F.col("lowest_asked") - MARGIN, F.col("source_end") - request.compared, F.col("source_start"), F.lit(0)
    )
    from_here = asked.join(F.broadcast(known), list(KEY)).select(*KEY, first.alias("position"))
    placed = answers(from_here, seen.partitions, seen.known)
    return placed.select(
        *KEY,
        "target_topic",
        F.col("position").alias("source_from"),
        F.coalesce("downstream", "target_start").alias("target_from"),
    )


def _judged(known: DataFrame, request: FailoverRequest, seen: ObservedFlow) -> DataFrame:
    """Decide what is done, and say why."""
    stays = _reason_to_stay(request)
    settled = F.col("target_before").eqNullSafe(F.col("downstream")) & F.col("downstream").isNotNull()
    joined = known.join(F.broadcast(seen.members), "group", "left")
    judged = joined.withColumns({"stays": stays, "settled": settled})
    # Of a partition that the target lacks nothing can be moved; only where nothing is left to be read, none is wanted.
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
        F.coalesce("stays", F.when(F.col("settled"), F.lit("it stands there already")), _why()).alias("reason"),
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
    """Why a partition's offset is left as it is on the target; null where it may be committed."""
    remote_partition = F.format_string("the remote topic %s", "target_topic")
    back = F.format_string(
        "it stands at %,d there, %,d records further: let it go back with the Param rewind, if that is wanted",
        F.col("target_before"),
        F.col("target_before") - F.col("downstream"),
    )
    further = F.col("target_before") > F.col("downstream")
    may_go_back = F.expr("false") if request.rewind is None else matches_whole(F.col("group"), request.rewind)
    unread = F.format_string(
        "%,d records of it that the group has not read yet are not on the target: let it read them first, or have them "
        "replicated",
        F.col("not_at_home"),
    )
    lacking = F.format_string(
        "the target has no partition %d of %s: %,d records that the group has not read have no copy",
        F.col("kafka_partition"),
        F.col("target_topic"),
        F.col("missing"),
    )
    untrusted = F.format_string(
        "nothing but MirrorMaker 2's checkpoint tells where it is in the remote topic %s: offset %,d, which may skip "
        "records; the Param trust_checkpoints lets it go on there",
        F.col("target_topic"),
        F.col("checkpoint"),
    )
    return (
        F.when(F.col("not_at_home") > 0, unread)
        .when(F.col("target_end").isNull() & F.col("target_topic").isNotNull(), lacking)
        .when(F.col("target_end").isNull(), F.lit("its topic has no remote topic on the target"))
        .when(F.col("on_target"), F.lit("it has members on the target: stop them first"))
        .when(F.col("on_source"), F.lit("it has members on the source, so it goes on reading there: stop them first"))
        .when(_is_untrusted(request), untrusted)
        .when(F.col("downstream").isNull(), F.concat(F.lit(NO_SYNC), remote_partition))
        .when(F.col("downstream") > F.col("target_end"), F.concat(remote_partition, F.lit(" ends before that offset")))
        .when(further & ~may_go_back, back)
    )


def _is_untrusted(request: FailoverRequest) -> Column:
    """Whether a checkpoint tells of an offset, and nothing else does."""
    if request.trust_checkpoints or request.mode is not Mode.UNPLANNED:
        return F.expr("false")
    has_checkpoint = F.coalesce(F.col("checkpoint") <= F.col("target_end"), F.expr("false"))
    return F.col("downstream").isNull() & has_checkpoint


def _why() -> Column:
    told = F.create_map(*[F.lit(word) for mapping in _WHY.items() for word in mapping])
    base = told[F.col("method")]
    # Of each row: format_string takes several times as long.
    again = F.concat(F.lit("; at most "), F.format_number("max_rereads", 0), F.lit(" records are read again"))
    return F.when(F.col("exact"), base).otherwise(F.concat(base, F.coalesce(again, F.lit(""))))


def _checked(rows: DataFrame, seen: ObservedFlow) -> DataFrame:
    """Compare both records of each exact claim, as far as they were read."""
    if seen.digests is None:
        told = rows.withColumns({"checked": F.expr("false"), "mismatched": F.expr("false")})
    else:
        told = mismatches(rows.withColumnRenamed("source_topic", "topic"), seen.digests)
        told = told.withColumnRenamed("topic", "source_topic")
    # What another flow has placed, its own records tell.
    own = F.col("by_records").isNull()
    told = told.withColumns({name: F.col(name) & own for name in ("checked", "mismatched")})
    if seen.claims is not None:
        told = with_checked_claims(told, seen.claims)
    if seen.forward is not None and seen.forward.claims is not None:
        told = with_checked_claims(told, claims_at_home(seen.forward.claims))
    read = F.coalesce("by_records", F.expr("false"))
    return told.withColumns(
        {
            "checked": (F.col("checked") | read) & F.col("exact"),
            "mismatched": F.col("mismatched") & F.col("exact"),
        }
    )


def _by_source_topic(seen: ObservedFlow) -> DataFrame:
    """Checkpoints as places that are known: of any group, as they tell of the topic, not of who reads it."""
    told = seen.latest.where("upstream >= 0 and downstream >= 0").withColumnRenamed("topic", "target_topic")
    names = seen.partitions.select("target_topic", *KEY, "target_end")
    placed = told.join(F.broadcast(names), ["target_topic", "kafka_partition"]).where("downstream <= target_end")
    return placed.select(*KEY, "upstream", "downstream")


def _before(request: FailoverRequest, seen: ObservedFlow) -> DataFrame:
    on_target = seen.group_offsets.where(F.col("kafka_cluster") == request.flow.target_alias)
    return on_target.select(
        "group", F.col("topic").alias("target_topic"), "kafka_partition", F.col("offset").alias("target_before")
    )


def as_dataset(rows: DataFrame) -> DataFrame:
    """Dataset ``translation`` of what ``translated`` gives."""
    return shaped(rows, TRANSLATION)

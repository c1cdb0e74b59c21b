"""The way home: which records of the source a group has read that stands at a position of the remote topic.

It has read each record of which a copy stands before its position, and goes on at the lowest that it has not read.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from airflow_provider_connect_offsets.offsets.requests.failover import Method
from airflow_provider_connect_offsets.pipeline.events import ASKED, KEY, KNOWN, SO_FAR, asked_events, union_of
from airflow_provider_connect_offsets.pipeline.frames import worked_out
from airflow_provider_connect_offsets.pipeline.translate.answers import method_of_kind
from airflow_provider_connect_offsets.pipeline.translate.elements import BLIND, POINT, RECORD, STRETCH, elements
from airflow_provider_connect_offsets.pipeline.translate.mappings import known_mappings
from airflow_provider_connect_offsets.pipeline.translate.records import MARGIN, remote_records, source_records

# Copies of what was passed over are looked for so many times in a row.
_ROUNDS = 3
_ADDED = ("lowest", "before", "goes_to", "joined", "seen", "presumed", "held")
_READ = (
    "start",
    "end",
    "upstream",
    "certain",
    "kind",
    "goes_to",
    "joined",
    "before",
    "seen",
    "high",
    "presumed",
    "held",
)


def replicated(
    partitions: DataFrame, *, syncs: DataFrame, digests: DataFrame | None = None, kept: DataFrame | None = None
) -> DataFrame:
    """Put together what the offset mappings and the records tell of a flow that stands still, in order.

    partitions: dataset ``mirror_partitions``, ``drained`` where ``stored`` tells what was replicated last
    syncs: dataset ``offset_syncs``; kept: dataset ``kept_mappings``, or None; digests: dataset ``record_digests`` of
    what ``worth_reading`` names; None: nothing was read
    returns: elements, of ``with_earlier``, worked out
    """
    # What retention has taken of the remote topic may have been read before.
    ever = partitions.withColumn("target_start", F.when(F.col("target_end").isNotNull(), F.lit(0)).cast("long"))
    mappings = worked_out(known_mappings(syncs, ever, kept))
    if digests is None:
        unread = ever.withColumns(dict.fromkeys(("source_from", "target_from"), F.lit(None).cast("long")))
        return worked_out(with_earlier(worked_out(elements(unread, mappings)), ever))
    records = worked_out(remote_records(digests, ever, mappings))
    found = worked_out(elements(ever, mappings, records, source_records(digests)))
    return worked_out(with_earlier(found, ever))


def places_at_home(positions: DataFrame, partitions: DataFrame, found: DataFrame) -> DataFrame:
    """Place each position of a remote topic in its source.

    positions: topic (of the source), kafka_partition, position (long; in the remote topic, at most its end), and
    whatever else; partitions: dataset ``mirror_partitions``; found: of ``replicated``
    returns: positions + downstream (the place in the source; null: nothing is known), exact, max_rereads, method,
    claimed (a copy of the record at ``downstream`` stands there in the remote topic; null: that is not told),
    by_records (records that were read tell it)

    No record from the first that was ever replicated on is passed that the group has not read, as far as replication
    passed over none where nobody has looked; ``exact`` says that it passed over none, and that none is read again.
    """
    ends = partitions.select(*KEY, "target_end")
    exact = F.col("proved")
    at_the_end = exact & (F.col("position") >= F.col("target_end"))
    method = (
        F.when(F.col("lower").isNull(), F.lit(Method.NONE.value))
        .when(at_the_end, F.lit(Method.END.value))
        .otherwise(F.coalesce(method_of_kind()[F.col("kind")], F.lit(Method.BRACKET.value)))
    )
    by_records = F.col("lower").isNotNull() & F.coalesce(F.col("kind") == RECORD, F.expr("false"))
    return (
        read_up_to(positions, found, partitions)
        .join(F.broadcast(ends), list(KEY))
        .select(
            *positions.columns,
            F.col("lower").alias("downstream"),
            exact.alias("exact"),
            "max_rereads",
            method.alias("method"),
            "claimed",
            by_records.alias("by_records"),
        )
    )


def worth_reading(lowest: DataFrame, partitions: DataFrame, found: DataFrame, *, compared: int) -> DataFrame:
    """Tell from where on the records of either log are to be read, to prove places in the source.

    lowest: topic (of the source), kafka_partition, position (the lowest in the remote topic that is asked for)
    partitions: dataset ``mirror_partitions``; found: of ``replicated``
    compared: how many records of the remote topic are read at most
    returns: topic, kafka_partition, target_topic, source_from, target_from
    """
    logs = partitions.where("source_end is not null")
    first = F.greatest(F.col("position") - MARGIN, F.col("target_end") - compared, F.col("target_start"), F.lit(0))
    asked = lowest.join(F.broadcast(logs), list(KEY)).select(
        *KEY, "target_topic", "source_start", "source_end", "stored", first.alias("target_from")
    )
    along = F.col("upstream") + F.col("target_from") - F.col("start")
    low = F.when(F.col("certain") & (F.col("start") < F.col("target_from")), along).otherwise(F.col("low"))
    from_there_on = (
        found.join(F.broadcast(asked.select(*KEY, "target_from")), list(KEY))
        .where("end >= target_from")
        .groupBy(*KEY)
        .agg(F.min(low).alias("begins"))
    )
    # Nothing stands there that lies behind what is stored; with as many records again as may have been repeated.
    bound = F.least("source_end", F.coalesce("stored", F.lit(-1)) + 1) - 2 * compared
    return asked.join(from_there_on, list(KEY), "left").select(
        *KEY,
        "target_topic",
        F.greatest(F.coalesce("begins", F.lit(0)), bound, "source_start", F.lit(0)).alias("source_from"),
        "target_from",
    )


def with_earlier(found: DataFrame, partitions: DataFrame) -> DataFrame:
    """Add to each element what was replicated before it.

    found: of ``elements``, from the beginning of the remote topic on, whatever retention has taken of it since
    partitions: dataset ``mirror_partitions``
    returns: found + lowest (the lowest record of the partition that was ever replicated), before (each record from
    there to before this one has a copy before the element), goes_to (the same behind the element, where it is
    ``joined``), seen (no record from there on has a copy before it; null: nothing stands before it), presumed (up to
    here something rests on that replication passes over no record), held (offsets of all elements up to here)

    Replication goes on from where it stands, or from somewhere before, unless somebody moves it forward. That it was
    moved shows only where records were read: too few stand between two certain ones.
    """
    in_order = Window.partitionBy(*KEY).orderBy("start")
    earlier, so_far = in_order.rowsBetween(Window.unboundedPreceding, -1), in_order.rowsBetween(*SO_FAR)
    facts = partitions.select(*KEY, "source_start", "source_end", "target_end", "gapless", "transformed")
    unclear = F.when(F.col("certain"), F.lit(0)).otherwise(F.col("end") - F.col("start") + 1)
    is_record = F.col("kind") == RECORD
    seen = (
        found.join(F.broadcast(facts), list(KEY))
        .withColumns(
            {
                "come_to": _last_certain(F.col("next")).over(earlier),
                "next_to_record": F.lag(is_record).over(in_order),
                "high_before": F.lag("high").over(in_order),
                "room": F.coalesce(F.sum(unclear).over(earlier), F.lit(0)),
                "held": F.sum(F.col("end") - F.col("start") + 1).over(so_far),
                "high": _high(),
            }
        )
        .withColumn("seen", F.max(F.when(F.col("low") <= F.col("high"), F.col("high") + 1)).over(earlier))
    )
    room = F.col("room") - F.coalesce(_last_certain(F.col("room")).over(earlier), F.lit(0))
    due = F.coalesce("come_to", F.greatest("source_start", F.lit(0)))
    jump = F.col("upstream") - due
    looked = F.col("gapless") & ~F.col("transformed") & is_record & F.col("certain") & F.col("next_to_record")
    passed = F.coalesce(looked & (jump > 0) & ((room < jump) | (F.col("high_before") < due)), F.expr("false"))
    known = seen.withColumn("passed", passed).withColumns(
        {
            "chain": F.sum(F.when(F.col("passed"), 1).otherwise(0)).over(so_far),
            "presumed": F.max((~F.col("passed") & _presumes(jump)) | ~F.col("gapless")).over(so_far),
            "begins": F.coalesce(_begins(), F.when(F.col("come_to").isNull(), F.col("low"))),
        }
    )
    return _joined(known).select(*found.columns, *_ADDED)


def _high() -> Column:
    """Of a flow that broke off, the record that looks like the one stored may be another, further on.

    Where offsets may have gaps, what was not read may have come anywhere before replication went back.
    """
    doubtful = ~F.col("certain") & (F.col("kind") == POINT) & (F.col("end") == F.col("target_end") - 1)
    blind = F.col("kind") == BLIND
    far = F.col("transformed") & (blind | (F.col("kind") == STRETCH)) | ~F.col("gapless") & blind
    return F.when(doubtful | far, F.greatest("high", F.col("source_end") - 1)).otherwise(F.col("high"))


def _begins() -> Column:
    """Where an element begins; compaction may have taken copies of any records before the first one."""
    taken = ~F.col("gapless") & F.col("come_to").isNull() & (F.col("start") > 0)
    return F.when(taken & F.col("upstream").isNotNull(), F.lit(0)).otherwise(F.col("upstream"))


def _last_certain(value: Column) -> Column:
    return F.last(F.when(F.col("certain"), value), ignorenulls=True)


def _presumes(jump: Column) -> Column:
    """Whether something may have been passed over on the way to an element."""
    tells = F.col("next").isNotNull() & ~F.col("certain")
    return F.coalesce((jump > 0) | tells | (F.col("kind") == BLIND), F.expr("false"))


def _joined(known: DataFrame) -> DataFrame:
    """Tell how far all was replicated before each element, and whether it goes on from there."""
    in_order = Window.partitionBy(*KEY).orderBy("start")
    earlier, so_far = in_order.rowsBetween(Window.unboundedPreceding, -1), in_order.rowsBetween(*SO_FAR)
    lowest = F.min("begins").over(Window.partitionBy(*KEY))
    found = known.withColumn("lowest", lowest).withColumns({"before": F.col("lowest"), "goes_to": F.col("next")})
    for _ in range(_ROUNDS):
        chain = F.max(F.when(F.col("begins") <= F.col("before"), F.col("chain"))).over(so_far)
        found = found.withColumn("joined", F.coalesce(chain == F.col("chain"), F.expr("false")))
        come_to = F.max(F.when(F.col("joined"), F.col("goes_to"))).over(earlier)
        found = found.withColumn("before", F.greatest("lowest", come_to))
    return found


def read_up_to(positions: DataFrame, found: DataFrame, partitions: DataFrame) -> DataFrame:
    """Find the lowest record that groups at these positions of the remote topic have not read.

    positions: topic (of the source), kafka_partition, position (long; in the remote topic), and whatever else
    found: of ``with_earlier``; partitions: dataset ``mirror_partitions``
    returns: positions + lower (all records before it were read, but for those before the first one that was ever
    replicated; null: nothing is known), max_rereads (how many from there on were read at most), proved (none was, and
    nothing of it is presumed), kind (of the element before the position; null: nothing stands before it), claimed (the
    position, if a copy of the record at ``lower`` stands there; else null, as in the midst of what was copied again)
    """
    read = F.struct(*_READ).alias("read")
    known = found.select(*KEY, (F.col("start") + 1).alias("at"), F.lit(KNOWN).alias("event"), read)
    asked = asked_events(positions).withColumnRenamed("kind", "event")
    upwards = Window.partitionBy(*KEY).orderBy("at", "event").rowsBetween(*SO_FAR)
    lowest = found.groupBy(*KEY).agg(F.min("lowest").alias("lowest"))
    told = (
        union_of(known, asked)
        .withColumn("read", F.last("read", ignorenulls=True).over(upwards))
        .where(F.col("event") == ASKED)
        .select("asked.*", "read")
        .join(F.broadcast(partitions.select(*KEY, "source_start", "gapless")), list(KEY))
        .join(F.broadcast(lowest), list(KEY), "left")
    )
    within = F.col("position") <= F.col("read.end")
    along = F.when(F.col("read.certain"), F.col("read.upstream") + F.col("position") - F.col("read.start"))
    behind = F.when(within, along).otherwise(F.col("read.goes_to"))
    blind = F.col("read.kind") == BLIND
    place = F.coalesce(F.greatest("read.before", F.when(F.col("read.joined"), behind)), "lowest")
    lower = F.when(~F.coalesce(blind, F.expr("false")), place)
    reach = F.when(within & F.col("read.certain"), along).otherwise(F.col("read.high") + 1)
    # Where compaction may have taken copies, each offset without a record may have been one.
    held = F.when(within, F.col("read.held") - F.col("read.end") + F.col("position") - 1).otherwise(
        F.coalesce("read.held", F.lit(0))
    )
    taken = F.when(F.col("gapless"), F.lit(0)).otherwise(F.greatest(F.col("position") - held, F.lit(0)))
    reread = F.greatest(place, "read.seen", reach) - place + taken
    presumed = F.coalesce("read.presumed", F.expr("false")) | (F.col("lowest") > F.greatest("source_start", F.lit(0)))
    return told.withColumns(
        {
            "lower": lower,
            "max_rereads": F.when(lower.isNotNull(), reread),
            "proved": F.coalesce((reread == 0) & ~presumed, F.expr("false")),
            "kind": F.col("read.kind"),
            "claimed": F.when(within & (along == lower), F.col("position")),
        }
    ).select(*positions.columns, "lower", "max_rereads", "proved", "kind", "claimed")

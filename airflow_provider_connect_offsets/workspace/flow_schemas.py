"""Schemas of the datasets of MirrorMaker 2 flows: their logs, translated offsets, readiness and ledger."""

from __future__ import annotations

from airflow_provider_connect_offsets.workspace.schemas import dataset_schema

# A partition that a flow replicates. Null: ``source_*`` where the source is gone, ``target_start`` and ``target_end``
# where the target lacks the partition. ``ends_with_stored``: whether the last record of the remote topic is the one at
# ``stored`` (null: not compared); ``gapless``: neither topic is compacted; ``transformed``: a transformation may have
# dropped or changed records; ``timed``: the remote topic keeps the records' timestamps; ``source_from`` and
# ``target_from``: from which offset on the records of either log were read (null: none).
MIRROR_PARTITIONS = dataset_schema(
    "mirror_partitions",
    topic="string",
    target_topic="string",
    kafka_partition="int",
    source_start="long?",
    source_end="long?",
    stored="long?",
    drained="boolean",
    target_start="long?",
    target_end="long?",
    origin_upstream="long?",
    origin_downstream="long?",
    ends_with_stored="boolean?",
    gapless="boolean",
    transformed="boolean",
    timed="boolean",
    source_from="long?",
    target_from="long?",
)

# Pairs of offsets that resets of the flow have kept (``rewinds``), as far as the records prove them still, and those
# that were found by reading single records (``offsets.bisecting``).
KEPT_MAPPINGS = dataset_schema(
    "kept_mappings",
    topic="string",
    kafka_partition="int",
    upstream="long",
    downstream="long",
)

# The cluster that groups leave in a failback: where the part of each log ends that the flow from home has written
# (null: it is none of its remote topics, or nobody knows), from which offset on copies are at home (null: none was
# found), and how many records of its own stand there before these, which were never replicated.
RETURN_PARTITIONS = dataset_schema(
    "return_partitions",
    topic="string",
    kafka_partition="int",
    log_end="long",
    forward_end="long?",
    copied_from="long?",
    left_behind="long?",
)

RECORD_DIGESTS = dataset_schema(
    "record_digests",
    side="string",
    topic="string",
    kafka_partition="int",
    log_offset="long",
    digest="binary",
)

TRANSLATION = dataset_schema(
    "translation",
    group="string",
    source_topic="string",
    target_topic="string",
    kafka_partition="int",
    upstream="long",
    downstream="long?",
    upper="long?",
    missing="long?",
    exact="boolean",
    max_rereads="long?",
    method="string",
    action="string",
    reason="string",
    covered="boolean?",
    target_before="long?",
    checkpoint="long?",
    checkpoint_rereads="long?",
    position_of="string?",
    position_at="timestamp?",
    claimed="long?",
)

# From where on the records of either log are to be read. ``left_out``: how many that would be worth it are not, of both
# logs, as all partitions together would take more than the limit allows.
COMPARE_RANGES = dataset_schema(
    "compare_ranges",
    topic="string",
    target_topic="string",
    kafka_partition="int",
    source_from="long",
    target_from="long",
    left_out="long?",
)

# Places that nothing but pairs of offsets tells, to be looked at, and what came of it (``same``, null: one of the two
# records is not there any more).
_CLAIM = {
    "topic": "string",
    "target_topic": "string",
    "kafka_partition": "int",
    "upstream": "long",
    "downstream": "long",
}
SAMPLED_CLAIMS = dataset_schema("sampled_claims", **_CLAIM)
CHECKED_CLAIMS = dataset_schema("checked_claims", **_CLAIM, same="boolean?")

# What a reset does to each topic: records that MirrorSource reads again, and of how many the remote topic holds a copy
# already; offset syncs that go, and whose they are (``offsets.requests.flow_reset.Belongs``).
RESET_TOPICS = dataset_schema(
    "reset_topics",
    topic="string",
    belongs="string",
    partitions="long",
    records_again="long",
    duplicates="long",
    syncs="long",
    newest_sync="timestamp?",
)

# Pairs of offsets (source, remote topic) that are known exactly where a flow was reset, for each partition: the last
# record replicated before it (null: none), and the next one (null: not known which) with the place that it gets. The
# ids are those that the topics had then.
REWINDS = dataset_schema(
    "rewinds",
    topic="string",
    kafka_partition="int",
    closing_upstream="long?",
    closing_downstream="long?",
    opening_upstream="long?",
    opening_downstream="long",
    written_at="timestamp",
    topic_id="string?",
    target_topic_id="string?",
)

FLOW_TOPICS = dataset_schema(
    "flow_topics",
    topic="string",
    target_topic="string",
    topic_id="string?",
    target_topic_id="string?",
)

REMAINING = dataset_schema(
    "remaining",
    topic="string",
    kafka_partition="int",
    log_offset="long",
    written_at="timestamp?",
)

READINESS = dataset_schema(
    "readiness",
    topic="string",
    kafka_partition="int",
    target_topic="string",
    topic_id="string?",
    target_topic_id="string?",
    log_start="long?",
    log_end="long?",
    target_end="long?",
    position="long?",
    lag="long?",
    lag_ms="long?",
    lost="long?",
    sync_upstream="long?",
    sync_downstream="long?",
    sync_at="timestamp?",
    unsynced="long?",
    sync_age_ms="long?",
    observed_at="timestamp",
)

# What ``mirror_failover`` would make of a group's position now, either way, in the words of ``translation``: planned,
# by the position itself and without records that are read; unplanned, by ``unplanned_position``, which its last
# checkpoint or the ledger tells. ``…_reason``: why it would be left alone (null: it is translated).
# ``checkpoint_behind_since``: since when an offset sync that the group has passed lies beyond its checkpoint (null:
# none does).
GROUP_READINESS = dataset_schema(
    "group_readiness",
    group="string",
    group_state="string",
    topic="string",
    target_topic="string",
    kafka_partition="int",
    position="long",
    planned_downstream="long?",
    planned_upper="long?",
    planned_missing="long?",
    planned_exact="boolean?",
    planned_max_rereads="long?",
    planned_method="string?",
    planned_reason="string?",
    unplanned_position="long?",
    unplanned_downstream="long?",
    unplanned_upper="long?",
    unplanned_missing="long?",
    unplanned_exact="boolean?",
    unplanned_max_rereads="long?",
    unplanned_method="string?",
    unplanned_reason="string?",
    checkpoint_upstream="long?",
    checkpoint_downstream="long?",
    checkpoint_at="timestamp?",
    checkpoint_rereads="long?",
    checkpoint_behind_since="timestamp?",
    target_state="string?",
    target_position="long?",
)

# What looks at a flow's readiness keep for a failover without the source, each row of a kind: ``log`` (both logs of a
# partition; ``synced_to``: the last offset sync in its topic; ``renewed``: either topic was created anew since the
# first look), ``mapping`` (the record at ``upstream`` stands at ``downstream``), ``record`` (the digest of the source's
# record at ``upstream``), ``position`` (``group`` reads ``upstream`` next; ``checkpoints_end``: all checkpoints before
# this offset of their topic are older than that, null where there was none). ``observed_at``: of the last look.
MIRROR_LEDGER = dataset_schema(
    "mirror_ledger",
    kind="string",
    observed_at="timestamp",
    topic="string",
    target_topic="string",
    kafka_partition="int",
    topic_id="string?",
    target_topic_id="string?",
    group="string?",
    upstream="long?",
    downstream="long?",
    digest="binary?",
    source_start="long?",
    source_end="long?",
    target_start="long?",
    target_end="long?",
    gapless="boolean?",
    transformed="boolean?",
    timed="boolean?",
    synced_to="long?",
    renewed="boolean?",
    checkpoints_end="long?",
)

LAG_HISTORY = dataset_schema(
    "lag_history",
    run_uri="string",
    observed_at="timestamp",
    topic="string",
    kafka_partition="int",
    topic_id="string?",
    target_topic_id="string?",
    position="long?",
    lag="long?",
    lag_ms="long?",
)

LAG_TREND = dataset_schema(
    "lag_trend",
    observed_at="timestamp",
    topic="string?",
    kafka_partition="int?",
    lag="long?",
    lag_ms="long?",
)

"""Schemas of the datasets of MirrorMaker 2 flows: their logs, translated offsets, readiness and ledger."""

from __future__ import annotations

from airflow_provider_connect_offsets.workspace.schemas import KAFKA_PARTITION, dataset_schema

# Columns of a partition that a flow replicates: topic (of the source), remote topic, number.
_MIRRORED = {"topic": "string", "target_topic": "string", "kafka_partition": "int"}
# Ids of both topics.
_IDS = {"topic_id": "string?", "target_topic_id": "string?"}

# A partition that a flow replicates. ``source_*`` are null if the source is lost, ``target_start`` and ``target_end``
# if the target lacks the partition. ``ends_with_stored``: whether the last record of the remote topic is the one at
# ``stored`` (null: not compared); ``target_last``: offset of that last record (null: unknown); ``gapless``: neither
# topic is compacted; ``transformed``: a transformation or a converter may have dropped or changed records; ``timed``:
# the remote topic keeps the records' timestamps; ``contradicted_*``: an offset sync whose two records differ (null:
# none is known); ``source_from`` and ``target_from``: first offset of the records read of each log (null: none).
MIRROR_PARTITIONS = dataset_schema(
    "mirror_partitions",
    **_MIRRORED,
    source_start="long?",
    source_end="long?",
    stored="long?",
    drained="boolean",
    target_start="long?",
    target_end="long?",
    origin_upstream="long?",
    origin_downstream="long?",
    ends_with_stored="boolean?",
    target_last="long?",
    gapless="boolean",
    transformed="boolean",
    timed="boolean",
    contradicted_upstream="long?",
    contradicted_downstream="long?",
    source_from="long?",
    target_from="long?",
)

# Offset mappings from resets of the flow (``rewinds``) that the records still prove, and from records that were read
# (``offsets.mappings``). ``next_upstream``, ``next_downstream``: no record lies between the mapping's own and this
# offset; null if unknown.
KEPT_MAPPINGS = dataset_schema(
    "kept_mappings",
    **KAFKA_PARTITION,
    upstream="long",
    downstream="long",
    next_upstream="long?",
    next_downstream="long?",
)

# The cluster that groups leave in a failback. ``forward_end``: end of the part of each log that the forward flow wrote
# (null: no remote topic of that flow, or unknown); ``copied_from``: first offset copied back to the home cluster
# (null: none found); ``left_behind``: number of the cluster's own records before that, which were never replicated.
RETURN_PARTITIONS = dataset_schema(
    "return_partitions",
    **KAFKA_PARTITION,
    log_end="long",
    forward_end="long?",
    copied_from="long?",
    left_behind="long?",
)

RECORD_DIGESTS = dataset_schema(
    "record_digests",
    side="string",
    **KAFKA_PARTITION,
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

# First offset of the records to read of each log; a partition of which nothing is read has no row. ``left_out``: how
# many more records of both logs its other positions need, which are not read, as all would exceed the limit.
COMPARE_RANGES = dataset_schema(
    "compare_ranges",
    **_MIRRORED,
    source_from="long",
    target_from="long",
    left_out="long?",
)

# Translated offsets that rest on offset mappings alone, of which the records are compared, and the result (``same``;
# null: one of the two records no longer exists).
_CLAIM = {
    **_MIRRORED,
    "upstream": "long",
    "downstream": "long",
}
SAMPLED_CLAIMS = dataset_schema("sampled_claims", **_CLAIM)
CHECKED_CLAIMS = dataset_schema("checked_claims", **_CLAIM, same="boolean?")

# Effect of a reset on each topic. ``records_again``: records that MirrorSource reads again; ``duplicates``: those of
# them that the remote topic has already; ``syncs``: offset syncs that are deleted; ``belongs``: whose they are
# (``offsets.requests.flow_reset.Belongs``).
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

# Exact offset mappings of a reset, for each partition: ``closing_*`` is the last record replicated before it (null:
# none); ``opening_*`` is the next one (upstream null: unknown) and the offset that it gets. Topic ids at that time.
REWINDS = dataset_schema(
    "rewinds",
    **KAFKA_PARTITION,
    closing_upstream="long?",
    closing_downstream="long?",
    opening_upstream="long?",
    opening_downstream="long",
    written_at="timestamp",
    **_IDS,
)

FLOW_TOPICS = dataset_schema(
    "flow_topics",
    topic="string",
    target_topic="string",
    **_IDS,
)

REMAINING = dataset_schema(
    "remaining",
    **KAFKA_PARTITION,
    log_offset="long",
    written_at="timestamp?",
)

READINESS = dataset_schema(
    "readiness",
    **KAFKA_PARTITION,
    target_topic="string",
    **_IDS,
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

_TRANSLATED = {
    "downstream": "long?",
    "upper": "long?",
    "missing": "long?",
    "exact": "boolean?",
    "max_rereads": "long?",
    "method": "string?",
    "reason": "string?",
}
# How ``mirror_failover`` would translate a group's position now, by the columns of ``translation``: ``planned_*`` from
# the position, without reading records; ``unplanned_*`` from ``unplanned_position``, that of the last checkpoint or of
# the ledger. ``…_reason``: why it would not be translated (null: it would). ``checkpoint_behind_since``: time since
# which there is an offset sync between the checkpoint and the group's position (null: there is none).
GROUP_READINESS = dataset_schema(
    "group_readiness",
    group="string",
    group_state="string",
    **_MIRRORED,
    position="long",
    **{f"planned_{name}": kind for name, kind in _TRANSLATED.items()},
    unplanned_position="long?",
    **{f"unplanned_{name}": kind for name, kind in _TRANSLATED.items()},
    checkpoint_upstream="long?",
    checkpoint_downstream="long?",
    checkpoint_at="timestamp?",
    checkpoint_rereads="long?",
    checkpoint_behind_since="timestamp?",
    target_state="string?",
    target_position="long?",
)

# What readiness observations keep for a failover without the source. Kinds of rows: ``log`` (both logs of a partition;
# ``synced_to``: the last offset sync in its topic; ``renewed``: either topic was created anew since the first
# observation), ``mapping`` (an offset mapping), ``record`` (digest of the source's record at ``upstream``),
# ``position`` (``group`` reads ``upstream`` next; ``checkpoints_end``: all checkpoints before this offset of their
# topic are older, null if there was none). ``observed_at``: time of the last observation.
MIRROR_LEDGER = dataset_schema(
    "mirror_ledger",
    kind="string",
    observed_at="timestamp",
    **_MIRRORED,
    **_IDS,
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
    **KAFKA_PARTITION,
    **_IDS,
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

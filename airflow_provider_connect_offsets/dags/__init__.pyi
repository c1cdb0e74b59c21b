# Made by `make reference`, for editors and type checkers.

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any, Literal, TypedDict, Unpack

from airflow.sdk import DAG, Param

__all__ = [
    "connector_offsets_backfill",
    "connector_offsets_change",
    "connector_offsets_copy",
    "connector_offsets_fleet",
    "connector_offsets_orphans",
    "connector_offsets_poison",
    "connector_offsets_restore",
    "connector_offsets_snapshot",
    "connector_offsets_stepwise",
    "group_offsets_change",
    "mirror_failback",
    "mirror_failover",
    "mirror_failover_restore",
    "mirror_readiness",
    "mirror_reset",
]

class _Dag(TypedDict, total=False):
    dag_id: str
    description: str | None
    default_args: Any
    start_date: datetime | None
    end_date: datetime | None
    schedule: Any
    template_searchpath: str | Iterable[str] | None
    template_undefined: Any
    user_defined_macros: dict[str, Any] | None
    user_defined_filters: dict[str, Any] | None
    max_active_tasks: Any
    max_active_runs: Any
    max_consecutive_failed_dag_runs: Any
    dagrun_timeout: timedelta | None
    deadline: Any
    sla_miss_callback: None
    catchup: bool
    on_success_callback: Any
    on_failure_callback: Any
    doc_md: str | None
    access_control: Any
    is_paused_upon_creation: bool | None
    jinja_environment_kwargs: dict[str, Any] | None
    render_template_as_native_obj: Any
    tags: Collection[str] | None
    owner_links: dict[str, str]
    auto_register: Any
    fail_fast: Any
    allowed_run_types: Any
    dag_display_name: str
    task_group: Any
    disable_bundle_versioning: bool
    rerun_with_latest_version: Any

class _DagThatAsks(_Dag, total=False):
    approval_timeout: timedelta | None
    approvers: str | Iterable[str | Mapping[str, str]] | None
    notifiers: Any

class _ConnectorOffsetsBackfillParams(TypedDict, total=False):
    connector: str | Param | None
    connectors: str | Param | None
    mode: Literal["rewind", "replay"] | Param | None
    topics: str | Param | None
    partitions: str | Param | None
    replay_limit: str | Param | None
    partial: bool | str | Param | None
    window: str | Param | None
    max_rewind: str | Param | None
    max_down: int | str | Param | None
    max_failures: int | str | Param | None
    approval: bool | str | Param | None
    dry_run: bool | str | Param | None
    control: Literal["rest", "storage", "strimzi", "strimzi+rest"] | Param | None
    connect_conn_id: str | Param | None
    kafka_conn_id: str | Param | None
    database_conn_id: str | Param | None
    kubernetes_conn_id: str | Param | None
    spark_conn_id: str | Param | None

def connector_offsets_backfill(
    *,
    params: _ConnectorOffsetsBackfillParams = ...,
    pinned: _ConnectorOffsetsBackfillParams = ...,
    **given: Unpack[_DagThatAsks],
) -> DAG:
    """Deliver each data interval again."""

class _ConnectorOffsetsChangeParams(TypedDict, total=False):
    connector: str | Param | None
    to: (
        Literal[
            "earliest",
            "latest",
            "datetime",
            "duration",
            "shift",
            "offset",
            "skip",
            "clear",
            "file",
            "query",
            "connector",
            "current",
        ]
        | Param
        | None
    )
    value: str | Param | None
    topics: str | Param | None
    partitions: str | Param | None
    columns: str | Param | None
    approval: bool | str | Param | None
    dry_run: bool | str | Param | None
    control: Literal["rest", "storage", "strimzi", "strimzi+rest"] | Param | None
    connect_conn_id: str | Param | None
    kafka_conn_id: str | Param | None
    database_conn_id: str | Param | None
    kubernetes_conn_id: str | Param | None
    spark_conn_id: str | Param | None

def connector_offsets_change(
    *,
    params: _ConnectorOffsetsChangeParams = ...,
    pinned: _ConnectorOffsetsChangeParams = ...,
    **given: Unpack[_DagThatAsks],
) -> DAG:
    """Change where a connector resumes."""

class _ConnectorOffsetsCopyParams(TypedDict, total=False):
    connector: str | Param | None
    new_name: str | Param | None
    rename: bool | str | Param | None
    config: Any
    stop_original: bool | str | Param | None
    approval: bool | str | Param | None
    dry_run: bool | str | Param | None
    control: Literal["rest", "storage", "strimzi", "strimzi+rest"] | Param | None
    connect_conn_id: str | Param | None
    kafka_conn_id: str | Param | None
    database_conn_id: str | Param | None
    kubernetes_conn_id: str | Param | None

def connector_offsets_copy(
    *,
    params: _ConnectorOffsetsCopyParams = ...,
    pinned: _ConnectorOffsetsCopyParams = ...,
    **given: Unpack[_DagThatAsks],
) -> DAG:
    """Copy a connector with its offsets, or rename it."""

class _ConnectorOffsetsFleetParams(TypedDict, total=False):
    connectors: str | Param | None
    to: (
        Literal[
            "earliest",
            "latest",
            "datetime",
            "duration",
            "shift",
            "offset",
            "skip",
            "clear",
            "file",
            "query",
            "connector",
            "current",
        ]
        | Param
        | None
    )
    value: str | Param | None
    topics: str | Param | None
    partitions: str | Param | None
    columns: str | Param | None
    max_down: int | str | Param | None
    max_failures: int | str | Param | None
    approval: bool | str | Param | None
    dry_run: bool | str | Param | None
    control: Literal["rest", "storage", "strimzi", "strimzi+rest"] | Param | None
    connect_conn_id: str | Param | None
    kafka_conn_id: str | Param | None
    database_conn_id: str | Param | None
    kubernetes_conn_id: str | Param | None
    spark_conn_id: str | Param | None

def connector_offsets_fleet(
    *,
    params: _ConnectorOffsetsFleetParams = ...,
    pinned: _ConnectorOffsetsFleetParams = ...,
    **given: Unpack[_DagThatAsks],
) -> DAG:
    """Change where many connectors resume."""

class _ConnectorOffsetsOrphansParams(TypedDict, total=False):
    connectors: str | Param | None
    older_than: str | Param | None
    remove: bool | str | Param | None
    approval: bool | str | Param | None
    offsets_topic: str | Param | None
    control: Literal["rest", "strimzi+rest"] | Param | None
    connect_conn_id: str | Param | None
    kafka_conn_id: str | Param | None
    spark_conn_id: str | Param | None

def connector_offsets_orphans(
    *,
    params: _ConnectorOffsetsOrphansParams = ...,
    pinned: _ConnectorOffsetsOrphansParams = ...,
    **given: Unpack[_DagThatAsks],
) -> DAG:
    """Find and remove offsets whose connector no longer exists."""

class _ConnectorOffsetsPoisonParams(TypedDict, total=False):
    connector: str | Param | None
    max_skips: int | str | Param | None
    max_records: int | str | Param | None
    keep_content: bool | str | Param | None
    dry_run: bool | str | Param | None
    approval: bool | str | Param | None
    control: Literal["rest", "storage", "strimzi", "strimzi+rest"] | Param | None
    connect_conn_id: str | Param | None
    kafka_conn_id: str | Param | None
    database_conn_id: str | Param | None
    kubernetes_conn_id: str | Param | None

def connector_offsets_poison(
    *,
    params: _ConnectorOffsetsPoisonParams = ...,
    pinned: _ConnectorOffsetsPoisonParams = ...,
    **given: Unpack[_DagThatAsks],
) -> DAG:
    """Skip the one record on which a sink has failed."""

class _ConnectorOffsetsRestoreParams(TypedDict, total=False):
    snapshot_uri: str | Param | None
    connectors: str | Param | None
    clear_new: bool | str | Param | None
    max_down: int | str | Param | None
    max_failures: int | str | Param | None
    approval: bool | str | Param | None
    dry_run: bool | str | Param | None
    control: Literal["rest", "storage", "strimzi", "strimzi+rest"] | Param | None
    connect_conn_id: str | Param | None
    kafka_conn_id: str | Param | None
    database_conn_id: str | Param | None
    kubernetes_conn_id: str | Param | None
    spark_conn_id: str | Param | None

def connector_offsets_restore(
    *,
    params: _ConnectorOffsetsRestoreParams = ...,
    pinned: _ConnectorOffsetsRestoreParams = ...,
    **given: Unpack[_DagThatAsks],
) -> DAG:
    """Restore the offsets of a kept snapshot."""

class _ConnectorOffsetsSnapshotParams(TypedDict, total=False):
    connectors: str | Param | None
    max_jump: int | str | Param | None
    fail_on: Any
    keep: int | str | Param | None
    keep_for: str | Param | None
    control: Literal["rest", "storage", "strimzi", "strimzi+rest"] | Param | None
    connect_conn_id: str | Param | None
    kafka_conn_id: str | Param | None
    database_conn_id: str | Param | None
    source_kafka_conn_id: str | Param | None
    kubernetes_conn_id: str | Param | None
    spark_conn_id: str | Param | None

def connector_offsets_snapshot(
    *,
    params: _ConnectorOffsetsSnapshotParams = ...,
    pinned: _ConnectorOffsetsSnapshotParams = ...,
    **given: Unpack[_Dag],
) -> DAG:
    """Keep snapshots of all connectors' offsets, and report what changed since the last one."""

class _ConnectorOffsetsStepwiseParams(TypedDict, total=False):
    connector: str | Param | None
    to: (
        Literal[
            "earliest",
            "latest",
            "datetime",
            "duration",
            "shift",
            "offset",
            "skip",
            "clear",
            "file",
            "query",
            "connector",
            "current",
        ]
        | Param
        | None
    )
    value: str | Param | None
    topics: str | Param | None
    partitions: str | Param | None
    columns: str | Param | None
    approval: bool | str | Param | None
    dry_run: bool | str | Param | None
    control: Literal["rest", "storage", "strimzi", "strimzi+rest"] | Param | None
    connect_conn_id: str | Param | None
    kafka_conn_id: str | Param | None
    database_conn_id: str | Param | None
    kubernetes_conn_id: str | Param | None
    spark_conn_id: str | Param | None

def connector_offsets_stepwise(
    *,
    params: _ConnectorOffsetsStepwiseParams = ...,
    pinned: _ConnectorOffsetsStepwiseParams = ...,
    **given: Unpack[_DagThatAsks],
) -> DAG:
    """Change where a connector resumes, one operator per step."""

class _GroupOffsetsChangeParams(TypedDict, total=False):
    groups: str | Param | None
    to: (
        Literal[
            "earliest",
            "latest",
            "datetime",
            "duration",
            "shift",
            "offset",
            "skip",
            "clear",
            "file",
            "query",
            "connector",
            "current",
        ]
        | Param
        | None
    )
    value: str | Param | None
    topics: str | Param | None
    partitions: str | Param | None
    columns: str | Param | None
    max_down: int | str | Param | None
    max_failures: int | str | Param | None
    approval: bool | str | Param | None
    dry_run: bool | str | Param | None
    kafka_conn_id: str | Param | None
    spark_conn_id: str | Param | None

def group_offsets_change(
    *, params: _GroupOffsetsChangeParams = ..., pinned: _GroupOffsetsChangeParams = ..., **given: Unpack[_DagThatAsks]
) -> DAG:
    """Change where consumer groups resume."""

class _MirrorFailbackParams(TypedDict, total=False):
    groups: str | Param | None
    forward_connector: str | Param | None
    source_connector: str | Param | None
    checkpoint_connector: str | Param | None
    topics: str | Param | None
    rewind: str | Param | None
    min_coverage: float | str | Param | None
    max_rereads: int | str | Param | None
    compared: int | str | Param | None
    compared_total: int | str | Param | None
    search_timeout: int | str | Param | None
    drain_timeout: int | str | Param | None
    resume_flow: bool | str | Param | None
    approval: bool | str | Param | None
    dry_run: bool | str | Param | None
    control: Literal["rest", "strimzi", "strimzi+rest"] | Param | None
    forward_connect_conn_id: str | Param | None
    connect_conn_id: str | Param | None
    source_kafka_conn_id: str | Param | None
    target_kafka_conn_id: str | Param | None
    kubernetes_conn_id: str | Param | None
    spark_conn_id: str | Param | None

def mirror_failback(
    *, params: _MirrorFailbackParams = ..., pinned: _MirrorFailbackParams = ..., **given: Unpack[_DagThatAsks]
) -> DAG:
    """Return consumer groups to their home cluster after a failover."""

class _MirrorFailoverParams(TypedDict, total=False):
    groups: str | Param | None
    planned: bool | str | Param | None
    source_connector: str | Param | None
    checkpoint_connector: str | Param | None
    topics: str | Param | None
    source_alias: str | Param | None
    target_alias: str | Param | None
    replication_policy: Literal["configured", "default", "identity"] | Param | None
    separator: str | Param | None
    syncs_on: Literal["configured", "source", "target"] | Param | None
    rewind: str | Param | None
    min_coverage: float | str | Param | None
    max_rereads: int | str | Param | None
    compared: int | str | Param | None
    compared_total: int | str | Param | None
    search_timeout: int | str | Param | None
    drain_timeout: int | str | Param | None
    trust_checkpoints: bool | str | Param | None
    resume_flow: bool | str | Param | None
    approval: bool | str | Param | None
    dry_run: bool | str | Param | None
    control: Literal["rest", "strimzi", "strimzi+rest"] | Param | None
    connect_conn_id: str | Param | None
    source_kafka_conn_id: str | Param | None
    target_kafka_conn_id: str | Param | None
    kubernetes_conn_id: str | Param | None
    spark_conn_id: str | Param | None

def mirror_failover(
    *, params: _MirrorFailoverParams = ..., pinned: _MirrorFailoverParams = ..., **given: Unpack[_DagThatAsks]
) -> DAG:
    """Move consumer groups to the target of a MirrorMaker 2 flow."""

class _MirrorFailoverRestoreParams(TypedDict, total=False):
    run_uri: str | Param | None
    target_kafka_conn_id: str | Param | None

def mirror_failover_restore(
    *, params: _MirrorFailoverRestoreParams = ..., pinned: _MirrorFailoverRestoreParams = ..., **given: Unpack[_Dag]
) -> DAG:
    """Restore the offsets that consumer groups had before a failover."""

class _MirrorReadinessParams(TypedDict, total=False):
    source_connector: str | Param | None
    checkpoint_connector: str | Param | None
    groups: str | Param | None
    max_lag_records: int | str | Param | None
    max_lag_seconds: int | str | Param | None
    max_sync_age: int | str | Param | None
    max_checkpoint_age: int | str | Param | None
    stuck_after: int | str | Param | None
    min_coverage: float | str | Param | None
    max_rereads: int | str | Param | None
    keep: int | str | Param | None
    control: Literal["rest", "storage", "strimzi", "strimzi+rest"] | Param | None
    connect_conn_id: str | Param | None
    source_kafka_conn_id: str | Param | None
    target_kafka_conn_id: str | Param | None
    kubernetes_conn_id: str | Param | None
    spark_conn_id: str | Param | None

def mirror_readiness(
    *, params: _MirrorReadinessParams = ..., pinned: _MirrorReadinessParams = ..., **given: Unpack[_Dag]
) -> DAG:
    """Lag, loss, coverage and re-reads of a MirrorMaker 2 flow, were a failover to happen now."""

class _MirrorResetParams(TypedDict, total=False):
    source_connector: str | Param | None
    checkpoint_connector: str | Param | None
    to: (
        Literal[
            "earliest",
            "latest",
            "datetime",
            "duration",
            "shift",
            "offset",
            "clear",
            "file",
            "query",
            "connector",
            "current",
        ]
        | Param
        | None
    )
    value: str | Param | None
    checkpoints: bool | str | Param | None
    topics: str | Param | None
    partitions: str | Param | None
    columns: str | Param | None
    approval: bool | str | Param | None
    dry_run: bool | str | Param | None
    control: Literal["rest", "storage", "strimzi", "strimzi+rest"] | Param | None
    connect_conn_id: str | Param | None
    source_kafka_conn_id: str | Param | None
    target_kafka_conn_id: str | Param | None
    kubernetes_conn_id: str | Param | None
    spark_conn_id: str | Param | None

def mirror_reset(
    *, params: _MirrorResetParams = ..., pinned: _MirrorResetParams = ..., **given: Unpack[_DagThatAsks]
) -> DAG:
    """Reset a MirrorMaker 2 flow: offsets, offset syncs and checkpoints together."""

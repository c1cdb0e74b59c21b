# Made by `make reference`, for editors and type checkers.

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Literal, Required, TypedDict, Unpack

from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.providers.standard.operators.hitl import ApprovalOperator
from airflow.sdk import BaseOperator, XComArg

__all__ = [
    "AlterConnectorOffsetsOperator",
    "ApplyOffsetPlanOperator",
    "ApproveCopyOperator",
    "ApproveOffsetPlanOperator",
    "BeginOffsetChangeOperator",
    "CheckCopyOperator",
    "ClearOffsetSyncsOperator",
    "CommitGroupOffsetsOperator",
    "CopyConnectorOperator",
    "CreateConnectorOperator",
    "DeleteConnectorOperator",
    "DeleteConsumerGroupOperator",
    "DescribeConsumerGroupOperator",
    "FindPoisonRecordOperator",
    "GetConnectorConfigOperator",
    "GetConnectorOffsetsOperator",
    "GetConnectorStatusOperator",
    "ListConsumerGroupsOperator",
    "PauseConnectorOperator",
    "PlanConnectorOffsetsOperator",
    "ReleaseCopyOperator",
    "ReleasePoisonedSinkOperator",
    "RenameConnectorOperator",
    "ResetConnectorOffsetsOperator",
    "RestartConnectorOperator",
    "RestoreConnectorOffsetsOperator",
    "RestoreGroupOffsetsOperator",
    "ResumeConnectorOperator",
    "SkipPoisonRecordOperator",
    "SnapshotConnectorOffsetsOperator",
    "StopConnectorOperator",
    "TranslateGroupOffsetsOperator",
    "UpdateConnectorConfigOperator",
]

class _BaseOperator(TypedDict, total=False):
    task_id: Required[str]
    owner: str
    email: str | Sequence[str] | None
    email_on_retry: bool
    email_on_failure: bool
    retries: int | None
    retry_delay: timedelta | float
    retry_exponential_backoff: float
    max_retry_delay: timedelta | float | None
    retry_policy: Any
    start_date: datetime | None
    end_date: datetime | None
    depends_on_past: bool
    ignore_first_depends_on_past: bool
    wait_for_past_depends_before_skipping: bool
    wait_for_downstream: bool
    dag: Any
    params: Any
    default_args: dict[str, Any] | None
    priority_weight: int
    weight_rule: Any
    queue: str
    pool: str | None
    pool_slots: int
    sla: timedelta | None
    execution_timeout: timedelta | None
    on_execute_callback: Any
    on_failure_callback: Any
    on_success_callback: Any
    on_retry_callback: Any
    on_skipped_callback: Any
    pre_execute: Any
    post_execute: Any
    trigger_rule: str
    resources: dict[str, Any] | None
    run_as_user: str | None
    map_index_template: str | None
    max_active_tis_per_dag: int | None
    max_active_tis_per_dagrun: int | None
    executor: str | None
    executor_config: dict[str, Any] | None
    do_xcom_push: bool
    multiple_outputs: bool
    inlets: Any | None
    outlets: Any | None
    task_group: Any
    doc: str | None
    doc_md: str | None
    doc_json: str | None
    doc_yaml: str | None
    doc_rst: str | None
    task_display_name: str | None
    logger_name: str | None
    allow_nested_operators: bool
    render_template_as_native_obj: bool | None

class AlterConnectorOffsetsOperator(BaseOperator):
    """Write offsets of a stopped connector, and verify them by reading them back. Returns the number of partitions."""
    def __init__(
        self,
        *,
        offsets: Any = ...,
        run_uri: str | XComArg = ...,
        digest: str | XComArg = ...,
        connector: str | XComArg,
        control: Literal["rest", "storage", "strimzi", "strimzi+rest"] | XComArg = ...,
        connect_conn_id: str | XComArg = ...,
        kubernetes_conn_id: str | XComArg = ...,
        kafka_conn_id: str | XComArg = ...,
        database_conn_id: str | XComArg = ...,
        timeout: float | str | XComArg | None = ...,
        **kwargs: Unpack[_BaseOperator],
    ) -> None: ...

class GetConnectorConfigOperator(BaseOperator):
    """Read the configuration of a connector. Returns its settings, with secrets masked."""
    def __init__(
        self,
        *,
        connector: str | XComArg,
        control: Literal["rest", "storage", "strimzi", "strimzi+rest"] | XComArg = ...,
        connect_conn_id: str | XComArg = ...,
        kubernetes_conn_id: str | XComArg = ...,
        kafka_conn_id: str | XComArg = ...,
        database_conn_id: str | XComArg = ...,
        timeout: float | str | XComArg | None = ...,
        **kwargs: Unpack[_BaseOperator],
    ) -> None: ...

class GetConnectorOffsetsOperator(BaseOperator):
    """Read all offsets of a connector into a KIP-199 JSON file at ``uri``. Returns the URI."""
    def __init__(
        self,
        *,
        uri: str | XComArg = ...,
        run_uri: str | XComArg = ...,
        connector: str | XComArg,
        control: Literal["rest", "storage", "strimzi", "strimzi+rest"] | XComArg = ...,
        connect_conn_id: str | XComArg = ...,
        kubernetes_conn_id: str | XComArg = ...,
        kafka_conn_id: str | XComArg = ...,
        database_conn_id: str | XComArg = ...,
        timeout: float | str | XComArg | None = ...,
        **kwargs: Unpack[_BaseOperator],
    ) -> None: ...

class GetConnectorStatusOperator(BaseOperator):
    """Read the state of a connector and of its tasks. Returns them, with the cause if something has failed."""
    def __init__(
        self,
        *,
        connector: str | XComArg,
        control: Literal["rest", "storage", "strimzi", "strimzi+rest"] | XComArg = ...,
        connect_conn_id: str | XComArg = ...,
        kubernetes_conn_id: str | XComArg = ...,
        kafka_conn_id: str | XComArg = ...,
        database_conn_id: str | XComArg = ...,
        timeout: float | str | XComArg | None = ...,
        **kwargs: Unpack[_BaseOperator],
    ) -> None: ...

class PauseConnectorOperator(BaseOperator):
    """Pause a connector and wait until it and its tasks are PAUSED. To change its offsets, stop it."""
    def __init__(
        self,
        *,
        deferrable: bool = ...,
        connector: str | XComArg,
        control: Literal["rest", "storage", "strimzi", "strimzi+rest"] | XComArg = ...,
        connect_conn_id: str | XComArg = ...,
        kubernetes_conn_id: str | XComArg = ...,
        kafka_conn_id: str | XComArg = ...,
        database_conn_id: str | XComArg = ...,
        timeout: float | str | XComArg | None = ...,
        **kwargs: Unpack[_BaseOperator],
    ) -> None: ...

class ResetConnectorOffsetsOperator(BaseOperator):
    """Remove all offsets of a stopped connector, and verify that none is left. Returns how many there were."""
    def __init__(
        self,
        *,
        connector: str | XComArg,
        control: Literal["rest", "storage", "strimzi", "strimzi+rest"] | XComArg = ...,
        connect_conn_id: str | XComArg = ...,
        kubernetes_conn_id: str | XComArg = ...,
        kafka_conn_id: str | XComArg = ...,
        database_conn_id: str | XComArg = ...,
        timeout: float | str | XComArg | None = ...,
        **kwargs: Unpack[_BaseOperator],
    ) -> None: ...

class RestartConnectorOperator(BaseOperator):
    """Restart the failed tasks of a connector, and the connector if it has failed, and wait until all run again."""
    def __init__(
        self,
        *,
        failed_only: bool | str | XComArg = ...,
        connector: str | XComArg,
        control: Literal["rest", "storage", "strimzi", "strimzi+rest"] | XComArg = ...,
        connect_conn_id: str | XComArg = ...,
        kubernetes_conn_id: str | XComArg = ...,
        kafka_conn_id: str | XComArg = ...,
        database_conn_id: str | XComArg = ...,
        timeout: float | str | XComArg | None = ...,
        **kwargs: Unpack[_BaseOperator],
    ) -> None: ...

class ResumeConnectorOperator(BaseOperator):
    """Resume a connector and wait until its tasks run, or give it the ``state`` it had: RUNNING, PAUSED or STOPPED."""
    def __init__(
        self,
        *,
        state: str | XComArg = ...,
        deferrable: bool = ...,
        connector: str | XComArg,
        control: Literal["rest", "storage", "strimzi", "strimzi+rest"] | XComArg = ...,
        connect_conn_id: str | XComArg = ...,
        kubernetes_conn_id: str | XComArg = ...,
        kafka_conn_id: str | XComArg = ...,
        database_conn_id: str | XComArg = ...,
        timeout: float | str | XComArg | None = ...,
        **kwargs: Unpack[_BaseOperator],
    ) -> None: ...

class StopConnectorOperator(BaseOperator):
    """Stop a connector and wait until it is STOPPED without tasks (a sink's group empty). Returns the state before."""
    def __init__(
        self,
        *,
        deferrable: bool = ...,
        connector: str | XComArg,
        control: Literal["rest", "storage", "strimzi", "strimzi+rest"] | XComArg = ...,
        connect_conn_id: str | XComArg = ...,
        kubernetes_conn_id: str | XComArg = ...,
        kafka_conn_id: str | XComArg = ...,
        database_conn_id: str | XComArg = ...,
        timeout: float | str | XComArg | None = ...,
        **kwargs: Unpack[_BaseOperator],
    ) -> None: ...

class _ApprovalOperator(_BaseOperator, total=False):
    defaults: str | list[str] | None
    params: Any
    notifiers: Any
    assigned_users: Any
    ignore_downstream_trigger_rules: bool
    fail_on_reject: bool

class ApproveCopyOperator(ApprovalOperator):
    """Ask a person whether a connector is to be copied or renamed, in the words of ``CheckCopyOperator`` (``summary``)."""
    def __init__(
        self,
        *,
        summary: Any,
        approval: bool | str | XComArg = ...,
        plan_only: bool | str | XComArg = ...,
        response_timeout: timedelta | None = ...,
        **kwargs: Unpack[_ApprovalOperator],
    ) -> None: ...

class CheckCopyOperator(BaseOperator):
    """Describe what a copy or rename would do, and fail if it can't work. Meant as the first task of a copy or rename."""
    def __init__(
        self,
        *,
        dry_run: bool | str | XComArg = ...,
        new_name: str | XComArg,
        rename: bool | str | XComArg = ...,
        config: Any = ...,
        stop_original: bool | str | XComArg = ...,
        connector: str | XComArg,
        control: Literal["rest", "storage", "strimzi", "strimzi+rest"] | XComArg = ...,
        connect_conn_id: str | XComArg = ...,
        kubernetes_conn_id: str | XComArg = ...,
        kafka_conn_id: str | XComArg = ...,
        database_conn_id: str | XComArg = ...,
        timeout: float | str | XComArg | None = ...,
        **kwargs: Unpack[_BaseOperator],
    ) -> None: ...

class CopyConnectorOperator(BaseOperator):
    """Create a connector with the settings and offsets of another one; with ``rename`` it takes that one's place."""
    def __init__(
        self,
        *,
        new_name: str | XComArg,
        rename: bool | str | XComArg = ...,
        config: Any = ...,
        stop_original: bool | str | XComArg = ...,
        connector: str | XComArg,
        control: Literal["rest", "storage", "strimzi", "strimzi+rest"] | XComArg = ...,
        connect_conn_id: str | XComArg = ...,
        kubernetes_conn_id: str | XComArg = ...,
        kafka_conn_id: str | XComArg = ...,
        database_conn_id: str | XComArg = ...,
        timeout: float | str | XComArg | None = ...,
        **kwargs: Unpack[_BaseOperator],
    ) -> None: ...

class CreateConnectorOperator(BaseOperator):
    """Create a connector that resumes at given offsets: created STOPPED, offsets written and read back, then started."""
    def __init__(
        self,
        *,
        config: Any,
        offsets: Any = ...,
        start_at: str | XComArg = ...,
        state: str | XComArg = ...,
        inherit: bool | str | XComArg = ...,
        connector: str | XComArg,
        control: Literal["rest", "storage", "strimzi", "strimzi+rest"] | XComArg = ...,
        connect_conn_id: str | XComArg = ...,
        kubernetes_conn_id: str | XComArg = ...,
        kafka_conn_id: str | XComArg = ...,
        database_conn_id: str | XComArg = ...,
        timeout: float | str | XComArg | None = ...,
        **kwargs: Unpack[_BaseOperator],
    ) -> None: ...

class DeleteConnectorOperator(BaseOperator):
    """Delete a connector together with its offsets: stopped, offsets removed and read back, then deleted."""
    def __init__(
        self,
        *,
        connector: str | XComArg,
        control: Literal["rest", "storage", "strimzi", "strimzi+rest"] | XComArg = ...,
        connect_conn_id: str | XComArg = ...,
        kubernetes_conn_id: str | XComArg = ...,
        kafka_conn_id: str | XComArg = ...,
        database_conn_id: str | XComArg = ...,
        timeout: float | str | XComArg | None = ...,
        **kwargs: Unpack[_BaseOperator],
    ) -> None: ...

class ReleaseCopyOperator(BaseOperator):
    """The teardown of a copy or rename: undoes whatever the same run has left."""
    def __init__(
        self,
        *,
        new_name: str | XComArg,
        rename: bool | str | XComArg = ...,
        config: Any = ...,
        stop_original: bool | str | XComArg = ...,
        connector: str | XComArg,
        control: Literal["rest", "storage", "strimzi", "strimzi+rest"] | XComArg = ...,
        connect_conn_id: str | XComArg = ...,
        kubernetes_conn_id: str | XComArg = ...,
        kafka_conn_id: str | XComArg = ...,
        database_conn_id: str | XComArg = ...,
        timeout: float | str | XComArg | None = ...,
        **kwargs: Unpack[_BaseOperator],
    ) -> None: ...

class RenameConnectorOperator(BaseOperator):
    """Give a connector another name: a ``CopyConnectorOperator`` that deletes the original."""
    def __init__(
        self,
        *,
        new_name: str | XComArg,
        rename: bool | str | XComArg = ...,
        config: Any = ...,
        stop_original: bool | str | XComArg = ...,
        connector: str | XComArg,
        control: Literal["rest", "storage", "strimzi", "strimzi+rest"] | XComArg = ...,
        connect_conn_id: str | XComArg = ...,
        kubernetes_conn_id: str | XComArg = ...,
        kafka_conn_id: str | XComArg = ...,
        database_conn_id: str | XComArg = ...,
        timeout: float | str | XComArg | None = ...,
        **kwargs: Unpack[_BaseOperator],
    ) -> None: ...

class UpdateConnectorConfigOperator(BaseOperator):
    """Change some settings of a connector, and let it run with them, or restore the settings that it had."""
    def __init__(
        self,
        *,
        config: Any,
        connector: str | XComArg,
        control: Literal["rest", "storage", "strimzi", "strimzi+rest"] | XComArg = ...,
        connect_conn_id: str | XComArg = ...,
        kubernetes_conn_id: str | XComArg = ...,
        kafka_conn_id: str | XComArg = ...,
        database_conn_id: str | XComArg = ...,
        timeout: float | str | XComArg | None = ...,
        **kwargs: Unpack[_BaseOperator],
    ) -> None: ...

class FindPoisonRecordOperator(BaseOperator):
    """Find the record on which a sink has failed, and keep it; skips nothing."""
    def __init__(
        self,
        *,
        connector: str | XComArg,
        max_skips: int | str | XComArg = ...,
        max_records: int | str | XComArg = ...,
        keep_content: bool | str | XComArg = ...,
        dry_run: bool | str | XComArg = ...,
        control: Literal["rest", "storage", "strimzi", "strimzi+rest"] | XComArg = ...,
        connect_conn_id: str | XComArg = ...,
        kubernetes_conn_id: str | XComArg = ...,
        kafka_conn_id: str | XComArg = ...,
        database_conn_id: str | XComArg = ...,
        timeout: float | str | XComArg | None = ...,
        part: str | XComArg = ...,
        **kwargs: Unpack[_BaseOperator],
    ) -> None: ...

class ReleasePoisonedSinkOperator(BaseOperator):
    """The teardown of a search or skip: undoes whatever the same run has left."""
    def __init__(
        self,
        *,
        connector: str | XComArg,
        max_skips: int | str | XComArg = ...,
        max_records: int | str | XComArg = ...,
        keep_content: bool | str | XComArg = ...,
        dry_run: bool | str | XComArg = ...,
        control: Literal["rest", "storage", "strimzi", "strimzi+rest"] | XComArg = ...,
        connect_conn_id: str | XComArg = ...,
        kubernetes_conn_id: str | XComArg = ...,
        kafka_conn_id: str | XComArg = ...,
        database_conn_id: str | XComArg = ...,
        timeout: float | str | XComArg | None = ...,
        part: str | XComArg = ...,
        **kwargs: Unpack[_BaseOperator],
    ) -> None: ...

class SkipPoisonRecordOperator(BaseOperator):
    """Find the record on which a sink has failed, keep it, skip exactly this record, and resume the sink."""
    def __init__(
        self,
        *,
        found: Any = ...,
        only_found: bool | str | XComArg = ...,
        connector: str | XComArg,
        max_skips: int | str | XComArg = ...,
        max_records: int | str | XComArg = ...,
        keep_content: bool | str | XComArg = ...,
        dry_run: bool | str | XComArg = ...,
        control: Literal["rest", "storage", "strimzi", "strimzi+rest"] | XComArg = ...,
        connect_conn_id: str | XComArg = ...,
        kubernetes_conn_id: str | XComArg = ...,
        kafka_conn_id: str | XComArg = ...,
        database_conn_id: str | XComArg = ...,
        timeout: float | str | XComArg | None = ...,
        part: str | XComArg = ...,
        **kwargs: Unpack[_BaseOperator],
    ) -> None: ...

class SnapshotConnectorOffsetsOperator(BaseOperator):
    """Check a request, and write what its plan needs: the connector, its offsets, the bounds of the logs."""
    def __init__(
        self,
        *,
        topics: str | XComArg | None = ...,
        partitions: str | XComArg | None = ...,
        to: Literal[
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
        | XComArg = ...,
        value: str | XComArg = ...,
        columns: str | XComArg | None = ...,
        only_back: bool | str | XComArg = ...,
        connector: str | XComArg,
        control: Literal["rest", "storage", "strimzi", "strimzi+rest"] | XComArg = ...,
        connect_conn_id: str | XComArg = ...,
        kubernetes_conn_id: str | XComArg = ...,
        kafka_conn_id: str | XComArg = ...,
        database_conn_id: str | XComArg = ...,
        part: str | XComArg = ...,
        **kwargs: Unpack[_BaseOperator],
    ) -> None: ...

class _SparkSubmitOperator(_BaseOperator, total=False):
    durable: bool | None
    conf: dict[Any, Any] | None
    conn_id: str
    files: str | None
    archives: str | None
    driver_class_path: str | None
    jars: str | None
    packages: str | None
    exclude_packages: str | None
    repositories: str | None
    total_executor_cores: int | None
    executor_cores: int | None
    executor_memory: str | None
    driver_memory: str | None
    keytab: str | None
    principal: str | None
    proxy_user: str | None
    name: str
    num_executors: int | None
    status_poll_interval: int
    env_vars: dict[str, Any] | None
    verbose: bool
    spark_binary: str | None
    properties_file: str | None
    yarn_queue: str | None
    deploy_mode: str | None
    use_krb5ccache: bool
    post_submit_commands: list[str] | None
    track_driver_via_k8s_api: bool
    yarn_track_via_rm_api: bool
    yarn_rm_auth: Any
    openlineage_inject_parent_job_info: bool
    openlineage_inject_transport_info: bool
    reconnect_on_retry: bool | None

class PlanConnectorOffsetsOperator(SparkSubmitOperator):
    """Make the plan of a change from its snapshot, and check it against every rule; a ``SparkSubmitOperator``."""
    def __init__(
        self,
        *,
        run_uri: str | XComArg,
        **kwargs: Unpack[_SparkSubmitOperator],
    ) -> None: ...

class ApplyOffsetPlanOperator(BaseOperator):
    """Stop the connector, write the plan, read it back, restore the connector's state; or undo everything."""
    def __init__(
        self,
        *,
        run_uri: str | XComArg,
        digest: str | XComArg,
        control: Literal["rest", "storage", "strimzi", "strimzi+rest"] | XComArg = ...,
        connect_conn_id: str | XComArg = ...,
        kubernetes_conn_id: str | XComArg = ...,
        kafka_conn_id: str | XComArg = ...,
        database_conn_id: str | XComArg = ...,
        timeout: float | str | XComArg | None = ...,
        **kwargs: Unpack[_BaseOperator],
    ) -> None: ...

class ApproveOffsetPlanOperator(ApprovalOperator):
    """Ask a person whether the plan is to be applied; an ``ApprovalOperator`` that knows when not to ask."""
    def __init__(
        self,
        *,
        summary: Any,
        approval: bool | str | XComArg = ...,
        plan_only: bool | str | XComArg = ...,
        plan_ttl: float | str | XComArg = ...,
        response_timeout: timedelta | None = ...,
        **kwargs: Unpack[_ApprovalOperator],
    ) -> None: ...

class BeginOffsetChangeOperator(BaseOperator):
    """Check the plan again before anything is stopped. The setup of a change; it leaves the connector as it is."""
    def __init__(
        self,
        *,
        run_uri: str | XComArg,
        plan_ttl: float | str | XComArg = ...,
        window: str | XComArg = ...,
        control: Literal["rest", "storage", "strimzi", "strimzi+rest"] | XComArg = ...,
        connect_conn_id: str | XComArg = ...,
        kubernetes_conn_id: str | XComArg = ...,
        kafka_conn_id: str | XComArg = ...,
        database_conn_id: str | XComArg = ...,
        hold: float | str | XComArg | None = ...,
        **kwargs: Unpack[_BaseOperator],
    ) -> None: ...

class RestoreConnectorOffsetsOperator(BaseOperator):
    """Undo what a change of the same run left unfinished: prior offsets, then the prior state."""
    def __init__(
        self,
        *,
        control: Literal["rest", "storage", "strimzi", "strimzi+rest"] | XComArg = ...,
        connect_conn_id: str | XComArg = ...,
        kubernetes_conn_id: str | XComArg = ...,
        kafka_conn_id: str | XComArg = ...,
        database_conn_id: str | XComArg = ...,
        run_uri: str | XComArg,
        timeout: float | str | XComArg | None = ...,
        **kwargs: Unpack[_BaseOperator],
    ) -> None: ...

class ClearOffsetSyncsOperator(BaseOperator):
    """Empty a flow's offset-syncs topic, and its checkpoints if requested; a single step."""
    def __init__(
        self,
        *,
        source_connector: str | XComArg,
        checkpoint_connector: str | XComArg = ...,
        checkpoints: bool | str | XComArg = ...,
        foreign: bool | str | XComArg = ...,
        part: str | XComArg = ...,
        source_kafka_conn_id: str | XComArg = ...,
        target_kafka_conn_id: str | XComArg = ...,
        control: Literal["rest", "storage", "strimzi", "strimzi+rest"] | XComArg = ...,
        connect_conn_id: str | XComArg = ...,
        kubernetes_conn_id: str | XComArg = ...,
        **kwargs: Unpack[_BaseOperator],
    ) -> None: ...

class TranslateGroupOffsetsOperator(SparkSubmitOperator):
    """Translate the positions of consumer groups from a flow's source to its target; a ``SparkSubmitOperator``."""
    def __init__(
        self,
        *,
        preview_uri: str | XComArg = ...,
        run_uri: str | XComArg,
        **kwargs: Unpack[_SparkSubmitOperator],
    ) -> None: ...

class CommitGroupOffsetsOperator(BaseOperator):
    """Commit translated offsets into the target's groups, many at once, and verify them by reading them back."""
    def __init__(
        self,
        *,
        run_uri: str | XComArg,
        digest: str | XComArg,
        resume_flow: bool | str | XComArg = ...,
        source_kafka_conn_id: str | XComArg = ...,
        target_kafka_conn_id: str | XComArg = ...,
        control: Literal["rest", "strimzi", "strimzi+rest"] | XComArg = ...,
        connect_conn_id: str | XComArg = ...,
        kubernetes_conn_id: str | XComArg = ...,
        forward_connect_conn_id: str | XComArg = ...,
        timeout: float | str | XComArg | None = ...,
        **kwargs: Unpack[_BaseOperator],
    ) -> None: ...

class DeleteConsumerGroupOperator(BaseOperator):
    """Delete a consumer group without members, with its offsets. Returns the URI of the file that keeps them."""
    def __init__(
        self,
        *,
        group: str | XComArg,
        kafka_conn_id: str | XComArg = ...,
        **kwargs: Unpack[_BaseOperator],
    ) -> None: ...

class DescribeConsumerGroupOperator(BaseOperator):
    """Read the state of a consumer group, and how much it has left to read."""
    def __init__(
        self,
        *,
        group: str | XComArg,
        kafka_conn_id: str | XComArg = ...,
        **kwargs: Unpack[_BaseOperator],
    ) -> None: ...

class ListConsumerGroupsOperator(BaseOperator):
    """List the consumer groups whose whole name matches ``groups``. Returns their names, sorted, for dynamic mapping."""
    def __init__(
        self,
        *,
        groups: str | XComArg = ...,
        kafka_conn_id: str | XComArg = ...,
        **kwargs: Unpack[_BaseOperator],
    ) -> None: ...

class RestoreGroupOffsetsOperator(BaseOperator):
    """Restore the offsets that consumer groups had on the target before a failover, and verify them."""
    def __init__(
        self,
        *,
        run_uri: str | XComArg,
        source_kafka_conn_id: str | XComArg = ...,
        target_kafka_conn_id: str | XComArg = ...,
        control: Literal["rest", "strimzi", "strimzi+rest"] | XComArg = ...,
        connect_conn_id: str | XComArg = ...,
        kubernetes_conn_id: str | XComArg = ...,
        forward_connect_conn_id: str | XComArg = ...,
        timeout: float | str | XComArg | None = ...,
        **kwargs: Unpack[_BaseOperator],
    ) -> None: ...

# Made by `make reference`, for editors and type checkers.

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Literal, Required, TypedDict, Unpack

from airflow.sdk import BaseSensorOperator, XComArg

__all__ = [
    "BackfillTurnSensor",
    "ConnectorPositionSensor",
    "ConnectorStateSensor",
    "ConsumerGroupInactiveSensor",
    "MirrorLagSensor",
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

class _BaseSensorOperator(_BaseOperator, total=False):
    poke_interval: timedelta | float
    timeout: timedelta | float | None
    soft_fail: bool
    mode: str
    exponential_backoff: bool
    max_wait: timedelta | float | None
    silent_fail: bool
    never_fail: bool

class BackfillTurnSensor(BaseSensorOperator):
    """Wait for the window, and until no other run of this DAG is at work on the connector, or on any of several."""
    def __init__(
        self,
        *,
        part: str | XComArg = ...,
        window: str | XComArg = ...,
        connector: str | XComArg = ...,
        connectors: str | XComArg = ...,
        max_rewind: str | XComArg = ...,
        topics: str | XComArg | None = ...,
        partitions: str | XComArg | None = ...,
        kind: str | XComArg = ...,
        **kwargs: Unpack[_BaseSensorOperator],
    ) -> None: ...

class ConnectorPositionSensor(BaseSensorOperator):
    """Wait until a connector has read far enough, for example until it has caught up after a replay."""
    def __init__(
        self,
        *,
        control: Literal["rest", "storage", "strimzi", "strimzi+rest"] | XComArg = ...,
        connect_conn_id: str | XComArg = ...,
        kubernetes_conn_id: str | XComArg = ...,
        topics: str | XComArg | None = ...,
        partitions: str | XComArg | None = ...,
        position: int | str | XComArg | None = ...,
        max_lag: int | str | XComArg = ...,
        connector: str | XComArg,
        kafka_conn_id: str | XComArg = ...,
        deferrable: bool = ...,
        **kwargs: Unpack[_BaseSensorOperator],
    ) -> None: ...

class ConnectorStateSensor(BaseSensorOperator):
    """Wait until a connector and all its tasks are in ``state``: RUNNING, PAUSED, STOPPED (without tasks) or FAILED."""
    def __init__(
        self,
        *,
        control: Literal["rest", "storage", "strimzi", "strimzi+rest"] | XComArg = ...,
        connect_conn_id: str | XComArg = ...,
        kubernetes_conn_id: str | XComArg = ...,
        state: str | XComArg = ...,
        connector: str | XComArg,
        deferrable: bool = ...,
        **kwargs: Unpack[_BaseSensorOperator],
    ) -> None: ...

class ConsumerGroupInactiveSensor(BaseSensorOperator):
    """Wait until a consumer group has no members; its offsets may be changed only then."""
    def __init__(
        self,
        *,
        kafka_conn_id: str | XComArg = ...,
        group: str | XComArg,
        deferrable: bool = ...,
        **kwargs: Unpack[_BaseSensorOperator],
    ) -> None: ...

class MirrorLagSensor(BaseSensorOperator):
    """Wait until a MirrorSource is no further behind its source than requested, in each partition of ``topics``."""
    def __init__(
        self,
        *,
        source_kafka_conn_id: str | XComArg = ...,
        control: Literal["rest", "storage", "strimzi", "strimzi+rest"] | XComArg = ...,
        connect_conn_id: str | XComArg = ...,
        kubernetes_conn_id: str | XComArg = ...,
        topics: str | XComArg | None = ...,
        max_lag_records: int | str | XComArg | None = ...,
        max_lag_seconds: int | str | XComArg | None = ...,
        connector: str | XComArg,
        deferrable: bool = ...,
        **kwargs: Unpack[_BaseSensorOperator],
    ) -> None: ...

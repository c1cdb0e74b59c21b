"""Consumer groups from one cluster to the other, as one task group."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import TaskGroup

from airflow_provider_connect_offsets.operators.failover import (
    ApproveFailoverOperator,
    SnapshotFailoverOperator,
    TranslateGroupOffsetsOperator,
)
from airflow_provider_connect_offsets.operators.failover_flow import (
    BeginFailoverOperator,
    OpenFailoverOperator,
    ReleaseFlowOperator,
)
from airflow_provider_connect_offsets.operators.groups import CommitGroupOffsetsOperator

if TYPE_CHECKING:
    from collections.abc import Mapping


def mirror_failover(  # noqa: PLR0913 - each by its name
    *,
    groups: str = "",
    planned: bool | str = True,
    source_connector: str = "",
    checkpoint_connector: str = "",
    source_alias: str = "",
    target_alias: str = "",
    replication_policy: str = "",
    separator: str = "",
    syncs_on: str = "",
    topics: str = "",
    rewind: str = "",
    min_coverage: float | str = 1.0,
    max_rereads: int | str = "",
    compared: int | str = 100_000,
    compared_total: int | str = 10_000_000,
    trust_checkpoints: bool | str = True,
    drain_timeout: float | str = 300.0,
    resume_flow: bool | str = False,
    approval: bool | str = True,
    dry_run: bool | str = False,
    approval_timeout: timedelta | None = timedelta(hours=12),
    connect_conn_id: str = "kafka_connect_default",
    source_kafka_conn_id: str = "kafka_source",
    target_kafka_conn_id: str = "kafka_target",
    spark_conn_id: str = "spark_default",
    spark: Mapping[str, Any] | None = None,
    forward_connector: str = "",
    forward_connect_conn_id: str = "",
    group_id: str = "failover",
    part: str = "",
) -> TaskGroup:
    """Snapshot, preview, approve, begin, translate, commit, outcome, and release as teardown.

    Every argument but ``approval_timeout``, ``spark`` and ``group_id`` may be a template; what they mean is told by the
    operators (``operators.failover``). After a rejection, or ``approval_timeout`` without an answer, all that follows
    is skipped. ``spark``: more arguments for the ``SparkSubmitOperator`` that translates. ``part`` keeps several groups
    of a DAG apart.
    """
    retrying: dict[str, Any] = {"retries": 2, "retry_delay": timedelta(seconds=10)}
    clients = {
        "connect_conn_id": connect_conn_id,
        "source_kafka_conn_id": source_kafka_conn_id,
        "target_kafka_conn_id": target_kafka_conn_id,
        "forward_connect_conn_id": forward_connect_conn_id,
    }
    submitted = {"conn_id": spark_conn_id, **retrying, **(spark or {})}
    with TaskGroup(group_id) as group:
        snapshot = SnapshotFailoverOperator(
            task_id="snapshot",
            groups=groups,
            planned=planned,
            source_connector=source_connector,
            checkpoint_connector=checkpoint_connector,
            source_alias=source_alias,
            target_alias=target_alias,
            replication_policy=replication_policy,
            separator=separator,
            syncs_on=syncs_on,
            topics=topics,
            rewind=rewind,
            min_coverage=min_coverage,
            max_rereads=max_rereads,
            compared=compared,
            compared_total=compared_total,
            trust_checkpoints=trust_checkpoints,
            forward_connector=forward_connector,
            part=part,
            **clients,
            **retrying,
        )
        first: Any = snapshot.output
        preview = TranslateGroupOffsetsOperator(task_id="preview", run_uri=first, **submitted)
        approve = ApproveFailoverOperator(
            task_id="approve",
            summary=preview.output,
            approval=approval,
            plan_only=dry_run,
            defaults=ApproveFailoverOperator.REJECT,
            response_timeout=approval_timeout,
            retries=0,  # no second question
        )
        opened = OpenFailoverOperator(task_id="open", run_uri=first, **clients, **retrying)
        begin: Any = BeginFailoverOperator(
            task_id="begin", run_uri=first, drain_timeout=drain_timeout, **clients, **retrying
        )
        final: Any = begin.output
        translate = TranslateGroupOffsetsOperator(task_id="translate", run_uri=final, preview_uri=first, **submitted)
        translated: Any = translate.output
        commit = CommitGroupOffsetsOperator(
            task_id="commit",
            run_uri=final,
            digest=translated["digest"],
            resume_flow=resume_flow,
            **clients,
            **retrying,
        )
        release = ReleaseFlowOperator(
            task_id="release", run_uri=first, **clients, retries=10, retry_delay=timedelta(seconds=10)
        )
        outcome = EmptyOperator(task_id="outcome")
        preview >> approve >> opened.as_setup() >> begin >> translate >> commit  # type: ignore[no-untyped-call]
        commit >> release.as_teardown(setups=opened, on_failure_fail_dagrun=True)
        commit >> outcome
    return group


def mirror_failback(
    *,
    forward_connector: str = "",
    forward_connect_conn_id: str = "kafka_connect_default",
    connect_conn_id: str = "",
    source_kafka_conn_id: str = "kafka_target",
    target_kafka_conn_id: str = "kafka_source",
    group_id: str = "failback",
    **asked: Any,
) -> TaskGroup:
    """The same tasks, for groups that go home: to the cluster from which ``forward_connector`` brought the records.

    ``asked``: arguments of ``mirror_failover``. There, ``source_connector`` names the MirrorSource that leads back,
    where there is one, on the Connect cluster ``connect_conn_id`` (empty: the same). Source is the cluster that the
    groups leave, target their home, so that the connections are those of the failover the other way round.
    """
    return mirror_failover(
        planned=True,
        forward_connector=forward_connector,
        forward_connect_conn_id=forward_connect_conn_id,
        connect_conn_id=connect_conn_id,
        source_kafka_conn_id=source_kafka_conn_id,
        target_kafka_conn_id=target_kafka_conn_id,
        group_id=group_id,
        **asked,
    )

"""Consumer groups: offsets that are committed as translated and restored; groups that are listed or deleted."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar

from airflow.sdk import BaseOperator

from airflow_provider_connect_offsets.assets import moved_groups_asset
from airflow_provider_connect_offsets.hooks.failover import flow_connectors
from airflow_provider_connect_offsets.hooks.failures import fail_clearly
from airflow_provider_connect_offsets.hooks.settings import GuardedParameters, configure_clients
from airflow_provider_connect_offsets.offsets.requests.failover import Mode
from airflow_provider_connect_offsets.operators.connector import own_file
from airflow_provider_connect_offsets.operators.failover_flow import FailoverOperator, request_in
from airflow_provider_connect_offsets.operators.shared.common import (
    LEASE_SECONDS,
    Interruptible,
    owner_of,
    report_at,
    report_of,
    run_key,
)
from airflow_provider_connect_offsets.operators.shared.events import ChangeKind, TellsChanges
from airflow_provider_connect_offsets.parameters.connections import GroupConnectionParams
from airflow_provider_connect_offsets.parameters.failover import FlowAfterwardsParams
from airflow_provider_connect_offsets.parameters.taking import Models
from airflow_provider_connect_offsets.parameters.tasks import (
    ApprovedParams,
    ListedGroupsParams,
    OneGroupParams,
    RunParams,
)
from airflow_provider_connect_offsets.words import quantify, trigger_command
from airflow_provider_connect_offsets.workspace.layout import FailoverDirectory

if TYPE_CHECKING:
    from collections.abc import Iterator

    from airflow.sdk import Context

    from airflow_provider_connect_offsets.kafka.cluster import KafkaCluster


class CommitGroupOffsetsOperator(TellsChanges, FailoverOperator):
    """Commit translated offsets into the target's groups, many at once, and verify them by reading them back.

    Prior offsets are kept first. A group that has members, or that has moved since, is left alone, and the task fails
    at the end and names it. What is committed stays committed, and a retry commits what is left. Nothing more is
    committed if records have come to the source since the flow was stopped. After a planned failover the flow's
    connectors stay STOPPED, unless ``resume_flow``.

    Returns how many groups and partitions have the translated offsets, and the URI and URL of the report. Together they
    are one event, of the asset ``assets.moved_groups_asset``.
    """

    parameters: ClassVar[Models] = (RunParams, ApprovedParams, *FailoverOperator.parameters, FlowAfterwardsParams)
    preset: ClassVar[dict[str, Any]] = {"multiple_outputs": True}

    def execute(self, context: Context) -> dict[str, Any]:
        """Commit the translated offsets."""
        from airflow_provider_connect_offsets.operations.connector import stopped
        from airflow_provider_connect_offsets.operations.groups.group_commit import commit_translation
        from airflow_provider_connect_offsets.operations.groups.group_stages import move_groups

        with fail_clearly():
            directory = FailoverDirectory(self.parse_as(RunParams).run_uri)
            resume = self.parse_as(FlowAfterwardsParams).resume_flow
            request, digest = request_in(directory), self.parse_as(ApprovedParams).digest
            planned = request.mode is Mode.PLANNED
            with self.open_flow(planned=planned) as clients:
                clusters, groups = clients.both_clusters, self.target_groups(clients)
                undo = trigger_command("mirror_failover_restore", {"run_uri": directory.uri, **groups.connections})
                target_id = clusters.target.cluster_id()
                try:
                    moved = move_groups(
                        groups,
                        owner_of(context, directory),
                        directory,
                        lambda: commit_translation(directory, clusters, digest=digest, undo=undo),
                    )
                finally:
                    report = report_of(directory)
                members = flow_connectors(clients, request)
                end = stopped.resume if resume else stopped.leave_stopped
                end(members, owner_of(context), seconds=LEASE_SECONDS)
                for _connect, name in () if resume else members:
                    self.log.warning("%r stays STOPPED. Resume it when it should replicate again.", name)
        partitions = quantify(moved.partitions, "partition")
        self.log.info("%s, %s: committed and read back.", quantify(moved.groups, "group"), partitions)
        if moved.late:
            self.log.warning("While groups were committed, %s. These records are not on the target.", moved.late)
        if moved.groups:
            extra = {
                "kind": ChangeKind.GROUPS_MOVED.value,
                "groups": moved.groups,
                "partitions": moved.partitions,
                "run": run_key(context),
                "run_uri": directory.uri,
                "plan_uri": directory.translation,
                "digest": moved.digest,
            }
            self.tell(context, extra, of=lambda: moved_groups_asset(target_id))
        return {"groups": moved.groups, "partitions": moved.partitions, **report_at(report, dag_id=self.dag_id)}


class RestoreGroupOffsetsOperator(FailoverOperator):
    """Restore the offsets that consumer groups had on the target before a failover, and verify them.

    ``run_uri`` is the directory of the final translation (``…/final``). Only partitions that the failover has changed
    are restored, with their metadata. A group that has gone on since is left as it is, and the task fails and names it.
    If the task is killed, run it again. Returns how many groups were restored.
    """

    parameters: ClassVar[Models] = (RunParams, *FailoverOperator.parameters)

    def execute(self, context: Context) -> int:
        """Restore the prior offsets."""
        from airflow_provider_connect_offsets.operations.groups.group_restore import restore_groups
        from airflow_provider_connect_offsets.operations.groups.group_stages import move_groups

        with fail_clearly(), self.open_flow(planned=False) as clients:
            directory = FailoverDirectory(self.parse_as(RunParams).run_uri)
            groups, target = self.target_groups(clients), clients.both_clusters.target
            restored = move_groups(groups, owner_of(context), directory, lambda: restore_groups(directory, target))
        self.log.info(
            "Restored as before the failover, and read back: %s, %s.",
            quantify(restored.groups, "group"),
            quantify(restored.partitions, "partition"),
        )
        for name in restored.emptied:
            self.log.warning("Group %r existed before the failover. It has no offsets now, so Kafka deletes it.", name)
        return restored.groups


class _GroupOperator(GuardedParameters, BaseOperator):
    """A step on consumer groups of one Kafka cluster."""

    parameters: ClassVar[Models] = (GroupConnectionParams,)

    @contextmanager
    def open_kafka(self) -> Iterator[KafkaCluster]:
        """Open the groups' Kafka cluster; what fails is one sentence."""
        from airflow_provider_connect_offsets.hooks.kafka import kafka_cluster

        conn_id = self.parse_as(GroupConnectionParams).kafka_conn_id
        with fail_clearly(), kafka_cluster(conn_id) as kafka:
            yield kafka


class ListConsumerGroupsOperator(_GroupOperator):
    """List the consumer groups whose whole name matches ``groups``. Returns their names, sorted, for dynamic mapping.

    Groups of other kinds, like Connect's own and share groups, are left out.
    """

    parameters: ClassVar[Models] = (ListedGroupsParams, GroupConnectionParams)

    def execute(self, context: Context) -> list[str]:
        """List the groups."""
        del context
        with self.open_kafka() as kafka:
            names = kafka.groups.list_groups(self.parse_as(ListedGroupsParams).groups)
        self.log.info("%s: %s", quantify(len(names), "consumer group"), ", ".join(names))
        return names


class DescribeConsumerGroupOperator(_GroupOperator):
    """Read the state of a consumer group, and how much it has left to read.

    Returns ``{"group": name, "state": Kafka's name of its state, "members": how many, "partitions": how many have an
    offset, "lag": offsets up to the log ends, "gone": how many of the partitions no longer exist}``. The lag counts
    from the log start where the offset is before it.
    """

    parameters: ClassVar[Models] = (OneGroupParams, GroupConnectionParams)

    def execute(self, context: Context) -> dict[str, Any]:
        """Read the group."""
        del context
        from airflow_provider_connect_offsets.observe.partitions import existing_partitions
        from airflow_provider_connect_offsets.operations.groups.group_clients import group_clients

        name = self.parse_as(OneGroupParams).group
        with self.open_kafka() as kafka:
            group_clients(kafka).control.info(name)
            status, committed = kafka.groups.state(name), kafka.groups.offsets(name)
            bounds = kafka.bounds(existing_partitions(kafka, committed))
        lag = sum(max(0, one.log_end - max(committed[where], one.log_start)) for where, one in bounds.items())
        self.log.info("%r is %s with %s; lag %d.", name, status.state, quantify(status.members, "member"), lag)
        counts = {"partitions": len(committed), "lag": lag, "gone": len(committed) - len(bounds)}
        return {"group": name, "state": status.state.value, "members": status.members, **counts}


class DeleteConsumerGroupOperator(Interruptible, TellsChanges, _GroupOperator):
    """Delete a consumer group without members, with its offsets. Returns the URI of the file that keeps them.

    First the offsets are kept as KIP-199 JSON: ``group_offsets_change`` with ``to=file`` creates the group again with
    them. If the removal of the offsets can't be verified, they are restored. The deletion is an event of the group's
    asset. Fails if the group has members, and says how many.
    """

    parameters: ClassVar[Models] = (OneGroupParams, GroupConnectionParams)

    def execute(self, context: Context) -> str:
        """Keep the offsets, and delete the group."""
        from airflow_provider_connect_offsets.operations.groups.group_clients import group_clients
        from airflow_provider_connect_offsets.operations.groups.group_delete import delete_group

        name, kept = self.parse_as(OneGroupParams).group, own_file(context)
        with self.open_kafka() as kafka:
            named = self.parse_as(GroupConnectionParams).values()
            clients = configure_clients(group_clients(kafka, connections=named))
            count = delete_group(name, clients, owner_of(context), kept=kept)
            self.tell_change(context, clients, name, kind=ChangeKind.GROUP_DELETED, partitions=count, offsets_uri=kept)
        whose = quantify(count, "partition")
        self.log.info("Group %r was deleted with its offsets of %s, which are kept in %s", name, whose, kept)
        return kept

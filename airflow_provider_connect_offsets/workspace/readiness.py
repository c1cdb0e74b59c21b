"""Directories of a readiness observation of a flow, and of its history; standard library only.

An attribute without a comment is the URI of the dataset of its name.
"""

from __future__ import annotations

from dataclasses import dataclass

from airflow_provider_connect_offsets.workspace.layout import Directory, MemberPath, ledger_root, rewinds_root
from airflow_provider_connect_offsets.workspace.paths import join, unique_segment


@dataclass(frozen=True, slots=True)
class ReadinessDirectory(Directory):
    """Directory of one readiness observation of a MirrorMaker 2 flow."""

    #: Time of the observation, the flow, and the URI of its history (JSON); written as the last file of the snapshot.
    snapshot = MemberPath("snapshot.json")
    connectors = MemberPath()
    #: Dataset ``connector_offsets`` of the MirrorSource.
    connector_offsets = MemberPath()
    flow_topics = MemberPath()
    #: Dataset ``log_bounds`` of the source topics and of their remote topics, by cluster alias.
    log_bounds = MemberPath()
    #: Dataset ``remaining``: the first record of each partition that was not replicated yet.
    remaining = MemberPath()
    #: Dataset ``stored_records`` of the offset-syncs topic.
    stored_syncs = MemberPath()
    #: Dataset ``stored_records`` of the checkpoints topic.
    stored_checkpoints = MemberPath()
    #: Dataset ``group_offsets`` of the groups on both clusters, by cluster alias.
    group_offsets = MemberPath()
    #: Dataset ``mirror_partitions`` of topics with group offsets, as a planned failover observes them.
    mirror_partitions = MemberPath()
    #: Dataset ``mirror_partitions`` of the target alone, as a failover observes them if the source is lost.
    left_partitions = MemberPath()
    kept_mappings = MemberPath()
    #: Dataset ``record_digests`` of a few source records before the highest positions of groups.
    record_digests = MemberPath()
    readiness = MemberPath()
    group_readiness = MemberPath()
    #: Dataset ``lag_trend``, which the report draws; topic null: all partitions together.
    lag_trend = MemberPath()
    verdicts = MemberPath()


@dataclass(frozen=True, slots=True)
class Kept:
    """Directories that readiness observations of one flow share.

    Attributes:
        workspace: URI of the workspace.
        dag_id: Id of the DAG that observes the flow.
        cluster: The Connect cluster, as datasets name it.
        connector: Name of the MirrorSource.
    """

    workspace: str
    dag_id: str
    cluster: str
    connector: str

    @property
    def history(self) -> str:
        """Directory of the flow's lag history, see :func:`history_root`."""
        name = unique_segment(f"{self.cluster}-{self.connector}")
        return history_root(self.workspace, dag_id=self.dag_id, flow=name)

    @property
    def rewinds(self) -> str:
        """Directory of what resets of the flow have kept, see :func:`~.layout.rewinds_root`."""
        return rewinds_root(self.workspace, cluster=self.cluster, connector=self.connector)

    def ledger(self, target_cluster: str, *, source_alias: str, target_alias: str) -> str:
        """Return the directory of the flow's ledger: a dataset ``mirror_ledger``, or two while one is published."""
        root = ledger_root(
            self.workspace, target_cluster=target_cluster, source_alias=source_alias, target_alias=target_alias
        )
        return join(root, unique_segment(f"{self.cluster}-{self.connector}"))


def history_root(workspace: str, *, dag_id: str, flow: str) -> str:
    """Return the directory of a flow's history: a file of the dataset ``lag_history`` for each run, named by time."""
    return join(workspace, unique_segment(dag_id), "_history", flow)

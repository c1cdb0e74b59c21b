"""Where a look at a flow's readiness lies, and the history of such looks. Standard library only: a job needs it too."""

from __future__ import annotations

from dataclasses import dataclass

from airflow_provider_connect_offsets.workspace.flow_schemas import (
    FLOW_TOPICS,
    GROUP_READINESS,
    KEPT_MAPPINGS,
    LAG_TREND,
    MIRROR_PARTITIONS,
    READINESS,
    RECORD_DIGESTS,
    REMAINING,
)
from airflow_provider_connect_offsets.workspace.layout import Directory, ledger_root, rewinds_root
from airflow_provider_connect_offsets.workspace.paths import join, unique_segment
from airflow_provider_connect_offsets.workspace.schemas import (
    CONNECTOR_OFFSETS,
    CONNECTORS,
    GROUP_OFFSETS,
    LOG_BOUNDS,
    VERDICTS,
)


@dataclass(frozen=True, slots=True)
class ReadinessDirectory(Directory):
    """All that belongs to one look at a MirrorMaker 2 flow."""

    @property
    def snapshot(self) -> str:
        """When it was looked, the flow's names, and where its history is (JSON); written last of the snapshot."""
        return join(self.uri, "snapshot.json")

    @property
    def connectors(self) -> str:
        """Dataset ``connectors``."""
        return join(self.uri, CONNECTORS.name)

    @property
    def connector_offsets(self) -> str:
        """Dataset ``connector_offsets`` of the MirrorSource."""
        return join(self.uri, CONNECTOR_OFFSETS.name)

    @property
    def flow_topics(self) -> str:
        """Dataset ``flow_topics``."""
        return join(self.uri, FLOW_TOPICS.name)

    @property
    def log_bounds(self) -> str:
        """Dataset ``log_bounds`` of the source topics and of their remote topics, by the clusters' aliases."""
        return join(self.uri, LOG_BOUNDS.name)

    @property
    def remaining(self) -> str:
        """Dataset ``remaining``: the first record of each partition that is not replicated yet."""
        return join(self.uri, REMAINING.name)

    @property
    def stored_syncs(self) -> str:
        """Dataset ``stored_records`` of the offset-syncs topic."""
        return join(self.uri, "stored_syncs")

    @property
    def stored_checkpoints(self) -> str:
        """Dataset ``stored_records`` of the checkpoints topic."""
        return join(self.uri, "stored_checkpoints")

    @property
    def group_offsets(self) -> str:
        """Dataset ``group_offsets`` of the groups on both clusters, by the clusters' aliases."""
        return join(self.uri, GROUP_OFFSETS.name)

    @property
    def mirror_partitions(self) -> str:
        """Dataset ``mirror_partitions`` of the topics that groups have offsets in, as a planned failover sees them."""
        return join(self.uri, MIRROR_PARTITIONS.name)

    @property
    def left_partitions(self) -> str:
        """Dataset ``mirror_partitions`` of what the target has: what a failover would see were the source gone."""
        return join(self.uri, "left_partitions")

    @property
    def kept_mappings(self) -> str:
        """Dataset ``kept_mappings``."""
        return join(self.uri, KEPT_MAPPINGS.name)

    @property
    def record_digests(self) -> str:
        """Dataset ``record_digests``: of a few records of the source, those before the highest positions of groups."""
        return join(self.uri, RECORD_DIGESTS.name)

    @property
    def readiness(self) -> str:
        """Dataset ``readiness``."""
        return join(self.uri, READINESS.name)

    @property
    def group_readiness(self) -> str:
        """Dataset ``group_readiness``."""
        return join(self.uri, GROUP_READINESS.name)

    @property
    def lag_trend(self) -> str:
        """Dataset ``lag_trend``: what the page draws; topic null: all partitions together."""
        return join(self.uri, LAG_TREND.name)

    @property
    def verdicts(self) -> str:
        """Dataset ``verdicts``."""
        return join(self.uri, VERDICTS.name)


@dataclass(frozen=True, slots=True)
class Kept:
    """Where looks at flows keep what later ones need.

    ``dag_id``: of the looks; ``cluster``: what the datasets call the Connect cluster; ``connector``: the MirrorSource.
    """

    workspace: str
    dag_id: str
    cluster: str
    connector: str

    @property
    def history(self) -> str:
        """The history of the flow."""
        name = unique_segment(f"{self.cluster}-{self.connector}")
        return history_root(self.workspace, dag_id=self.dag_id, flow=name)

    @property
    def rewinds(self) -> str:
        """What resets of the flow have kept."""
        return rewinds_root(self.workspace, cluster=self.cluster, connector=self.connector)

    def ledger(self, target_cluster: str, *, source_alias: str, target_alias: str) -> str:
        """The ledger of the flow: a file of the dataset ``mirror_ledger``, and while a new one is published two."""
        root = ledger_root(
            self.workspace, target_cluster=target_cluster, source_alias=source_alias, target_alias=target_alias
        )
        return join(root, unique_segment(f"{self.cluster}-{self.connector}"))


def history_root(workspace: str, *, dag_id: str, flow: str) -> str:
    """Where the history of a flow is: a file of the dataset ``lag_history`` for each run, named after its time."""
    return join(workspace, unique_segment(dag_id), "_history", flow)

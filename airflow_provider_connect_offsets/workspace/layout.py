"""Where things lie in a workspace: ``<workspace>/<dag_id>/<run_id>/<dataset>/``. Standard library only."""

from __future__ import annotations

from dataclasses import dataclass

from airflow_provider_connect_offsets.workspace.flow_schemas import (
    CHECKED_CLAIMS,
    COMPARE_RANGES,
    FLOW_TOPICS,
    KEPT_MAPPINGS,
    MIRROR_LEDGER,
    MIRROR_PARTITIONS,
    RECORD_DIGESTS,
    RESET_TOPICS,
    RETURN_PARTITIONS,
    REWINDS,
    SAMPLED_CLAIMS,
    TRANSLATION,
)
from airflow_provider_connect_offsets.workspace.paths import join, unique_segment
from airflow_provider_connect_offsets.workspace.schemas import (
    CONNECTOR_OFFSETS,
    CONNECTORS,
    GROUP_OFFSETS,
    LOG_BOUNDS,
    OFFSET_PLAN,
    ORPHANS,
    STORED_RECORDS,
    VERDICTS,
    Schema,
)


@dataclass(frozen=True, slots=True)
class Directory:
    """What every run's directory has."""

    uri: str

    @property
    def request(self) -> str:
        """What was asked for (JSON)."""
        return join(self.uri, "request.json")

    @property
    def summary(self) -> str:
        """Summary of the Spark job, written last of all: counts, digest (JSON); beside the datasets of Parquet."""
        return join(self.uri, "summary.json")

    @property
    def outcome(self) -> str:
        """How it ended (JSON)."""
        return join(self.uri, "outcome.json")

    @property
    def report(self) -> str:
        """The page for people (HTML)."""
        return join(self.uri, "report.html")

    def _dataset(self, schema: Schema) -> str:
        return join(self.uri, schema.name)


@dataclass(frozen=True, slots=True)
class RunDirectory(Directory):
    """All that belongs to one change within one DAG run."""

    @property
    def connectors(self) -> str:
        """Dataset ``connectors``."""
        return self._dataset(CONNECTORS)

    @property
    def connector_offsets(self) -> str:
        """Dataset ``connector_offsets``."""
        return self._dataset(CONNECTOR_OFFSETS)

    @property
    def log_bounds(self) -> str:
        """Dataset ``log_bounds``."""
        return self._dataset(LOG_BOUNDS)

    @property
    def offset_plan(self) -> str:
        """Dataset ``offset_plan``."""
        return self._dataset(OFFSET_PLAN)

    @property
    def verdicts(self) -> str:
        """Dataset ``verdicts``."""
        return self._dataset(VERDICTS)


@dataclass(frozen=True, slots=True)
class ResetDirectory(RunDirectory):
    """All that belongs to one reset of a MirrorMaker 2 flow: its MirrorSource's change, and what is beside that."""

    @property
    def flow(self) -> str:
        """What of the flow is reset beside the offsets, and how its topics are called (JSON)."""
        return join(self.uri, "flow.json")

    @property
    def sync_records(self) -> str:
        """The flow's offset-syncs topic, record by record as it was: a dataset ``stored_records``."""
        return join(self.uri, "offset_sync_records")

    @property
    def checkpoint_records(self) -> str:
        """The flow's checkpoints topic, likewise."""
        return join(self.uri, "checkpoint_records")

    @property
    def target_bounds(self) -> str:
        """Bounds of the remote topics, by their names on the target: a dataset ``log_bounds``."""
        return join(self.uri, "target_log_bounds")

    @property
    def reset_topics(self) -> str:
        """Dataset ``reset_topics``."""
        return join(self.uri, RESET_TOPICS.name)

    @property
    def rewinds(self) -> str:
        """Dataset ``rewinds``: where the flow stood on both clusters when it was stopped."""
        return join(self.uri, REWINDS.name)


@dataclass(frozen=True, slots=True)
class OrphansDirectory(Directory):
    """All that belongs to one search for offsets whose connector is gone, and to their removal."""

    @property
    def stored_records(self) -> str:
        """Dataset ``stored_records``."""
        return join(self.uri, STORED_RECORDS.name)

    @property
    def known(self) -> str:
        """Names of the connectors that the Connect cluster has, and when it was asked (JSON)."""
        return join(self.uri, "known.json")

    @property
    def orphans(self) -> str:
        """Dataset ``orphans``."""
        return join(self.uri, ORPHANS.name)

    @property
    def removed(self) -> str:
        """What was about to be removed, as a KIP-199 document: the way back."""
        return join(self.uri, "removed.json")


@dataclass(frozen=True, slots=True)
class FailoverDirectory(Directory):
    """All that belongs to one look at a flow, before a failover or in the midst of it, and to what follows from it."""

    @property
    def stored_syncs(self) -> str:
        """Dataset ``stored_records`` of the offset-syncs topic."""
        return join(self.uri, "stored_syncs")

    @property
    def stored_checkpoints(self) -> str:
        """Dataset ``stored_records`` of the checkpoints topic: the last record of each key."""
        return join(self.uri, "stored_checkpoints")

    @property
    def group_offsets(self) -> str:
        """Dataset ``group_offsets``, of both clusters, by their aliases."""
        return join(self.uri, GROUP_OFFSETS.name)

    @property
    def members(self) -> str:
        """Groups that anyone is in, by the side of the flow: group → state (JSON)."""
        return join(self.uri, "members.json")

    @property
    def mirror_partitions(self) -> str:
        """Dataset ``mirror_partitions``."""
        return join(self.uri, MIRROR_PARTITIONS.name)

    @property
    def kept_mappings(self) -> str:
        """Dataset ``kept_mappings``, where the source is alive."""
        return join(self.uri, KEPT_MAPPINGS.name)

    @property
    def ledger(self) -> str:
        """Dataset ``mirror_ledger``, where the source is gone and looks at the flow's readiness have kept one."""
        return join(self.uri, MIRROR_LEDGER.name)

    @property
    def flow_topics(self) -> str:
        """Dataset ``flow_topics``, where there is a ledger: the ids that the remote topics have now."""
        return join(self.uri, FLOW_TOPICS.name)

    @property
    def record_digests(self) -> str:
        """Dataset ``record_digests``."""
        return join(self.uri, RECORD_DIGESTS.name)

    @property
    def forward(self) -> FailoverDirectory:
        """Of a failback: what was seen of the flow that brought the records here."""
        return FailoverDirectory(join(self.uri, "forward"))

    @property
    def return_partitions(self) -> str:
        """Dataset ``return_partitions``, of a failback."""
        return join(self.uri, RETURN_PARTITIONS.name)

    @property
    def compare_ranges(self) -> str:
        """Dataset ``compare_ranges``."""
        return join(self.uri, COMPARE_RANGES.name)

    @property
    def sampled_claims(self) -> str:
        """Dataset ``sampled_claims``; not there where no claim rests on pairs of offsets."""
        return join(self.uri, SAMPLED_CLAIMS.name)

    @property
    def checked_claims(self) -> str:
        """Dataset ``checked_claims``, where there was anything to check."""
        return join(self.uri, CHECKED_CLAIMS.name)

    @property
    def translation(self) -> str:
        """Dataset ``translation``."""
        return join(self.uri, TRANSLATION.name)

    @property
    def before(self) -> str:
        """Datasets ``prior_group_offsets``, one for each commit or restore; the newest holds what can be restored."""
        return join(self.uri, "before")

    @property
    def deleted_groups(self) -> str:
        """Datasets ``deleted_group_offsets``; the newest holds what a restore has yet to commit again."""
        return join(self.uri, "deleted_groups")

    @property
    def restored(self) -> str:
        """How the last restore ended (JSON)."""
        return join(self.uri, "restored.json")

    @property
    def table(self) -> str:
        """The translation, for people's own tools (CSV)."""
        return join(self.uri, "translation.csv")


def run_directory(workspace: str, *, dag_id: str, run_id: str, part: str = "") -> RunDirectory:
    """Give the directory of a run; ``part`` keeps several changes of one run apart."""
    segments = [unique_segment(name) for name in (dag_id, run_id, part) if name]
    return RunDirectory(join(workspace, *segments))


def journal_root(workspace: str) -> str:
    """Where the journals of all connectors lie."""
    return join(workspace, "_journal")


def ledger_root(workspace: str, *, target_cluster: str, source_alias: str, target_alias: str) -> str:
    """Where looks at the readiness of flows between two clusters keep their ledgers, a directory for each connector.

    target_cluster: the id of the target's Kafka cluster, as a failover without the source has no other door.
    """
    flow = unique_segment(f"{source_alias}-{target_alias}")
    return join(workspace, "_mirror", "_ledger", unique_segment(target_cluster), flow)


def rewinds_root(workspace: str, *, cluster: str, connector: str) -> str:
    """Where the datasets ``rewinds`` of all resets of a MirrorSource lie, a directory each; it is only added to."""
    return join(workspace, "_mirror", unique_segment(cluster), unique_segment(connector), REWINDS.name)

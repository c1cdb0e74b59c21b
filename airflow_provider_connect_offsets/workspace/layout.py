"""Directories of a workspace, ``<workspace>/<dag_id>/<run_id>/<dataset>/``; standard library only.

An attribute without a comment is the URI of the dataset of its name.
"""

from __future__ import annotations

from dataclasses import dataclass

from airflow_provider_connect_offsets.workspace.flow_schemas import REWINDS
from airflow_provider_connect_offsets.workspace.paths import join, unique_segment


class MemberPath:
    """An attribute of a :class:`Directory`: the URI of one of its files or datasets.

    ``name``: name of the file or dataset; by default the attribute's name.
    """

    def __init__(self, name: str = "") -> None:
        self._name = name

    def __set_name__(self, _owner: type[Directory], attribute: str) -> None:
        self._name = self._name or attribute

    def __get__(self, directory: Directory, _owner: type[Directory]) -> str:
        return join(directory.uri, self._name)


class SharedPath(MemberPath):
    """An attribute of a :class:`RunDirectory`: the URI of a dataset that it may share with other runs."""

    def __get__(self, directory: RunDirectory, _owner: type[RunDirectory]) -> str:  # type: ignore[override]
        return join(directory.shared or directory.uri, self._name)


@dataclass(frozen=True, slots=True)
class Directory:
    """A run's directory; ``uri`` is any URI that fsspec and Hadoop understand."""

    uri: str

    #: The request (JSON).
    request = MemberPath("request.json")
    #: Summary of the Spark job, written after its datasets: counts, worst verdicts, digest (JSON).
    summary = MemberPath("summary.json")
    #: The outcome (JSON).
    outcome = MemberPath("outcome.json")
    #: Who has approved or rejected it: an ``Approval`` (JSON).
    approval = MemberPath("approval.json")
    #: The report (HTML).
    report = MemberPath("report.html")


@dataclass(frozen=True, slots=True)
class RunDirectory(Directory):
    """Directory of one change within one DAG run.

    Attributes:
        shared: URI of the directory of its datasets, if they also have rows of other connectors; empty: its own.
    """

    shared: str = ""

    connectors = SharedPath()
    connector_offsets = SharedPath()
    log_bounds = SharedPath()
    #: Dataset ``replication_slots``, of a connector that reads one.
    replication_slots = SharedPath()
    #: Dataset ``next_records``, of a change that skips records.
    next_records = SharedPath()
    offset_plan = SharedPath()
    verdicts = SharedPath()
    #: The offsets that an applied change has replaced (KIP-199 JSON); ``to=file`` takes it.
    prior_offsets = MemberPath("prior_offsets.json")

    def of(self, connector: str) -> dict[str, tuple[str]]:
        """Return the arguments by which ``read_dataset`` reads only this change's rows, which are ``connector``'s."""
        return {"connector": (connector,)} if self.shared else {}


@dataclass(frozen=True, slots=True)
class FleetPaths(RunDirectory):
    """Directory of one change of many connectors within one DAG run; its datasets have the rows of all of them."""

    #: The connectors, and notes for the approver (JSON).
    listing = MemberPath("fleet.json")
    #: How all applied changes are undone at once: a ``FleetUndo`` (JSON).
    undo = MemberPath("undo.json")

    def member(self, connector: str) -> RunDirectory:
        """Return the directory of one connector, which shares the datasets of all."""
        return RunDirectory(join(self.uri, "by_connector", unique_segment(connector)), shared=self.uri)


@dataclass(frozen=True, slots=True)
class ResetDirectory(RunDirectory):
    """Directory of one reset of a MirrorMaker 2 flow, which includes a change of its MirrorSource."""

    #: What is reset other than offsets, and the names of the flow's topics: a ``FlowReset`` (JSON).
    flow = MemberPath("flow.json")
    #: Dataset ``stored_records``: all records of the offset-syncs topic before the reset.
    sync_records = MemberPath("offset_sync_records")
    #: Dataset ``stored_records``: all records of the checkpoints topic before the reset.
    checkpoint_records = MemberPath()
    #: Dataset ``log_bounds`` of the remote topics, by their names on the target.
    target_bounds = MemberPath("target_log_bounds")
    reset_topics = MemberPath()
    #: Dataset ``rewinds``: the flow's positions on both clusters when it was stopped.
    rewinds = MemberPath()


@dataclass(frozen=True, slots=True)
class ReplayDirectory(Directory):
    """Directory of one bounded replay within one DAG run."""

    connectors = MemberPath()
    replay_ranges = MemberPath()
    replay_plan = MemberPath()
    verdicts = MemberPath()


@dataclass(frozen=True, slots=True)
class OrphansDirectory(Directory):
    """Directory of one search for offsets of deleted connectors, and of their removal."""

    stored_records = MemberPath()
    #: Names of the connectors of the Connect cluster, and when they were listed (JSON).
    known = MemberPath("known.json")
    orphans = MemberPath()
    #: The offsets to be removed, as a KIP-199 document from which they can be restored.
    removed = MemberPath("removed.json")


@dataclass(frozen=True, slots=True)
class PoisonDirectory(Directory):
    """Directory of one search for the record on which a sink failed."""

    #: Datasets ``poison_records``; the newest has all records of the run.
    poison_records = MemberPath()


@dataclass(frozen=True, slots=True)
class FailoverDirectory(Directory):
    """Directory of one observation of a flow, before or during a failover, and of what follows from it."""

    #: Dataset ``stored_records`` of the offset-syncs topic.
    stored_syncs = MemberPath()
    #: Dataset ``stored_records`` of the checkpoints topic: the last record of each key.
    stored_checkpoints = MemberPath()
    #: Dataset ``group_offsets`` of both clusters, by alias.
    group_offsets = MemberPath()
    #: Groups with members on each side of the flow: side → group → state (JSON).
    members = MemberPath("members.json")
    mirror_partitions = MemberPath()
    #: Dataset ``kept_mappings``, if the source is alive.
    kept_mappings = MemberPath()
    #: Dataset ``mirror_ledger``, if the source is lost and readiness observations have written one.
    ledger = MemberPath("mirror_ledger")
    #: Dataset ``flow_topics`` with the present ids of the remote topics, if there is a ledger.
    flow_topics = MemberPath()
    record_digests = MemberPath()

    @property
    def forward_directory(self) -> FailoverDirectory:
        """Directory of a failback's observation of the forward flow, which replicated the records to here."""
        return FailoverDirectory(join(self.uri, "forward"))

    @property
    def final_directory(self) -> FailoverDirectory:
        """Directory of the observation after the flow's connectors were stopped, in that of the preview."""
        return FailoverDirectory(join(self.uri, "final"))

    #: A ``StandbyDirectory`` for each driver that waits for this observation.
    standby = MemberPath()
    #: Dataset ``return_partitions`` of a failback.
    return_partitions = MemberPath()
    compare_ranges = MemberPath()
    #: Dataset ``sampled_claims``; missing if no claim rests on offset mappings alone.
    sampled_claims = MemberPath()
    #: Dataset ``checked_claims``, if there was any claim to check.
    checked_claims = MemberPath()
    translation = MemberPath()
    #: Datasets ``prior_group_offsets``, one for each commit or restore; the newest is what can be restored.
    before = MemberPath()
    #: Datasets ``deleted_group_offsets``; the newest is what a restore has yet to commit again.
    deleted_groups = MemberPath()
    #: The outcome of the last restore (JSON).
    restored = MemberPath("restored.json")
    #: The translation for other tools (CSV).
    table = MemberPath("translation.csv")


@dataclass(frozen=True, slots=True)
class StandbyDirectory(Directory):
    """Where an operator and a Spark driver that waits for it leave each other messages, which are empty files."""

    #: The operator needs a driver, as long as this file exists.
    wanted = MemberPath()
    #: The driver is ready.
    ready = MemberPath()
    #: The operator has written the datasets.
    observed = MemberPath()


def run_directory(workspace: str, *, dag_id: str, run_id: str, part: str = "") -> RunDirectory:
    """Return the directory of a run.

    Args:
        workspace: URI of the workspace.
        dag_id: Id of the DAG.
        run_id: Id of its run.
        part: Separates several changes of one run; empty if there is one only.
    """
    segments = [unique_segment(name) for name in (dag_id, run_id, part) if name]
    return RunDirectory(join(workspace, *segments))


def journal_root(workspace: str) -> str:
    """Return the directory of all journals."""
    return join(workspace, "_journal")


def audit_root(workspace: str) -> str:
    """Return the directory of the audit log."""
    return join(workspace, "_audit")


def ledger_root(workspace: str, *, target_cluster: str, source_alias: str, target_alias: str) -> str:
    """Return the directory of the ledgers of all flows between two clusters, which has a directory for each connector.

    Args:
        workspace: URI of the workspace.
        target_cluster: Id of the target's Kafka cluster; a failover without the source can reach no other.
        source_alias: Alias of the source cluster.
        target_alias: Alias of the target cluster.
    """
    flow = unique_segment(f"{source_alias}-{target_alias}")
    return join(workspace, "_mirror", "_ledger", unique_segment(target_cluster), flow)


def rewinds_root(workspace: str, *, cluster: str, connector: str) -> str:
    """Return the directory of the datasets ``rewinds`` of all resets of a MirrorSource; none is ever removed."""
    return join(workspace, "_mirror", unique_segment(cluster), unique_segment(connector), REWINDS.name)

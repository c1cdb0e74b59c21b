"""Shows what operations have left unfinished in a workspace, and finishes or undoes it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from airflow_provider_connect_offsets.cli import importing
from airflow_provider_connect_offsets.cli.configured import journal_store
from airflow_provider_connect_offsets.cli.journals import own_workspace
from airflow_provider_connect_offsets.cli.messages import tell
from airflow_provider_connect_offsets.cli.opened import open_rest, open_storage, open_strimzi
from airflow_provider_connect_offsets.connect.storage.offsets_topic import OffsetsTopic
from airflow_provider_connect_offsets.exceptions import InvalidInput, JournalDamaged
from airflow_provider_connect_offsets.kafka.cluster import KafkaCluster
from airflow_provider_connect_offsets.observe.clients import Clients, Origin
from airflow_provider_connect_offsets.observe.clusters import Clusters
from airflow_provider_connect_offsets.operations.groups.group_clients import group_clients
from airflow_provider_connect_offsets.operations.groups.group_stages import groups_journal
from airflow_provider_connect_offsets.operations.orphans import orphans_journal
from airflow_provider_connect_offsets.operations.registry import journal_of, make_registry
from airflow_provider_connect_offsets.operations.stages.captured import connections_of
from airflow_provider_connect_offsets.saga import Journal, Lease, Owner, SagaRecord, Toward, journals, settle

_TIMEOUT = 120.0
# Strimzi's operator may miss an event; it then acts at its next periodic reconciliation, every two minutes.
_STRIMZI_TIMEOUT = 300.0


@contextmanager
def open_clients(  # noqa: PLR0913 - one for each option
    workspace: str,
    timeout: float | None = None,
    /,
    *,
    url: str | None = None,
    strimzi_cluster: str | None = None,
    namespace: str | None = None,
    config: Path | None = None,
    flow: str | None = None,
    kafka: str | None = None,
    source_kafka: str | None = None,
    target_kafka: str | None = None,
) -> Iterator[Clients]:
    """Open clients of the clusters named on the command line.

    Args:
        workspace: URI of the workspace; empty: nothing is changed, so there are no journals.
        timeout: Seconds to wait for the end of a rebalance, and for each state; None: those of a change.
        url: A worker's REST API; None: offsets are reached by resources of Strimzi, too.
        strimzi_cluster: The resource of the cluster if Strimzi's operator runs it; None: it does not.
        namespace: Namespace of that resource; None: that of the current context of kubectl.
        config: Properties of the worker whose storage is read; None: offsets are reached by the other two.
        flow: Which flow of a dedicated MirrorMaker 2; None: the only one.
        kafka: Address, or JSON file of client settings, of the cluster whose logs the positions refer to; None: not
            needed.
        source_kafka: Likewise, of the source cluster of a flow that was reset; None: not needed.
        target_kafka: Likewise, of the target cluster of that flow, or None.
    """
    with ExitStack() as stack:
        if config is not None:
            connect = open_storage(config, flow).clients("")
        else:
            connect = _connect(stack, url, strimzi_cluster, namespace, timeout)
        addresses = kafka or source_kafka, source_kafka, target_kafka
        logs, source, target = (stack.enter_context(KafkaCluster(_settings(one))) if one else None for one in addresses)
        cluster, also = connect.control.cluster_names()
        yield replace(
            connect,
            logs=logs,
            groups=None if logs is None else logs.groups,
            timeout=timeout or (_TIMEOUT if strimzi_cluster is None else _STRIMZI_TIMEOUT),
            cluster=cluster,
            also=also,
            clusters=Clusters(source, target) if source and target else None,
            workspace=workspace,
            journal=journal_store(workspace) if workspace else None,
        )


def _connect(
    stack: ExitStack, url: str | None, strimzi_cluster: str | None, namespace: str | None, timeout: float | None
) -> Clients:
    """Open the Connect cluster alone, as ``hooks.clients`` does for the control that fits."""
    rest = stack.enter_context(open_rest((url,), (url,), timeout or _TIMEOUT)) if url else None
    if strimzi_cluster is None:
        if rest is None:
            raise InvalidInput("Give the URL of a worker (--url), or the resource of its cluster (--strimzi-cluster).")
        return Clients(rest, rest)
    strimzi = stack.enter_context(open_strimzi(strimzi_cluster, namespace, timeout or _STRIMZI_TIMEOUT))
    if rest is None:
        return Clients(strimzi, strimzi, origin=Origin.STRIMZI)
    # Imports the Kubernetes client, which open_strimzi has found installed.
    from airflow_provider_connect_offsets.connect.strimzi.with_rest import StrimziWithRest

    return Clients(rest, StrimziWithRest(strimzi, rest))


def show(workspace: str | None) -> None:
    """Print a line for each operation that is unfinished; raises :class:`JournalDamaged` once all others are shown.

    ``workspace``: URI of the workspace; None: this user's own.
    """
    count, damaged = 0, list[JournalDamaged]()
    workspace = workspace or own_workspace()
    for journal in journals(journal_store(workspace)):
        try:
            left = journal.read_left()
        except JournalDamaged as error:
            damaged.append(error)
            continue
        if left is not None:
            click.echo(_line(*left))
            count += 1
    if damaged:
        raise JournalDamaged(" ".join(map(str, damaged))) from damaged[0]
    if not count:
        tell(f"Nothing is unfinished in {workspace}.")


def recover(workspace: str, connector: str, *, toward: Toward, run: str | None, **systems: Any) -> None:
    """Finish or undo what was left of a connector.

    Args:
        workspace: URI of the workspace.
        connector: The connector.
        toward: Whether to finish or undo it.
        run: The run whose lease is ended although it has not run out; None: no lease is ended.
        systems: The systems to open, see :func:`open_clients`.

    Raises:
        Overlap: Another run changes the connector.
        LeftStopped: Neither the plan nor the prior state could be verified.
        StoreError: A system does not answer, or refuses.
    """
    with open_clients(workspace, **systems) as clients:
        _settle(journal_of(clients, connector), clients, f"for connector {connector!r}", toward=toward, run=run)


def recover_group(workspace: str, group: str, kafka: str, *, toward: Toward, run: str | None) -> None:
    """Finish or undo what was left of a consumer group in the cluster ``kafka``; raises as :func:`recover` does."""
    with KafkaCluster(_settings(kafka)) as cluster:
        clients = replace(group_clients(cluster, workspace, timeout=_TIMEOUT), journal=journal_store(workspace))
        _settle(journal_of(clients, group), clients, f"for consumer group {group!r}", toward=toward, run=run)


def _settle(
    journal: Journal, clients: Clients, what: str, *, toward: Toward = Toward.BACK, run: str | None = None
) -> None:
    left = settle(
        journal, Owner.here(run=run or "connect-offsets recover", task="recover"), make_registry(clients), toward=toward
    )
    nothing = f"There is nothing to recover {what}."
    tell(left.sentence if left else f"{nothing}{_describe_elsewhere(clients.workspace, journal)}")


def _describe_elsewhere(workspace: str, journal: Journal) -> str:
    """Describe unfinished operations on a resource of that name in another cluster; empty if there are none."""
    segment = journal.uri.rpartition("/")[2]
    lefts = [one.read_left() for one in journals(journal_store(workspace)) if one.resource == segment]
    lines = [_line(*left) for left in lefts if left is not None]
    if not lines:
        return ""
    return (
        f" But in another cluster, an operation on the same name is unfinished: {' '.join(lines)}. To recover it, name "
        "that cluster with --url or, if Strimzi's operator runs it, with --strimzi-cluster."
    )


def recover_groups(workspace: str, target: str, *, run: str | None) -> None:
    """Commit the offsets of groups on ``target`` that a dead run deleted; ``run``, errors: see :func:`recover`."""
    with KafkaCluster(_settings(target)) as cluster:
        clients = replace(group_clients(cluster, workspace, timeout=_TIMEOUT), journal=journal_store(workspace))
        _settle(groups_journal(clients), clients, f"for the consumer groups on {target}", run=run)


def recover_orphans(workspace: str, topic: str, *, url: str, kafka: str, run: str | None) -> None:
    """Finish what a dead run has begun to remove from an offsets topic.

    ``url``: a worker's REST API, which lists the existing connectors. ``kafka``: the topic's cluster, as in
    :func:`open_clients`. ``run``, errors: see :func:`recover`.
    """
    with open_clients(workspace, url=url) as connect, OffsetsTopic(_settings(kafka), topic) as stored:
        clients = replace(connect, topic=stored)
        _settle(orphans_journal(clients), clients, f"for a removal from {topic}", run=run)


def recover_import(config: Path, flow: str | None, workspace: str | None, *, forced: bool) -> None:
    """Undo what a dead import has left in a storage; raises as ``importing.settle`` does."""
    storage = open_storage(config, flow, forced=forced)
    settled = importing.settle(storage, workspace)
    tell(settled or f"No import into {storage.name} is unfinished.")


def _line(record: SagaRecord, lease: Lease | None) -> str:
    at = None if lease is None else datetime.fromtimestamp(lease.heard_at, tz=UTC)
    heard = "" if at is None else f", last heard from at {at:%Y-%m-%d %H:%M:%S} UTC"
    begun = [f"{one.title} {one.subject}" for one in record.stages if one.progress.is_captured]
    connections = connections_of(record)
    named = f"; by the connections {', '.join(connections)}" if connections else ""
    return (
        f"{record.resource}: {record.operation} by run {record.owner.run} (task {record.owner.task}, "
        f"{record.owner.host}){heard}; state: {record.state}; "
        f"begun: {', '.join(begun) or 'nothing'}{named}"
    )


def _settings(text: str) -> Mapping[str, Any]:
    path = Path(text)
    if not path.is_file():
        return {"bootstrap.servers": text}
    try:
        settings = json.loads(path.read_text())
    except ValueError as error:
        raise InvalidInput(f"The client settings in {path} aren't valid JSON: {error}") from error
    if not isinstance(settings, dict):
        raise InvalidInput(f"The client settings in {path} must be a JSON object.")
    return settings

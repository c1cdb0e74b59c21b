"""Resets a MirrorMaker 2 flow: offsets, offset syncs and, if requested, checkpoints, while the flow is stopped.

One critical section: the offsets are written and read back first, as they can be restored; then the flow's internal
topics are emptied, which can't be undone, but does no harm to a flow whose offsets are verified.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from airflow_provider_connect_offsets.connect.protocols import State
from airflow_provider_connect_offsets.exceptions import Drift, InvalidInput
from airflow_provider_connect_offsets.observe.clients import Clients
from airflow_provider_connect_offsets.observe.flow.flow_snapshot import keep_records
from airflow_provider_connect_offsets.observe.flow.kept_mappings import append_rewinds, keep_rewinds
from airflow_provider_connect_offsets.observe.waiting import consumes
from airflow_provider_connect_offsets.offsets.plan import OffsetPlan, plan_digest
from airflow_provider_connect_offsets.offsets.requests.flow_reset import FlowReset
from airflow_provider_connect_offsets.offsets.sync_record import parse_sync
from airflow_provider_connect_offsets.operations.connector.apply import carry_out
from airflow_provider_connect_offsets.operations.connector.plans import read_plan, refuse_unapproved
from airflow_provider_connect_offsets.operations.connector.stepwise import refuse_unless_stopped
from airflow_provider_connect_offsets.operations.flow.new_syncs import await_new_syncs, openings
from airflow_provider_connect_offsets.operations.registry import journal_of, operation_on_connector
from airflow_provider_connect_offsets.operations.stages.connector_stages import ResumeConnector, StopConnector
from airflow_provider_connect_offsets.operations.stages.flow_stages import EmptyTopics
from airflow_provider_connect_offsets.operations.stages.offset_stages import change_stages
from airflow_provider_connect_offsets.saga import Journal, Left, Owner, Stage, operate
from airflow_provider_connect_offsets.words import join_first, quantify
from airflow_provider_connect_offsets.workspace.datasets import read_dataset
from airflow_provider_connect_offsets.workspace.files import read_json
from airflow_provider_connect_offsets.workspace.flow_schemas import RESET_TOPICS, REWINDS
from airflow_provider_connect_offsets.workspace.layout import ResetDirectory, rewinds_root
from airflow_provider_connect_offsets.workspace.outcome import Outcome, Result

log = logging.getLogger(__name__)
_NAMED = 5


@dataclass(frozen=True, slots=True)
class ResetPlan:
    """An approved reset of a flow: the plan for the MirrorSource's offsets, and the other stores to reset."""

    offsets: OffsetPlan
    reset: FlowReset

    @property
    def digest(self) -> str:
        """Digest of both."""
        return plan_digest([self.offsets.digest, self.reset.digest()])


def read_reset(run: ResetDirectory, *, digest: str | None = None) -> ResetPlan:
    """Read the plan of ``run``; raises as ``read_plan`` does."""
    plan = ResetPlan(read_plan(run), FlowReset.from_json(read_json(run.flow)))
    refuse_unapproved(run, plan.digest, approved=digest)
    return plan


def topic_journals(reset: FlowReset, clients: Clients) -> Iterator[Journal]:
    """Yield the journals of the resources that resets may share: the MirrorCheckpoint and the internal topics."""
    if reset.checkpoint_connector:
        yield journal_of(clients, reset.checkpoint_connector)
    for emptied in reset.emptied_topics:
        cluster = clients.both_clusters.on(emptied.side).cluster_id()
        yield Journal(clients.journals, cluster=cluster, resource=f"topic {emptied.topic}")


def reset_flow(
    plan: ResetPlan, clients: Clients, owner: Owner, run: ResetDirectory, *, sync_timeout: float = 180.0
) -> Outcome:
    """Make the planned reset, and wait for the new offset syncs that prove it.

    Args:
        plan: The approved plan.
        clients: Clients of the flow's connectors and both clusters.
        owner: This process.
        run: Directory of the run.
        sync_timeout: Seconds to wait for new syncs.

    Raises:
        NotRunning: The flow was reset, but no new sync proves it. Other errors are those of ``apply_plan``.
    """
    _refuse_unforeseen(plan, clients, run)
    outcome = carry_out(
        plan.offsets,
        clients,
        owner,
        reset_stages(plan, clients, run),
        operation="the flow reset",
        others=list(topic_journals(plan.reset, clients)),
    )
    if outcome.result is not Result.APPLIED:
        return outcome
    history = rewinds_root(clients.workspace, cluster=clients.cluster, connector=plan.reset.source_connector)
    append_rewinds(run, history, digest=plan.offsets.digest)
    return _prove(outcome, plan, clients, run, sync_timeout)


def reset_stages(plan: ResetPlan, clients: Clients, run: ResetDirectory) -> list[Stage]:
    """Return the stages of a reset: a change during which the MirrorCheckpoint is stopped and the topics emptied."""
    reset = plan.reset
    stop, alter, resume, check = change_stages(
        plan.offsets,
        clients,
        at_stop=lambda at_stop, fitted: keep_rewinds(run, fitted, at_stop, clients, reset.flow),
    )
    empty = EmptyTopics(reset.source_connector, clients, reset.emptied_topics, kept=run.uri)
    if reset.checkpoint_connector is None:
        return [stop, alter, empty, resume, check]
    checkpoint = reset.checkpoint_connector
    first, last = StopConnector(checkpoint, clients, optional=True), ResumeConnector(checkpoint, clients, optional=True)
    return [first, stop, alter, empty, resume, last, check]


def clear_syncs(
    reset: FlowReset, clients: Clients, owner: Owner, run: ResetDirectory, *, foreign: bool
) -> dict[str, int]:
    """Keep the records of the flow's internal topics in ``run``, and empty the topics, as a step of its own.

    What a dead run left is undone first.

    Args:
        reset: The flow, and which topics are emptied.
        clients: Clients of its connectors and both clusters.
        owner: This process.
        run: Directory of the run.
        foreign: True if syncs of topics that the flow does not replicate may be deleted as well.

    Returns:
        Topic → how many offsets were deleted.

    Raises:
        NotStopped: A connector runs; nothing was changed.
        InvalidInput: There are foreign syncs, and ``foreign`` is false; nothing was changed.
        Overlap: Another run changes the flow; nothing was changed.
        StoreError: A system does not answer, or refuses; some records may be gone.
    """
    stage = EmptyTopics(reset.source_connector, clients, reset.emptied_topics, kept=run.uri)

    def stages(_left: Sequence[Left]) -> list[EmptyTopics]:
        for connector in filter(None, (reset.source_connector, reset.checkpoint_connector)):
            refuse_unless_stopped(clients, connector)
        if not foreign:
            _refuse_foreign(reset, clients)
        keep_records(reset, clients, run)
        return [stage]

    others = list(topic_journals(reset, clients))
    name = "the emptying of the internal topics"
    made = operate(operation_on_connector(clients, reset.source_connector, name, stages, others=others), owner)
    return dict(made.saga.stage(stage.name).facts.get("emptied", {}))


def _prove(outcome: Outcome, plan: ResetPlan, clients: Clients, run: ResetDirectory, timeout: float) -> Outcome:
    reset = plan.reset
    names = " and ".join(repr(where.topic) for where in reset.emptied_topics)
    message = f"{outcome.message} {names} {'were' if reset.checkpoints else 'was'} emptied."
    if outcome.final_state != State.RUNNING:
        start = clients.control.by_hand(plan.offsets.connector, State.RUNNING)
        start = f"{start[0].upper()}{start[1:]}"
        return replace(outcome, message=f"{message} {start}. Then MirrorMaker 2 writes new syncs with new records.")
    expected = openings(read_dataset(run.rewinds, REWINDS))
    proof = await_new_syncs(plan.offsets, reset, expected, clients, timeout=timeout)
    warnings = outcome.warnings
    if proof.missing_partitions:
        first = proof.missing_partitions[0]
        late = (
            f"After {timeout:.0f} s, {quantify(len(proof.missing_partitions), 'partition')} still had no new offset "
            f"sync, for example {first.topic!r} partition {first.partition}. Until MirrorMaker 2 writes one, it does "
            "not translate group offsets of such a partition."
        )
        log.warning("%s", late)
        warnings = (*warnings, late)
    return replace(outcome, message=f"{message} {proof}", warnings=warnings)


def _refuse_unforeseen(plan: ResetPlan, clients: Clients, run: ResetDirectory) -> None:
    """Raise :class:`Drift` if the reset would delete syncs of another flow's topics that were not approved."""
    reset = plan.reset
    foreseen = {row["topic"] for row in read_dataset(run.reset_topics, RESET_TOPICS)}
    if foreign := _foreign_topics(reset, clients, foreseen=foreseen):
        raise Drift(
            f"Nothing was stopped or changed. Since the plan was made, {reset.syncs.topic!r} has received syncs of "
            f"topics that {reset.source_connector!r} does not replicate: {join_first(foreign, _NAMED)}. The reset "
            "would delete these syncs, but nobody has approved that. Plan again."
        )


def _refuse_foreign(reset: FlowReset, clients: Clients) -> None:
    if foreign := _foreign_topics(reset, clients):
        raise InvalidInput(
            f"Nothing was written. {reset.syncs.topic!r} holds syncs of topics that {reset.source_connector!r} does "
            f"not replicate: {join_first(foreign, _NAMED)}. Emptying the topic would also delete these syncs, which "
            "another flow may need. If that is intended, set foreign=True."
        )


def _foreign_topics(reset: FlowReset, clients: Clients, *, foreseen: Collection[str] = ()) -> list[str]:
    """List topics that the flow's offset-syncs topic has syncs of, though its MirrorSource does not replicate them.

    If the MirrorSource's configuration is unknown, it may replicate any topic.

    Args:
        reset: The flow.
        clients: Clients of its connectors and both clusters.
        foreseen: Topics to leave out.

    Raises:
        UnreadablePattern: A configured pattern can't be read.
        StoreError: A system does not answer, or refuses.
    """
    replicates = consumes(clients.control.info(reset.source_connector))
    if replicates is None:
        return []
    records = clients.both_clusters.on(reset.syncs.side).records(reset.syncs.topic)
    synced = {sync.where.topic for record in records if (sync := parse_sync(record.key, record.value)) is not None}
    return sorted(topic for topic in synced.difference(foreseen) if not replicates(topic))

"""The reset of a MirrorMaker 2 flow: offsets, offset syncs and, as asked, checkpoints, while all of it stands still.

One critical section: the offsets are written and proved first, as they can be put back; then the flow's own topics are
emptied, which can't be taken back, but does no harm to a flow whose offsets are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from airflow_provider_connect_offsets.connect.protocols import ConnectorInfo, State
from airflow_provider_connect_offsets.exceptions import Drift, PlanRefused
from airflow_provider_connect_offsets.observe.clients import Clients, Origin
from airflow_provider_connect_offsets.observe.flow.rewinds import append_rewinds, keep_rewinds
from airflow_provider_connect_offsets.offsets.plan import OffsetPlan, plan_digest
from airflow_provider_connect_offsets.offsets.requests.flow_reset import FlowReset
from airflow_provider_connect_offsets.offsets.requests.patterns import configured_pattern
from airflow_provider_connect_offsets.offsets.sync_record import parse_sync
from airflow_provider_connect_offsets.operations.connector import outcomes
from airflow_provider_connect_offsets.operations.connector.apply import carry_out
from airflow_provider_connect_offsets.operations.connector.plans import read_plan
from airflow_provider_connect_offsets.operations.flow.new_syncs import await_new_syncs, openings
from airflow_provider_connect_offsets.operations.stages import recovery
from airflow_provider_connect_offsets.operations.stages.connector_stages import ResumeConnector, StopConnector
from airflow_provider_connect_offsets.operations.stages.flow_stages import EmptyTopics
from airflow_provider_connect_offsets.operations.stages.offset_stages import change_stages
from airflow_provider_connect_offsets.saga.executor import Toward
from airflow_provider_connect_offsets.saga.journal import Journal
from airflow_provider_connect_offsets.saga.lease import Owner
from airflow_provider_connect_offsets.saga.stage import Stage
from airflow_provider_connect_offsets.workspace.datasets import read_dataset
from airflow_provider_connect_offsets.workspace.files import read_json
from airflow_provider_connect_offsets.workspace.flow_schemas import RESET_TOPICS, REWINDS
from airflow_provider_connect_offsets.workspace.layout import ResetDirectory
from airflow_provider_connect_offsets.workspace.outcome import Outcome, Result

_NAMED = 3


@dataclass(frozen=True, slots=True)
class ResetPlan:
    """What was approved: the MirrorSource's offsets, and what of its flow is reset beside them."""

    offsets: OffsetPlan
    reset: FlowReset

    @property
    def digest(self) -> str:
        """That of both together."""
        return plan_digest([self.offsets.digest, self.reset.digest()])


def read_reset(run: ResetDirectory, *, digest: str | None = None) -> ResetPlan:
    """Read the plan of ``run``; raises as ``read_plan`` does."""
    plan = ResetPlan(read_plan(run), FlowReset.from_json(read_json(run.flow)))
    if digest is not None and plan.digest != digest:
        raise PlanRefused(
            f"Nothing was stopped or changed. The plan in {run.uri} is not the one that was approved: its digest is "
            f"{plan.digest}, not {digest}. Plan again."
        )
    return plan


@dataclass(frozen=True, slots=True)
class ResetJournals:
    """The journal of the MirrorSource, and those whose holder keeps resets apart that have anything else in common.

    ``history``: where the pairs of offsets of all its resets are kept.
    """

    journal: Journal
    locks: Sequence[Journal]
    history: str


def reset_flow(
    plan: ResetPlan,
    clients: Clients,
    held: ResetJournals,
    owner: Owner,
    run: ResetDirectory,
    *,
    sync_timeout: float = 180.0,
) -> Outcome:
    """Make the reset that was planned, and wait for the new syncs that prove it, at most ``sync_timeout`` seconds.

    Raises as ``apply_plan`` does, and :class:`NotRunning` where the flow was reset, but no new sync shows it.
    """
    offsets = plan.offsets
    _refuse_unforeseen(plan, clients, run)
    with held.journal.claim(owner, others=held.locks) as entry:
        stages = reset_stages(plan, clients, run)
        outcome = carry_out(offsets, clients, held.journal, entry, owner, stages, operation="the reset of the flow")
    if outcome.result is not Result.APPLIED:
        return outcome
    append_rewinds(run, held.history, digest=offsets.digest)
    return _proved(outcome, plan, clients, run, sync_timeout)


def reset_stages(plan: ResetPlan, clients: Clients, run: ResetDirectory) -> list[Stage]:
    """Stages of a reset: those of a change, with the MirrorCheckpoint stopped as well, and the topics emptied."""
    reset = plan.reset
    stop, alter, resume, look = change_stages(
        plan.offsets,
        clients,
        at_stop=lambda at_stop, fitted: keep_rewinds(run, fitted, at_stop, clients, reset.flow),
    )
    empty = EmptyTopics(reset.source_connector, clients, reset.emptied, kept=run.uri)
    if reset.checkpoint_connector is None:
        return [stop, alter, empty, resume, look]
    beside = reset.checkpoint_connector
    first, last = StopConnector(beside, clients, optional=True), ResumeConnector(beside, clients, optional=True)
    return [first, stop, alter, empty, resume, last, look]


def undo_reset(plan: ResetPlan, clients: Clients, held: ResetJournals, owner: Owner) -> Outcome | None:
    """Restore what a reset of the same run left unfinished; None where nothing was left."""
    with held.journal.claim(owner, others=held.locks) as entry:
        told = recovery.recover(entry, Toward.BACK, clients)
        return None if told is None else outcomes.recovered(plan.offsets, entry.record, told)


def _proved(outcome: Outcome, plan: ResetPlan, clients: Clients, run: ResetDirectory, timeout: float) -> Outcome:
    reset = plan.reset
    names = " and ".join(repr(where.topic) for where in reset.emptied)
    told = f"{outcome.message} {names} {'were' if reset.checkpoints else 'was'} emptied."
    if outcome.final_state != State.RUNNING:
        start = "Start the process" if clients.origin is not Origin.REST else f"Resume {plan.offsets.connector!r}"
        return replace(outcome, message=f"{told} {start}: new syncs come with the records that are replicated then.")
    found = openings(read_dataset(run.rewinds, REWINDS))
    proof = await_new_syncs(plan.offsets, reset, found, clients, timeout=timeout)
    late = (
        f"After {timeout:.0f} s, {len(proof.missing)} partitions had no new sync yet, like "
        f"{proof.missing[0].topic!r} partition {proof.missing[0].partition}: their groups are not translated until one "
        "comes."
        if proof.missing
        else None
    )
    warnings = outcome.warnings if late is None else (*outcome.warnings, late)
    return replace(outcome, message=f"{told} {proof}", warnings=warnings)


def _refuse_unforeseen(plan: ResetPlan, clients: Clients, run: ResetDirectory) -> None:
    """Raise :class:`Drift` where syncs of another flow's topics would go that nobody has approved."""
    reset = plan.reset
    foreseen = {row["topic"] for row in read_dataset(run.reset_topics, RESET_TOPICS)}
    info = clients.control.info(reset.source_connector)
    foreign = sorted(topic for topic in synced_topics(reset, clients) - foreseen if not replicates(info, topic))
    if foreign:
        more = f" and {len(foreign) - _NAMED} more" if len(foreign) > _NAMED else ""
        raise Drift(
            f"Nothing was stopped or changed. Since the plan was made, syncs of topics that {info.name!r} does not "
            f"replicate have come into {reset.syncs.topic!r}: {', '.join(foreign[:_NAMED])}{more}. They would go, too, "
            "and nobody has approved that: plan again."
        )


def synced_topics(reset: FlowReset, clients: Clients) -> set[str]:
    """The topics of the source of which the flow's offset-syncs hold any; raises store errors."""
    records = clients.clusters[reset.syncs.side].records(reset.syncs.topic)
    return {sync.where.topic for record in records if (sync := parse_sync(record.key, record.value)) is not None}


def replicates(info: ConnectorInfo, topic: str) -> bool:
    """Whether a MirrorSource replicates ``topic``; so it may be where its configuration hides that.

    Raises :class:`UnreadablePattern`.
    """
    consumed = info.family.consumed_topics(info.config)
    excluded = info.family.excluded_topics(info.config)
    if consumed is None:
        return True
    wanted = configured_pattern(consumed, connector=info.name)
    never = configured_pattern(excluded or r"(?!)", connector=info.name)
    return bool(wanted.fullmatch(topic)) and not never.fullmatch(topic)

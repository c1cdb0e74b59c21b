"""Connectors that stay STOPPED for as long as a run of several tasks needs them to: one saga, left open in between."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from airflow_provider_connect_offsets.connect.protocols import State
from airflow_provider_connect_offsets.exceptions import Interfered, InvalidRequest
from airflow_provider_connect_offsets.observe.clients import Clients
from airflow_provider_connect_offsets.operations.stages import recovery
from airflow_provider_connect_offsets.operations.stages.captured import PriorState
from airflow_provider_connect_offsets.operations.stages.connector_stages import ResumeConnector, StopConnector
from airflow_provider_connect_offsets.saga.executor import Toward
from airflow_provider_connect_offsets.saga.journal import Journal
from airflow_provider_connect_offsets.saga.lease import Owner
from airflow_provider_connect_offsets.saga.record import SagaState


@dataclass(frozen=True, slots=True)
class Member:
    """A connector that is stopped: the way to it, and its journal. The saga is kept in the first member's."""

    clients: Clients
    journal: Journal


def stop_for_run(members: Sequence[Member], owner: Owner, *, seconds: float) -> list[tuple[str, State]]:
    """Hold the connectors for ``seconds``, stop them and wait until they are; gives each one's name and prior state.

    Raises :class:`Overlap` where another run holds one, :class:`NotStopped`, and store errors; ``take_back`` gives all
    of them their states back. What a dead run left is restored first. Raises :class:`InvalidRequest` for a connector
    that was named twice.
    """
    if not members:
        return []
    counts = Counter(one.journal.uri for one in members)
    if twice := [one.journal.connector for one in members if counts[one.journal.uri] > 1]:
        raise InvalidRequest(
            f"Nothing was stopped, and no group was moved: {twice[0]!r} is named for two connectors of the flow, and "
            "both lead to the same Connect cluster. Name the MirrorSource, the MirrorCheckpoint and the forward flow's "
            "connector, each with its own Connect connection."
        )
    home, *others = members
    entry = home.journal.claim_for_run(owner, seconds=seconds, others=[one.journal for one in others])
    recovery.recover(entry, Toward.BACK, *_clients(members))
    stages = [StopConnector(one.journal.connector, one.clients) for one in members]
    entry.begin(owner, operation="the failover", key="", stages=stages)
    stopping = recovery.executor(home.clients, entry, list(stages))
    for stage in stages:
        stopping.make(stage)
    return [(stage.subject, PriorState.of(entry.record.captures[stage.name]).state) for stage in stages]


def leave_stopped(members: Sequence[Member], owner: Owner, *, seconds: float) -> None:
    """End the hold with the connectors as they are: STOPPED."""
    if members:
        with members[0].journal.continued(owner, seconds=seconds) as entry:
            recovery.executor(members[0].clients, entry, []).finish()


def resume(members: Sequence[Member], owner: Owner, *, seconds: float) -> None:
    """End the hold, with the connectors in the states that they had; raises :class:`NotRunning` and store errors."""
    if not members:
        return
    with members[0].journal.continued(owner, seconds=seconds) as entry:
        stages = [ResumeConnector(one.journal.connector, one.clients) for one in members]
        entry.add(stages)
        recovery.executor(members[0].clients, entry, [*recovery.built(entry.record, *_clients(members))]).run()


def restore(members: Sequence[Member], owner: Owner) -> str | None:
    """End the hold and give the connectors the states that they had; None where nothing was left to give back.

    One that can't be given back keeps none of the others from it; the error names it. Raises :class:`Interfered` where
    that is for good, as somebody has deleted it, and store errors.
    """
    if not members:
        return None
    home, *others = members
    with home.journal.claim(owner, others=[one.journal for one in others]) as entry:
        told = recovery.recover(entry, Toward.BACK, *_clients(members))
        if told is not None and entry.record.state is SagaState.ABANDONED:
            raise Interfered(told)
        return told


def _clients(members: Sequence[Member]) -> list[Clients]:
    return [one.clients for one in members]

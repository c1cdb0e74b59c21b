"""The single steps of a reset beside the offsets. All of them can be done again, after a process that died as well."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from airflow_provider_connect_offsets.change import steps
from airflow_provider_connect_offsets.change.beside import Beside, FoundTopic
from airflow_provider_connect_offsets.change.doors import Doors, FlowCluster
from airflow_provider_connect_offsets.change.record import Phase, Record
from airflow_provider_connect_offsets.exceptions import Overlap, UnknownConnector
from airflow_provider_connect_offsets.offsets.flow_reset import FlowReset, OwnTopic
from airflow_provider_connect_offsets.stores.protocols import State

log = logging.getLogger(__name__)


def look(doors: Doors, reset: FlowReset, *, kept: str) -> Beside:
    """Look at what is to be given back: the MirrorCheckpoint's state, the topics' policies. Changes nothing.

    kept: where the topics' records lie, as the snapshot read them.
    """
    topics = tuple(FoundTopic(where, _cluster(doors, where).policy(where.topic)) for where in reset.emptied)
    if reset.checkpoint_connector is None:
        return Beside(None, None, None, topics, kept)
    status = steps.told_status(doors, reset.checkpoint_connector)
    prior = steps.state_to_give_back(status)
    return Beside(reset.checkpoint_connector, prior, len(status.tasks), topics, kept)


def ask_to_stop(doors: Doors, beside: Beside | None) -> None:
    """Ask the MirrorCheckpoint to stop; it is waited for later, while the MirrorSource stops as well."""
    if beside is not None and beside.connector is not None:
        with _none_the_worse_if_gone():
            steps.ask_for(doors, beside.connector, State.STOPPED)


def await_stopped(doors: Doors, beside: Beside | None) -> None:
    """Wait until the MirrorCheckpoint stands still; raises as ``steps.stop`` does."""
    if beside is not None and beside.connector is not None:
        with _none_the_worse_if_gone():
            steps.await_stopped(doors, beside.connector)


def empty(doors: Doors, beside: Beside) -> dict[str, int]:
    """Empty the topics, prove it, and give each its policy again; how many offsets of each. Raises store errors."""
    return {
        found.where.topic: _cluster(doors, found.where).empty(found.where.topic, found.policy)
        for found in beside.topics
    }


def mend(doors: Doors, beside: Beside | None) -> None:
    """Give each topic its policy again, which a process that died may have left switched; raises store errors."""
    if beside is not None and beside.emptying:
        for found in beside.topics:
            _cluster(doors, found.where).put_back(found.where.topic, found.policy)


def ask_to_give_back(doors: Doors, record: Record) -> None:
    """Ask for the state that the MirrorCheckpoint had, unless it is there already."""
    beside = record.beside
    if beside is None or beside.connector is None:
        return
    wanted = beside.prior_state or State.RUNNING
    with _none_the_worse_if_gone():
        if record.phase is Phase.STOPPING or doors.control.status(beside.connector).state is not wanted:
            steps.ask_for(doors, beside.connector, wanted)


def await_given_back(doors: Doors, record: Record) -> None:
    """Wait until the MirrorCheckpoint is in the state that it had; raises :class:`NotRunning`."""
    beside = record.beside
    if beside is None or beside.connector is None:
        return
    with _none_the_worse_if_gone():
        steps.await_state(doors, beside.connector, beside.prior_state or State.RUNNING, tasks=beside.prior_tasks)


def emptying(beside: Beside) -> Beside:
    """The same, from the moment on at which its topics may be empty."""
    return replace(beside, emptying=True)


def refuse_without_clusters(doors: Doors, record: Record) -> None:
    """Raise :class:`Overlap` where a reset was left unfinished, and ``doors`` lead to offsets only."""
    if record.beside is not None and not doors.clusters:
        raise Overlap(
            f"Nothing was done: the reset of the flow of {record.connector!r} by run {record.owner.run!r} ended before "
            "its time, and left more than offsets to give back. Run mirror_reset with the same connectors once more "
            "(a dry run does not do it), which finishes or restores it; then try again."
        )


@contextmanager
def _none_the_worse_if_gone() -> Iterator[None]:
    """A MirrorCheckpoint that someone has deleted stands still, and has no state to be given back."""
    try:
        yield
    except UnknownConnector as error:
        log.warning("%s It is left out of the reset.", error)


def _cluster(doors: Doors, where: OwnTopic) -> FlowCluster:
    return doors.clusters[where.side]

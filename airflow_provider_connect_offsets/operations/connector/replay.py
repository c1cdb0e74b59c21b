"""Delivers an interval of time once more by a clone, while the connector keeps running; nothing is left of the clone.

The saga is kept in the journal of the clone, whose name no other run uses. So a replay prevents neither a change of the
original nor the replay of another interval. If a run never comes back, the next replay of the same connector, or
``connect-offsets recover``, settles what it has left.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

from airflow_provider_connect_offsets.exceptions import ConnectOffsetsError, Drift, InvalidInput, NotApplied, Overlap
from airflow_provider_connect_offsets.observe.clients import Clients
from airflow_provider_connect_offsets.offsets.replay import Range, ReplayPlan, clone_config, refuse_unbounded
from airflow_provider_connect_offsets.offsets.requests.guards import Named
from airflow_provider_connect_offsets.offsets.requests.replay import ReplayRequest, clone_prefix
from airflow_provider_connect_offsets.operations.registry import (
    journal_of,
    make_registry,
    operation_on_connector,
    settle_of,
)
from airflow_provider_connect_offsets.operations.stages import steps
from airflow_provider_connect_offsets.operations.stages.captured import HALT
from airflow_provider_connect_offsets.operations.stages.existence_stages import CreateConnector
from airflow_provider_connect_offsets.operations.stages.replay_stages import (
    DeliverInterval,
    PlaceClone,
    RemoveClone,
    StartClone,
    StopClone,
)
from airflow_provider_connect_offsets.saga import (
    Explanation,
    Left,
    Owner,
    SagaRecord,
    SagaState,
    Settled,
    Stage,
    operate,
    settle,
)
from airflow_provider_connect_offsets.words import quantify
from airflow_provider_connect_offsets.workspace import files
from airflow_provider_connect_offsets.workspace.paths import join, unique_segment
from airflow_provider_connect_offsets.workspace.replay import DeliveredRange, ReplayOutcome, ReplayResult

log = logging.getLogger(__name__)


def replay(plan: ReplayPlan, clients: Clients, owner: Owner) -> ReplayOutcome:
    """Create the clone, let it deliver the ranges of ``plan``, and remove it with its offsets; or leave nothing behind.

    A retry goes on with the clone of an earlier attempt, if that was delivering.

    Args:
        plan: The approved plan.
        clients: Clients of the original, with logs.
        owner: This process.

    Raises:
        InvalidRequest: The clone's name is taken, or it can't have a group of its own; nothing is left of it.
        Overlap: Another run uses the clone.
        NotApplied: The interval was not delivered whole: the clone failed, or the time was up. Nothing is left of the
            clone, and the message says how far it had come.
        StoreError: A system does not answer, or refuses. If that was after the delivery, the clone may be left until
            the next attempt.
    """
    started, settled_others = datetime.now(tz=UTC), settle_left(plan.request, clients, owner)

    def stages(_left: Sequence[Left]) -> list[Stage]:
        clients.guards.refuse_names(Named.CONNECTOR, [plan.request.connector])
        clients.guards.refuse_names(Named.TOPIC, plan.topics())
        clients.registry()
        steps.refuse_reconfigured(plan.request.connector, plan.config, clients)
        info = clients.control.info(plan.request.connector)
        refuse_unbounded(info.name, info.family, info.config)
        config, ranges = clone_config(info.config, info.family, plan.topics()), plan.ranges()
        name, limit = plan.request.clone, plan.request.limit_seconds
        return [
            CreateConnector(name, clients, config, lasting=False),
            PlaceClone(name, clients, plan.starts()),
            StartClone(name, clients),
            DeliverInterval(name, clients, ranges, limit=limit),
            StopClone(name, clients, ranges, limit=limit),
            RemoveClone(name, clients),
        ]

    how = _Replayed(plan)
    made = operate(
        operation_on_connector(clients, plan.request.clone, "the replay", stages, key=_key(plan), explanation=how),
        owner,
    )
    warnings = (*settled_others, *made.sentences, *(made.made.warnings if made.made else ()))
    return outcome_of_delivery(plan, owner, made.saga, started_at=started, warnings=warnings)


def release(plan: ReplayPlan, clients: Clients, owner: Owner) -> ReplayOutcome | None:
    """Settle an unfinished replay by the tasks of a run: undo it, or finish it if the interval is delivered.

    Returns:
        The outcome; None if nothing was left.

    Raises:
        Overlap: Another run uses the clone.
        StoreError: A system does not answer, or refuses; something may be left.
    """
    started, left = datetime.now(tz=UTC), settle_of(clients, plan.request.clone, owner, run=owner.run)
    if left is None:
        return None
    if left.record.state is SagaState.DONE:
        return outcome_of_delivery(plan, owner, left.record, started_at=started, warnings=(left.sentence,))
    return outcome(plan, owner, ReplayResult.UNDONE, left.sentence, started_at=started)


def settle_left(request: ReplayRequest, clients: Clients, owner: Owner) -> list[str]:
    """Settle other, dead replays of the connector, and return a sentence for each.

    Replays that are under way are left alone.
    """
    journal, prefix = journal_of(clients, request.clone), unique_segment(clone_prefix(request.connector))
    root = journal.uri.rpartition("/")[0]
    sentences = []
    for name in files.list_names(root):
        other = journal.at(name, join(root, name))
        if not name.startswith(prefix) or other.uri == journal.uri:
            continue
        try:
            left = settle(other, owner, make_registry(clients), clock=clients.clock)
        except Overlap as error:
            log.info("%s", error)
        else:
            sentences += [] if left is None else [left.sentence]
    return sentences


def outcome_of_delivery(
    plan: ReplayPlan, owner: Owner, record: SagaRecord, *, started_at: datetime, warnings: tuple[str, ...] = ()
) -> ReplayOutcome:
    """Return the outcome of a replay that is done."""
    stage = record.of_title(HALT)
    assert stage is not None  # noqa: S101 - each replay has one
    ranges = [Range.from_json(one) for one in stage.spec["ranges"]]
    positions = stage.facts.get("positions") or [None] * len(ranges)
    after = [None if at is None else one.count_beyond(at) for one, at in zip(ranges, positions, strict=True)]
    delivered_ranges = tuple(
        DeliveredRange(one.topic, one.partition, one.begins, one.ends, one.ends - one.begins, beyond)
        for one, beyond in zip(ranges, after, strict=True)
    )
    ended = outcome(plan, owner, ReplayResult.DELIVERED, "", started_at=started_at)
    result = replace(ended, warnings=warnings, ranges=delivered_ranges)
    partitions = sum(one.ends > one.begins for one in delivered_ranges)
    more = "an unknown number of offsets" if result.beyond_count is None else quantify(result.beyond_count, "offset")
    message = (
        f"{plan.request.connector!r} has delivered the interval {plan.request.interval} once more: "
        f"{quantify(result.delivered_count, 'offset')} in {quantify(partitions, 'partition')}, and {more} "
        f"after the interval until the clone stopped. The clone {plan.request.clone!r} and its offsets are deleted."
    )
    return replace(result, message=message)


def outcome_of_failure(
    plan: ReplayPlan, clients: Clients, owner: Owner, error: BaseException, *, at: datetime
) -> ReplayOutcome:
    """Return the outcome of a task that ended with ``error``; ``at``: when the task began."""
    record = journal_of(clients, plan.request.clone).record_of(owner.run, _key(plan))
    if isinstance(error, NotApplied):
        result = ReplayResult.UNDONE
    elif record is None or record.state is SagaState.UNDONE or isinstance(error, InvalidInput | Drift):
        result = ReplayResult.REFUSED
    else:
        result = ReplayResult.UNFINISHED
    return outcome(plan, owner, result, str(error) or type(error).__name__, started_at=at)


def outcome(
    plan: ReplayPlan, owner: Owner, result: ReplayResult, message: str, *, started_at: datetime
) -> ReplayOutcome:
    """Return an outcome with the current time as its end, without warnings or ranges."""
    request = plan.request
    return ReplayOutcome(
        connector=request.connector,
        clone=request.clone,
        run=owner.run,
        digest=plan.digest,
        result=result,
        message=message,
        started_at=started_at,
        finished_at=datetime.now(tz=UTC),
    )


class _Replayed(Explanation):
    """Says what is left of the clone, and what was delivered."""

    def __init__(self, plan: ReplayPlan) -> None:
        self._request = plan.request

    def explain_undone(self, error: Exception, settled: Settled) -> Exception:
        """Return :class:`NotApplied`; the error itself if nothing was created, or the input was refused."""
        if isinstance(error, InvalidInput):
            return error
        return NotApplied(
            f"{self._request.connector!r}: the interval {self._request.interval} was not delivered completely. {error} "
            f"The clone {self._request.clone!r} and its offsets are deleted.{settled.lost} Run the task again: it "
            "begins at the start of the interval."
        )

    def explain_not_undone(self, error: BaseException, failure: ConnectOffsetsError, record: SagaRecord) -> Exception:
        """Return the failure, with the error that it follows and what is left to do."""
        return type(failure)(
            f"{self._request.connector!r}: the interval {self._request.interval} was not delivered completely. {error} "
            f"The clone {self._request.clone!r} could not be removed: {failure} Run the task again: it removes the "
            "clone."
        )

    def explain_unresumed(self, error: ConnectOffsetsError, record: SagaRecord) -> ConnectOffsetsError:
        """Return the error: the interval is delivered, and the clone is left."""
        return type(error)(
            f"{error} The clone {self._request.clone!r} may still exist. Run the task again: it goes on from there."
        )


def _key(plan: ReplayPlan) -> str:
    """Identify the saga for a retry; a cleared run plans again, and delivers again."""
    return f"{plan.digest} {plan.observed_at.isoformat()}"

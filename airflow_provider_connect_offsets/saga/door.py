"""Begins, continues and settles sagas; every operation that changes something passes through here.

``operate``     claim → settle what was left → done already? → begin → run → end
``open_saga``   the same up to its first stages; a later task of the run continues it (:func:`continue_saga`)
``settle``      finishes or undoes what was left; for teardown, ``on_kill``, shell and later runs

No other module claims a resource, begins or settles a saga, or reads a lease. :func:`_decide_direction` decides
whether a saga that was left is finished or undone. The lease claimed here fences (``fencing``) each request that
changes something.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from airflow_provider_connect_offsets.clock import SYSTEM_CLOCK, Clock
from airflow_provider_connect_offsets.exceptions import Drift, Overlap
from airflow_provider_connect_offsets.fencing import fence
from airflow_provider_connect_offsets.saga import overlaps
from airflow_provider_connect_offsets.saga.entry import JournalEntry
from airflow_provider_connect_offsets.saga.executor import Executor
from airflow_provider_connect_offsets.saga.journal import Journal
from airflow_provider_connect_offsets.saga.lease import Owner
from airflow_provider_connect_offsets.saga.operation import Left, Operated, Operation, Registry
from airflow_provider_connect_offsets.saga.record import SagaRecord, SagaState, Toward
from airflow_provider_connect_offsets.saga.stage import Stage

log = logging.getLogger(__name__)


def operate(operation: Operation, owner: Owner) -> Operated:
    """Carry out an operation, unless an earlier attempt of the run has made it; failures: see :meth:`Executor.run`.

    Args:
        operation: What is to be done.
        owner: This process.

    Raises:
        Overlap: Another run works on one of the resources, or took over.
        Drift: An earlier attempt has made it, and its result no longer stands: another run, or a person, has changed
            it since.
        InvalidRequest: The operation changes something that may not be changed here.
        Exception: A refusal of the operation's stages, or the error that its explanation returns for a failure.
    """
    if operation.is_empty and all(one.home_left() is None for one in operation.journals):
        for one in operation.journals:
            one.refuse_overlap(owner.run)
        return Operated(None)
    with _enter(operation, owner) as (entry, left):
        earlier = _find_earlier_attempt(operation, owner, left)
        if earlier is not None:
            return Operated(earlier, left, is_earlier=True)
        stages = _begin(operation, owner, entry, left)
        if not stages:
            return Operated(None, left)
        made = _executor(operation, entry, stages).run()
        return Operated(made.record, left, made)


def open_saga(operation: Operation, owner: Owner, *, seconds: float, make: Callable[[Executor], None]) -> SagaRecord:
    """Begin a saga that later tasks of the run continue.

    Args:
        operation: What is to be done.
        owner: This process.
        seconds: How long the lease lasts between two tasks.
        make: Makes, or announces, the first stages.

    Returns:
        The saga's record.

    Raises:
        Overlap: Another run works on one of the resources.
        Exception: Any error of ``make``. The teardown settles what it has begun; nothing is left if it began nothing.
    """
    with _enter(operation, owner, seconds=seconds) as (entry, left):
        make(_executor(operation, entry, _begin(operation, owner, entry, left)))
        return entry.record


@contextmanager
def continue_saga(
    journal: Journal, owner: Owner, registry: Registry, *, seconds: float, clock: Clock = SYSTEM_CLOCK
) -> Iterator[Executor]:
    """Continue the saga that an earlier task of the run has opened; its stages are rebuilt.

    Raises :class:`Overlap` if another run has taken over. ``seconds``: how long the lease lasts after the block.
    """
    with journal.continue_lease(owner, seconds=seconds) as entry, fence(entry.may_change):
        yield Executor(entry, registry.build(entry.record), registry.explanation(entry.record), clock=clock)


def settle(
    journal: Journal,
    owner: Owner,
    registry: Registry,
    *,
    toward: Toward | None = Toward.BACK,
    run: str | None = None,
    clock: Clock = SYSTEM_CLOCK,
) -> Left | None:
    """Finish or undo what an earlier process left of a resource, if anything.

    Args:
        journal: The journal of the resource; another resource's journal may keep the saga.
        owner: This process.
        registry: Rebuilds its stages.
        toward: FORWARD, at a person's request, finishes it if all its undoable stages are found done. BACK undoes it.
            None: what an operation of ``owner`` would do.
        run: Settle only this run's saga, and end the lease that the run keeps between two tasks; None: any run's.
        clock: Measures the downtime.

    Returns:
        What was left, and how it was settled; None if nothing was left.

    Raises:
        Overlap: The saga's run is not dead, or the available clients do not reach what the saga changes.
        LeftStopped: Neither the plan nor the prior state could be verified; the saga stays unfinished.
        StoreError: A system does not answer, or refuses; the saga stays unfinished.
    """
    home = journal.home_left()
    left = None if home is None else home.read_left()
    if home is None or left is None or (run is not None and left[0].owner.run != run):
        if run is not None:
            journal.end_for(run)
        return None
    with home.claim(owner) as entry, fence(entry.may_change):
        if not entry.record.state.is_unfinished:  # another process has settled it meanwhile
            return None
        return _settle(entry, registry, toward or _decide_direction(entry.record, owner), clock)


@contextmanager
def _enter(
    operation: Operation, owner: Owner, *, seconds: float = 0
) -> Iterator[tuple[JournalEntry, tuple[Left, ...]]]:
    """Settle what other journals keep, claim the resources, and settle what the operation's own journal keeps."""
    elsewhere = [_settle_elsewhere(one, operation, owner) for one in operation.journals]
    claimed = operation.journal.claim(owner, others=operation.others, keep=seconds)
    with claimed as entry, fence(entry.may_change):
        left = None
        if entry.record.state.is_unfinished and not operation.completes(entry.record):
            left = _settle(
                entry, operation.registry, _decide_direction(entry.record, owner), operation.clock, operation.stops
            )
        yield entry, tuple(one for one in (*elsewhere, left) if one is not None)


def _settle_elsewhere(journal: Journal, operation: Operation, owner: Owner) -> Left | None:
    """Settle a saga of a resource that a journal other than the operation's own keeps; None if there is none."""
    home = journal.home_left()
    if home is None or home.uri == operation.journal.uri:
        return None
    left = home.read_left()
    if left is None or any(home.uri == other.uri for other in operation.others if other is not journal):
        return None
    home.refuse_overlap(owner.run)
    try:
        operation.registry.build(left[0])
    except Overlap as error:
        if left[0].resource == journal.resource:  # under another name of its cluster
            raise
        raise overlaps.part_of_another(journal.resource, left[0]) from error
    return settle(home, owner, operation.registry, clock=operation.clock)


def _decide_direction(record: SagaRecord, owner: Owner) -> Toward:
    """Decide how a saga is settled: the same run goes forward, anyone else undoes.

    In any case the executor finishes a saga that has passed its pivot or begun to resume, and undoes one that was being
    undone.
    """
    return Toward.FORWARD if record.owner.run == owner.run else Toward.BACK


def _settle(entry: JournalEntry, registry: Registry, toward: Toward, clock: Clock, stops: Sequence[str] = ()) -> Left:
    record = entry.record
    executor = Executor(entry, registry.build(record), registry.explanation(record), clock=clock)
    settled = executor.settle(toward, keeping=stops)
    kept = [one for one in entry.record.stages if one.name in stops and one.progress.is_captured]
    inherited = {one.name: one.captured for one in kept} if entry.record.state is SagaState.BACK else {}
    sentence = registry.describe(settled)
    log.warning("%s", sentence)
    return Left(entry.record, sentence, inherited)


def _begin(operation: Operation, owner: Owner, entry: JournalEntry, left: Sequence[Left]) -> Sequence[Stage]:
    """Begin the saga on what an earlier one left STOPPED; restore that if the saga is refused or lacks its stages."""
    inherited = left[-1].inherited if left else {}
    try:
        stages = operation.stages(left)
        operation.registry.refuse_protected(stages)
        lacking = inherited.keys() - {one.name for one in stages}
        if lacking:
            _restore_rest(operation, entry)
            inherited = {}
        if stages:
            entry.begin(owner, operation=operation.name, key=operation.key, stages=stages, inherited=inherited)
    except BaseException:
        if entry.record.state is SagaState.BACK:
            _restore_rest(operation, entry)
        raise
    return stages


def _restore_rest(operation: Operation, entry: JournalEntry) -> None:
    """Undo the remaining stages of the saga that was left, with which this operation was to begin."""
    registry, record = operation.registry, entry.record
    Executor(entry, registry.build(record), registry.explanation(record), clock=operation.clock).settle(Toward.BACK)


def _find_earlier_attempt(operation: Operation, owner: Owner, left: Sequence[Left]) -> SagaRecord | None:
    """Return the record of an earlier attempt of the run that has made the operation; None if no attempt has.

    Raises :class:`Drift` if another run has begun anything since, or one observation finds another result.
    """
    if not (operation.key and operation.is_made_once):
        return None
    record = operation.journal.record_of(owner.run, operation.key)
    settled = left[-1].record if left else None
    if settled is not None and (settled.owner.run, settled.key) == (owner.run, operation.key):
        record = settled
    if record is None or record.state is not SagaState.DONE:
        return None
    later = operation.journal.read_later(owner.run, operation.key)
    again = "To do it again, trigger a new run, which plans from what is stored now."
    if later is not None:
        raise Drift(
            f"Nothing was changed: an earlier attempt of this run has completed {operation.name} of "
            f"{record.resource!r}, and run {later.owner.run!r} has begun {later.operation} since. {again}"
        )
    try:
        _refuse_changed(record, operation.registry.build(record))
    except Drift as error:
        raise Drift(
            f"Nothing was changed: an earlier attempt of this run has completed {operation.name} of "
            f"{record.resource!r}, but its result no longer stands: {error} {again}"
        ) from error
    return record


def _refuse_changed(record: SagaRecord, stages: Sequence[Stage]) -> None:
    """Observe once whether the result of a finished saga still stands; raises the first error of a stage."""
    for stage in stages:
        if (why := stage.stands(record.stage(stage.name).captured).why) is not None:
            raise why


def _executor(operation: Operation, entry: JournalEntry, stages: Sequence[Stage]) -> Executor:
    return Executor(entry, stages, operation.explanation, clock=operation.clock)

"""Copying a connector with its offsets, and renaming one: the copy takes the original's place."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from airflow_provider_connect_offsets.connect.protocols import ConnectorInfo
from airflow_provider_connect_offsets.exceptions import InvalidRequest, NotRunning
from airflow_provider_connect_offsets.observe.clients import Clients
from airflow_provider_connect_offsets.observe.waiting import consumes
from airflow_provider_connect_offsets.offsets.copied import copied, stale_setting
from airflow_provider_connect_offsets.offsets.document import JsonMap, Offsets, parse_map
from airflow_provider_connect_offsets.offsets.families import Family, MirrorSource, external_offsets
from airflow_provider_connect_offsets.operations.connector import existence
from airflow_provider_connect_offsets.operations.connector.existence import StartingOffsets
from airflow_provider_connect_offsets.operations.connector.new_connector import (
    NewConnector,
    installed,
    latest_warning,
    refuse_invalid,
)
from airflow_provider_connect_offsets.operations.stages import recovery, steps
from airflow_provider_connect_offsets.operations.stages.captured import RESUME, PriorState, alteration_in
from airflow_provider_connect_offsets.operations.stages.connector_stages import ResumeConnector, StopConnector
from airflow_provider_connect_offsets.operations.stages.existence_stages import CreateConnector, DeleteConnector
from airflow_provider_connect_offsets.operations.stages.explained import CopyExplained
from airflow_provider_connect_offsets.saga import Executor, Journal, Owner, SagaRecord, SagaState, Stage, Toward

log = logging.getLogger(__name__)

# A source partition, to find out whether another alias renames those of a MirrorSource.
_ANY: JsonMap = {"cluster": "", "topic": "", "partition": 0}


@dataclass(frozen=True, slots=True)
class Copying:
    """What is copied.

    Attributes:
        connector: The original.
        new_name: Name of the copy.
        overrides: Settings that the copy has in place of the original's; None: it has none of that name.
        rename: True if the original is deleted once the copy has its offsets.
        stop_original: True if the original is stopped while its offsets are copied, which a rename always does.
    """

    connector: str
    new_name: str
    overrides: Mapping[str, str | None] = field(default_factory=dict)
    rename: bool = False
    stop_original: bool = False


@dataclass(frozen=True, slots=True)
class Copied:
    """How a copy would be made now.

    Attributes:
        original: The original.
        info: The copy as a connector.
        new: The copy, with the offsets that the original has committed so far.
        warnings: Sentences for people.
    """

    original: ConnectorInfo
    info: ConnectorInfo
    new: NewConnector
    warnings: tuple[str, ...]


def check(copying: Copying, clients: Clients) -> Copied:
    """Find out how the copy would be made; reads only.

    Raises:
        UnknownConnector: There is no such original.
        InvalidRequest: The new name is taken, the settings do not fit, or the copy would not find its offsets.
        Unsupported: Connect can't create STOPPED connectors, or change offsets.
        StoreError: Connect does not answer, or refuses.
    """
    clients.control.require_offset_changes()
    original = clients.control.info(copying.connector)
    if copying.new_name in clients.control.connectors():
        raise _refused(copying, f"a connector {copying.new_name!r} exists. Choose another name, or delete it first")
    config = _config(original, copying)
    info = installed(copying.new_name, config, clients)
    _refuse_misfit(original, info, copying)
    offsets = clients.offsets.read_offsets(original.name)
    taken = _taken(original, info, offsets)
    _refuse_unfound(taken, original, info, copying)
    state = steps.intended_state(steps.lasting_status(clients, original.name))
    new = NewConnector(info.name, config, taken, state)
    refuse_invalid(new, clients)
    warnings = tuple(_warnings(original, info, len(offsets.stored()) - len(taken)))
    if copying.rename or copying.stop_original:  # otherwise the creation says so
        warnings += tuple(filter(None, [latest_warning(info, taken, clients)]))
    for warning in warnings:
        log.warning("%s", warning)
    return Copied(original, info, new, warnings)


def copy(copying: Copying, clients: Clients, journal: Journal, owner: Owner) -> int:
    """Create a connector with the settings and offsets of another one, and delete that one if it is renamed.

    The copy is created STOPPED, gets the offsets, which are read back, and then the state that the original had. Until
    the deletion of the original, or its resume, any failure leaves the original as it was and nothing of the copy. If
    the original keeps running, a copy that fails right after its start is deleted again as well.

    Args:
        copying: What is copied.
        clients: Clients of the Connect cluster.
        journal: Journal of the original.
        owner: This process.

    Returns:
        How many partitions of the copy have an offset.

    Raises:
        UnknownConnector, InvalidRequest, Unsupported: As :func:`check`; nothing was changed.
        Overlap: Another run works on one of the two; nothing was changed.
        NotApplied: There is no copy, and the original is as it was.
        NotRunning: The copy exists with its offsets, and did not start.
        LeftStopped: The original could not be deleted or resumed; the message says what is stored.
    """
    if not (copying.rename or copying.stop_original):
        return _beside(copying, clients, journal, owner)
    with journal.claim(owner, others=[journal.sibling(copying.new_name)]) as entry:
        recovered = recovery.recover(entry, Toward.BACK, clients)
        done = entry.record if recovered is not None else journal.record_of(owner.run, _key(copying, owner))
        if done is not None and (done.state, done.key) == (SagaState.DONE, _key(copying, owner)):
            return _again(done, copying, clients)
        stages = _stages(copying, check(copying, clients), clients)
        operation = "the renaming" if copying.rename else "the copying"
        entry.begin(owner, operation=operation, key=_key(copying, owner), stages=stages)
        how = CopyExplained(copying.connector, copying.new_name)
        try:
            return _stored(Executor(entry, stages, how, clock=clients.clock).run().record)
        except NotRunning as error:
            raise _not_running(copying, error) from error


def described(copying: Copying, checked: Copied) -> str:
    """Describe what :func:`copy` would do."""
    new, original = checked.new, checked.original
    settings = ", ".join(sorted(copying.overrides)) or "none"
    made = (
        f"Create {new.name!r} with the settings of {original.name!r} (other ones: {settings}) and its offsets of "
        f"{len(new.offsets)} partitions; it will be {new.state}."
    )
    return " ".join((made, _fate(copying), *checked.warnings))


def done(copying: Copying, count: int) -> str:
    """Describe what :func:`copy` has done."""
    made = f"renamed to {copying.new_name!r}" if copying.rename else f"copied as {copying.new_name!r}"
    return f"{copying.connector!r} was {made}, which has offsets of {count} partitions."


def _fate(copying: Copying) -> str:
    """Describe what becomes of the original."""
    if copying.rename:
        return f"{copying.connector!r} is stopped meanwhile, and then deleted with its offsets, which can't be undone."
    both = "Then both run: what both read and write alike is delivered twice."
    if copying.stop_original:
        return f"{copying.connector!r} is stopped meanwhile, and resumed. {both}"
    return f"{copying.connector!r} keeps running. {both}"


class CopiedOffsets(StartingOffsets):
    """Write the offsets at which the original is stopped as those of its copy."""

    def __init__(self, checked: Copied, clients: Clients, copying: Copying) -> None:
        super().__init__(checked.new, clients)
        self._checked = checked
        self._copying = copying

    def changes(self, prior: Offsets) -> Offsets:
        """Return what is written over ``prior``; raises :class:`InvalidRequest` for what the copy would not find."""
        original, info = self._checked.original, self._checked.info
        self._changes = _taken(original, info, self._clients.offsets.read_offsets(original.name))
        _refuse_unfound(self._changes, original, info, self._copying)
        return super().changes(prior)


def _stages(copying: Copying, checked: Copied, clients: Clients) -> list[Stage]:
    """Return the stages; the original is stopped only once Connect has accepted the copy's settings."""
    original, new = checked.original, checked.new
    is_shared = original.group_id is not None and original.group_id == checked.info.group_id
    return [
        CreateConnector(new.name, clients, new.config),
        StopConnector(original.name, clients, optional=copying.rename),
        CopiedOffsets(checked, clients, copying),
        DeleteConnector(original.name, clients, with_offsets=not is_shared)
        if copying.rename
        else ResumeConnector(original.name, clients),
        ResumeConnector(new.name, clients, state_of=original.name),
    ]


def _beside(copying: Copying, clients: Clients, journal: Journal, owner: Owner) -> int:
    """Copy a connector that keeps running: as any other new connector."""
    of_copy = journal.sibling(copying.new_name)
    if (done := existence.created_by(of_copy, clients, owner)) is not None:
        return done
    return existence.create(check(copying, clients).new, clients, of_copy, owner)


def _again(record: SagaRecord, copying: Copying, clients: Clients) -> int:
    """Request the states once more, for a copy of an earlier attempt of this task: it may not have started."""
    try:
        for resumed in (one for one in record.stages if one.title == RESUME):
            wanted = PriorState.from_json(resumed.captured)
            steps.restore_state(clients, resumed.subject, wanted.state, tasks=wanted.tasks)
    except NotRunning as error:
        raise _not_running(copying, error) from error
    return _stored(record)


def _config(original: ConnectorInfo, copying: Copying) -> dict[str, str]:
    """Return the copy's settings; raises :class:`InvalidRequest` for an override of its name."""
    if copying.overrides.get("name", copying.new_name) != copying.new_name:
        raise _refused(copying, f"config says name={copying.overrides['name']!r}, and new_name {copying.new_name!r}")
    settings = {**original.config, **copying.overrides, "name": copying.new_name}
    return {name: value for name, value in settings.items() if value is not None}


def _refuse_misfit(original: ConnectorInfo, info: ConnectorInfo, copying: Copying) -> None:
    """Raise :class:`InvalidRequest` if offsets mean something else for the copy, or both would share a group."""
    if original.family != info.family or (
        original.family.name == Family.name and original.connector_class != info.connector_class
    ):
        raise _refused(
            copying,
            f"offsets of {original.connector_class} mean nothing to {info.connector_class}: create that one with "
            "offsets of its own",
        )
    if not copying.rename and original.group_id is not None and original.group_id == info.group_id:
        raise _refused(
            copying,
            f"both would have the consumer group {info.group_id!r} (consumer.override.group.id), and share its topics "
            "between them. Give consumer.override.group.id another value, or null, or rename the connector",
        )


def _taken(original: ConnectorInfo, info: ConnectorInfo, offsets: Offsets) -> Offsets:
    """Return the offsets of the copy."""
    return copied(offsets, info.family, info.config, before=original.config, reads=consumes(info))


def _refuse_unfound(taken: Offsets, original: ConnectorInfo, info: ConnectorInfo, copying: Copying) -> None:
    """Raise :class:`InvalidRequest` if the copy would look for an offset under another source partition."""
    if info.family.name != Family.name:
        return  # the family's own rules refuse that
    for entry in taken:
        setting = stale_setting(parse_map(entry.partition), info.config, before=original.config)
        if setting is not None:
            raise _refused(
                copying,
                f"the source partition {entry.partition} has the value of {setting}, which config changes, so the "
                "copy may never read its offset. Leave that setting as it is, or create the connector with "
                "CreateConnectorOperator and offsets that name its partitions",
            )


def _warnings(original: ConnectorInfo, info: ConnectorInfo, left_out: int) -> Iterator[str]:
    where = external_offsets(original.connector_class)
    if where is not None:
        yield (
            f"{original.connector_class} also keeps its position in {where}, which is not copied. Read its manual "
            "before you go on."
        )
    if left_out:
        yield f"{left_out} partitions of {original.name!r} are left out: {info.name!r} does not read their topics."
    if info.family.name == MirrorSource.name and info.family.under(_ANY, info.config, before=original.config) != _ANY:
        yield (
            "The source alias is another one: remote topics that are named by it begin with the first record that "
            f"{info.name!r} replicates. Earlier records are in the remote topics of {original.name!r} only."
        )


def _refused(copying: Copying, why: str) -> InvalidRequest:
    return InvalidRequest(f"Nothing was changed: {copying.connector!r} can't be copied as {copying.new_name!r}: {why}.")


def _not_running(copying: Copying, error: NotRunning) -> NotRunning:
    rest = f"{copying.connector!r} is deleted" if copying.rename else f"{copying.connector!r} keeps its own"
    return NotRunning(
        f"{error} {copying.new_name!r} exists with its offsets, and {rest}. Correct its configuration "
        f"(PUT /connectors/{copying.new_name}/config), then run the task again, which resumes it."
    )


def _key(copying: Copying, owner: Owner) -> str:
    """Identify the saga for a retry of the same task."""
    return f"copy_connector {copying.new_name} {owner.task}"


def _stored(record: SagaRecord) -> int:
    """Return how many partitions of the copy have an offset."""
    found = alteration_in(record)
    assert found is not None  # noqa: S101 - each copy alters offsets
    return len(found.expected.stored())

"""What a copy of a connector would be, what is refused before anything is touched, and what a person should know."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from airflow_provider_connect_offsets.connect.protocols import ConnectorInfo
from airflow_provider_connect_offsets.exceptions import InvalidRequest
from airflow_provider_connect_offsets.observe.clients import Clients
from airflow_provider_connect_offsets.observe.waiting import consumes
from airflow_provider_connect_offsets.offsets.copied import copy_offsets, stale_setting
from airflow_provider_connect_offsets.offsets.document import JsonMap, Offsets, parse_map
from airflow_provider_connect_offsets.offsets.families import ConnectorType, Family, MirrorSource
from airflow_provider_connect_offsets.offsets.families.elsewhere import find_elsewhere
from airflow_provider_connect_offsets.offsets.redirected import find_redirecting, show_setting
from airflow_provider_connect_offsets.operations.existence.new_connector import (
    NewConnector,
    find_installed,
    latest_warning,
)
from airflow_provider_connect_offsets.operations.stages import steps
from airflow_provider_connect_offsets.words import quantify

log = logging.getLogger(__name__)
# A property of source connectors: the topic that their offsets are stored in, in place of the worker's.
_OWN_TOPIC = "offsets.storage.topic"
# A source partition, to find out whether another alias renames the source partitions of a MirrorSource.
_ANY: JsonMap = {"cluster": "", "topic": "", "partition": 0}


@dataclass(frozen=True, slots=True)
class Copying:
    """What is copied.

    Attributes:
        connector: The original.
        new_name: Name of the copy.
        overrides: Settings that the copy has in place of the original's; None: it has no such setting.
        rename: True if the original is deleted once the copy has its offsets.
        stop_original: True if the original is stopped while its offsets are copied, which a rename always does.
    """

    connector: str
    new_name: str
    overrides: Mapping[str, str | None] = field(default_factory=dict)
    rename: bool = False
    stop_original: bool = False

    @property
    def both_names(self) -> tuple[str, str]:
        """The original and its copy."""
        return self.connector, self.new_name


@dataclass(frozen=True, slots=True)
class Copied:
    """How a copy would be made now.

    Attributes:
        original: The original.
        info: The copy as a connector.
        new: The copy, with the offsets that the original has committed so far.
        warnings: Warnings, each a sentence.
    """

    original: ConnectorInfo
    info: ConnectorInfo
    new: NewConnector
    warnings: tuple[str, ...]

    @property
    def removes_offsets(self) -> bool:
        """Whether a rename removes the original's offsets; it does not if the copy takes over the consumer group.

        Nor does it if the original has an offsets topic of its own: where workers run with
        ``exactly.once.source.support``, Kafka answers such a removal only after 90 s, and leaves it half done.
        """
        is_shared = self.original.group_id is not None and self.original.group_id == self.info.group_id
        return not is_shared and _OWN_TOPIC not in self.original.config


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
        raise _refusal(
            copying, f"a connector {copying.new_name!r} already exists. Choose another name, or delete it first"
        )
    config = _config(original, copying)
    info = find_installed(copying.new_name, config, clients)
    _refuse_misfit(original, info, copying)
    offsets = clients.offsets.read_offsets(original.name)
    taken = offsets_of_copy(original, info, offsets)
    refuse_unfound(taken, original, info, copying)
    state = steps.intended_state(steps.await_lasting_status(clients, original.name))
    new = NewConnector(info.name, config, taken, state, like=original.name)
    steps.refuse_invalid(info, taken, otherwise="Nothing was created")
    warnings = tuple(_warnings(original, info, len(offsets.by_partition()) - len(taken)))
    if copying.rename or copying.stop_original:  # otherwise the creation says so
        warnings += tuple(filter(None, [latest_warning(info, taken, clients)]))
    for warning in warnings:
        log.warning("%s", warning)
    return Copied(original, info, new, warnings)


def describe_copy(copying: Copying, checked: Copied) -> str:
    """Describe what :func:`copy` would do."""
    new, original = checked.new, checked.original
    settings = ", ".join(show_setting(name, value) for name, value in sorted(copying.overrides.items())) or "none"
    made = (
        f"Create {new.name!r} with the settings of {original.name!r} (changed settings: {settings}) and its offsets of "
        f"{quantify(len(new.offsets), 'partition')}. {new.name!r} will be {new.state}."
    )
    return " ".join((made, _fate(copying), *checked.warnings))


def done(copying: Copying, count: int) -> str:
    """Describe what :func:`copy` has done."""
    made = f"renamed to {copying.new_name!r}" if copying.rename else f"copied as {copying.new_name!r}"
    return f"{copying.connector!r} was {made}, which has offsets of {quantify(count, 'partition')}."


def _fate(copying: Copying) -> str:
    """Describe what becomes of the original."""
    if copying.rename:
        return f"{copying.connector!r} is stopped meanwhile, then deleted with its offsets. This can't be undone."
    both = "Then both connectors run, and data that both read and write is delivered twice."
    if copying.stop_original:
        return f"{copying.connector!r} is stopped meanwhile, then resumed. {both}"
    return f"{copying.connector!r} keeps running. {both}"


def _config(original: ConnectorInfo, copying: Copying) -> dict[str, str]:
    """Return the copy's settings; raises :class:`InvalidRequest` for another name, or a new address for secrets."""
    if copying.overrides.get("name", copying.new_name) != copying.new_name:
        raise _refusal(copying, f"config has name={copying.overrides['name']!r}, but new_name is {copying.new_name!r}")
    redirected = find_redirecting(original.config, copying.overrides)
    if redirected is not None:
        address, secret = redirected
        raise _refusal(
            copying,
            f"config changes {address}, which says where data goes, so the copy would send {secret} of the original "
            f"there. In config, give {secret} and all other settings with secrets values of their own, or create the "
            "connector with CreateConnectorOperator",
        )
    settings = {**original.config, **copying.overrides, "name": copying.new_name}
    return {name: value for name, value in settings.items() if value is not None}


def _refuse_misfit(original: ConnectorInfo, info: ConnectorInfo, copying: Copying) -> None:
    """Raise :class:`InvalidRequest` if offsets mean something else for the copy, or both would share a group."""
    if original.family != info.family or (
        original.family.name == Family.name and original.connector_class != info.connector_class
    ):
        raise _refusal(
            copying,
            f"{info.connector_class} can't use offsets of {original.connector_class}. Create the new connector with "
            "offsets of its own",
        )
    if not copying.rename and original.group_id is not None and original.group_id == info.group_id:
        raise _refusal(
            copying,
            f"both would have the consumer group {info.group_id!r} (consumer.override.group.id), so each would get "
            "only some of the partitions. Set consumer.override.group.id to another value or to null, or rename the "
            "connector",
        )


def offsets_of_copy(original: ConnectorInfo, info: ConnectorInfo, offsets: Offsets) -> Offsets:
    """Return the offsets of the copy."""
    return copy_offsets(offsets, info.family, info.config, before=original.config, reads=consumes(info))


def refuse_unfound(taken: Offsets, original: ConnectorInfo, info: ConnectorInfo, copying: Copying) -> None:
    """Raise :class:`InvalidRequest` if the copy would look for an offset under another source partition."""
    if info.family.name != Family.name:
        return  # the family's own rules refuse that
    for entry in taken:
        setting = stale_setting(parse_map(entry.partition), info.config, before=original.config)
        if setting is not None:
            raise _refusal(
                copying,
                f"the source partition {entry.partition} contains the value of {setting}, which config changes, so the "
                f"copy may never read the offset of this partition. Leave {setting} as it is, or create the connector "
                "with CreateConnectorOperator and with offsets for its own partitions",
            )


def _warnings(original: ConnectorInfo, info: ConnectorInfo, left_out: int) -> Iterator[str]:
    elsewhere = find_elsewhere(original.connector_class, is_sink=original.type is ConnectorType.SINK)
    if elsewhere is not None:
        yield (
            f"{original.connector_class} also keeps its position in {elsewhere.where}, which is not copied. Read "
            "the connector's manual before you go on."
        )
    if left_out:
        left = quantify(left_out, "partition")
        yield f"{left} of {original.name!r} not copied, because {info.name!r} does not read their topics."
    if info.family.name == MirrorSource.name and info.family.under(_ANY, info.config, before=original.config) != _ANY:
        yield (
            "The source alias changes. If remote topics have it in their names, the new remote topics begin with the "
            f"first record that {info.name!r} replicates. Earlier records are only in the remote topics of "
            f"{original.name!r}."
        )


def _refusal(copying: Copying, why: str) -> InvalidRequest:
    return InvalidRequest(f"Nothing was changed: {copying.connector!r} can't be copied as {copying.new_name!r}: {why}.")

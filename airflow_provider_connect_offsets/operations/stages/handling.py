"""How a change of offsets is made, undone and described, for each kind of store that the offsets are in."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import ClassVar

from airflow_provider_connect_offsets.connect.protocols import State
from airflow_provider_connect_offsets.observe.clients import Clients, Origin
from airflow_provider_connect_offsets.offsets.document import Entry, Offsets

#: Key of a stage's specification: the store that it changes, if that isn't a connector's.
ORIGIN = "origin"


class OfConnector:
    """Offsets of a connector, by Connect's REST API.

    Attributes:
        spec: What a stage's specification says of the store.
        interference: That someone else has resumed the connector or group, as part of a sentence.
        since: The moment after the offsets were read back, as part of a sentence.
        has_config: Whether its store has the connector's configuration too.
        reads_twice: Whether the first answer may lack a partition that was first written a moment ago.
        proof_lasts: Seconds for which offsets that were read back need not be read again.
    """

    spec: ClassVar[Mapping[str, str]] = MappingProxyType({})
    interference: ClassVar[str] = "someone else resumed the connector"
    since: ClassVar[str] = "as it resumed"
    has_config: ClassVar[bool] = True
    reads_twice: ClassVar[bool] = False
    proof_lasts: ClassVar[float] = 0.0

    def describe_what_stays_down(self, name: str) -> str:
        """Describe what must stay down, at the beginning of a sentence."""
        return f"{name!r} stays STOPPED"

    def describe_resumed(self, prior: State) -> str:
        """Say that it has its prior state again, after a comma; empty without a state."""
        return f", and it is {prior} again"

    def describe_restore(self, name: str, file: str) -> str:
        """Describe how a person writes the prior offsets; ``file``: their URI, or empty if only the log has them."""
        where = f"kept in {file}" if file else "that the log of this task shows"
        return f"send PATCH /connectors/{name}/offsets with the body {where}"

    def require_down(self, clients: Clients, name: str) -> None:
        """Make sure that nothing uses the offsets; an earlier stage has stopped the connector."""

    def to_write(self, changes: Offsets, stored: Offsets) -> Offsets:
        """Return what is written for ``changes``, so that writing it again repairs an interrupted write."""
        del stored
        return changes

    def has_run(self, clients: Clients, name: str, *, prior: Offsets, expected: Offsets) -> bool:
        """Whether it has run since the change, unseen; a connector stays STOPPED until it is resumed."""
        del clients, name, prior, expected
        return False


class OfStrimzi(OfConnector):
    """Offsets by Strimzi's resources, whose operator needs a pass for each answer, with the connector down."""

    reads_twice = True
    proof_lasts = 5.0

    def describe_restore(self, name: str, file: str) -> str:
        """Name the DAG, as offsets are written with a ConfigMap and an annotation."""
        del name
        return _change_by("connector_offsets_change with control=strimzi", file)


class OfStorage(OfConnector):
    """Offsets in a topic or file of workers that are down."""

    def describe_restore(self, name: str, file: str) -> str:
        """Name the DAG, as the offsets are records or serialized bytes."""
        del name
        return _change_by("connector_offsets_change with control=storage", file)


class OfFile(OfStorage):
    """Offsets in the file of a standalone worker."""

    has_config = False


class OfGroup(OfConnector):
    """Offsets of a consumer group, whose members are neither stopped nor started here."""

    spec = MappingProxyType({ORIGIN: Origin.GROUP.value})
    interference = "members joined the consumer group, or committed offsets of their own"
    since = "meanwhile"
    has_config = False

    def describe_what_stays_down(self, name: str) -> str:
        """Name the members."""
        return f"Do not start any member of consumer group {name!r}"

    def describe_resumed(self, prior: State) -> str:
        """Return nothing: a group has no state."""
        del prior
        return ""

    def describe_restore(self, name: str, file: str) -> str:
        """Name the DAG, which also restores offsets that were removed."""
        return _change_by(f"group_offsets_change with groups={re.escape(name)}", file)

    def require_down(self, clients: Clients, name: str) -> None:
        """Raise :class:`NotStopped` for a group with members."""
        clients.control.stop(name)

    def to_write(self, changes: Offsets, stored: Offsets) -> Offsets:
        """Add the group's other offsets if the change or its undo removes one.

        To remove one offset, the group is deleted and the other offsets are committed again
        (``connect.group_offsets``).
        """
        before = stored.by_partition()
        if all(entry.offset is not None and entry.partition in before for entry in changes):
            return changes
        named = {entry.partition for entry in changes}
        others = (Entry(partition, offset) for partition, offset in before.items() if partition not in named)
        return Offsets.of([*changes, *others])

    def has_run(self, clients: Clients, name: str, *, prior: Offsets, expected: Offsets) -> bool:
        """Whether the group has committed meanwhile: an application may run and be stopped again unseen."""
        return has_gone_on(clients.offsets.read_offsets(name), prior, expected)


_HANDLING: Mapping[Origin, OfConnector] = MappingProxyType(
    {
        Origin.REST: OfConnector(),
        Origin.STRIMZI: OfStrimzi(),
        Origin.TOPIC: OfStorage(),
        Origin.FILE: OfFile(),
        Origin.GROUP: OfGroup(),
    }
)


def handling(clients: Clients) -> OfConnector:
    """Return how offsets of these clients are handled."""
    return _HANDLING[clients.origin]


def has_gone_on(stored: Offsets, prior: Offsets, expected: Offsets) -> bool:
    """Whether an offset is stored that neither a change nor its undo has written, which must not be undone."""
    before, after = prior.by_partition(), expected.by_partition()
    return any(at not in {before.get(where), after.get(where)} for where, at in stored.by_partition().items())


def _change_by(dag: str, file: str) -> str:
    return f"run {dag}, to=file and value={file or 'a file with the offsets that the log of this task shows'}"

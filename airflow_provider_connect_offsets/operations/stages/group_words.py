"""What differs for a change of a consumer group, whose members are neither stopped nor started here."""

from __future__ import annotations

from airflow_provider_connect_offsets.connect.protocols import State
from airflow_provider_connect_offsets.observe.clients import Clients, Origin
from airflow_provider_connect_offsets.offsets.document import Entry, Offsets


def whole_changes(changes: Offsets, stored: Offsets) -> Offsets:
    """Return what is written to a group for ``changes``, so that writing it again repairs any interrupted write.

    To remove one offset, the group is deleted and the other offsets are committed again (``connect.group_offsets``). So
    if the change or its undo removes an offset, all offsets of the group are part of it.
    """
    before = stored.stored()
    if all(entry.offset is not None and entry.partition in before for entry in changes):
        return changes
    named = {entry.partition for entry in changes}
    others = (Entry(partition, offset) for partition, offset in before.items() if partition not in named)
    return Offsets.of([*changes, *others])


def has_gone_on(stored: Offsets, prior: Offsets, expected: Offsets) -> bool:
    """Whether an offset is stored that neither a change nor its undo has written: the application ran since.

    A connector stays STOPPED until it is resumed, but an application may run and be stopped again unseen. What it has
    committed must not be undone.
    """
    before, after = prior.stored(), expected.stored()
    return any(at not in {before.get(where), after.get(where)} for where, at in stored.stored().items())


def interference(clients: Clients) -> str:
    """Say that someone else has resumed the connector or group, as part of a sentence."""
    if clients.origin is Origin.GROUP:
        return "members joined the consumer group, or committed offsets of their own"
    return "someone else resumed the connector"


def since(clients: Clients) -> str:
    """Describe the moment after the offsets were read back, as part of a sentence."""
    return "meanwhile" if clients.origin is Origin.GROUP else "as it resumed"


def left_down(clients: Clients, name: str) -> str:
    """Describe what must stay down, at the beginning of a sentence."""
    if clients.origin is Origin.GROUP:
        return f"Do not start any member of consumer group {name!r}"
    return f"{name!r} stays STOPPED"


def again(clients: Clients, prior: State) -> str:
    """Say that a connector has its prior state again, after a comma; empty for a group, which has no state."""
    return "" if clients.origin is Origin.GROUP else f", and it is {prior} again"

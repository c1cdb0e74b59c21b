"""A connector that is to be created: what is refused beforehand, where it begins, and what it would skip."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from airflow_provider_connect_offsets.connect.protocols import ConnectorInfo, State
from airflow_provider_connect_offsets.exceptions import InvalidRequest
from airflow_provider_connect_offsets.kafka.logs import LogBounds
from airflow_provider_connect_offsets.observe.clients import Clients
from airflow_provider_connect_offsets.observe.waiting import consumed_partitions, consumes
from airflow_provider_connect_offsets.offsets.document import Entry, Offsets, parse_map
from airflow_provider_connect_offsets.offsets.families import MirrorSource, OffsetReset, TopicPartition
from airflow_provider_connect_offsets.operations.stages import steps
from airflow_provider_connect_offsets.words import quantify


class StartAt(StrEnum):
    """Where a new connector begins in each log: at the first record that is still there, or after the last one."""

    EARLIEST = "earliest"
    LATEST = "latest"


@dataclass(frozen=True, slots=True)
class NewConnector:
    """A connector that is to be created.

    Attributes:
        name: Its name.
        config: Its configuration, which may have secrets.
        offsets: Where it resumes; partitions that are not listed have no offset.
        state: State after the creation: RUNNING, PAUSED or STOPPED.
        inherit: Whether to keep the stored offsets of an earlier connector of the same name; else they are removed.
        like: The connector of which it is a copy; empty if it isn't a copy.
    """

    name: str
    config: Mapping[str, str]
    offsets: Offsets = field(default_factory=Offsets)
    state: State = State.RUNNING
    inherit: bool = False
    like: str = ""


def log_offsets(name: str, config: Mapping[str, str], start_at: StartAt, clients: Clients) -> Offsets:
    """Return offsets with which a new connector begins at the log starts, or at the log ends, as they are now.

    Unlike ``auto.offset.reset=latest``, this leaves nothing out from now on: the position of each partition is stored
    before the connector first runs, and partitions that are created later begin with their first record.

    Raises:
        InvalidRequest: Its offsets are not positions, or the topics that it reads are unknown or do not exist.
        StoreError: A system does not answer, or refuses.
    """
    info = find_installed(name, config, clients)
    if not info.family.has_positions:
        raise _refusal_of_start(name, start_at, info.family.why_no_position)
    if clients.logs is None:
        raise _refusal_of_start(name, start_at, "kafka_conn_id must name the cluster whose topics it reads")
    if consumes(info) is None:
        raise _refusal_of_start(
            name, start_at, "its configuration does not say which topics it reads. Give offsets instead"
        )
    partitions = consumed_partitions(clients, info)
    if not partitions:
        raise _refusal_of_start(name, start_at, "the cluster has no topic that it reads")
    return Offsets.of(_entries(info, start_at, clients.logs.bounds(partitions)))


def _entries(info: ConnectorInfo, start_at: StartAt, bounds: Mapping[TopicPartition, LogBounds]) -> Iterator[Entry]:
    reset = info.family.offset_reset(info.config)
    for where, log in sorted(bounds.items()):
        partition = info.family.partition_of(where, info.config)
        offset = info.family.offset_at(log.log_end if start_at is StartAt.LATEST else log.log_start)
        if offset is None and start_at is StartAt.EARLIEST and reset is not OffsetReset.EARLIEST:
            raise _refusal_of_start(
                info.name,
                start_at,
                f"no offset can be stored for the first record of {where.topic!r}, partition {where.partition}, so "
                f"auto.offset.reset={reset} would decide where it begins. Leave out that setting",
            )
        if partition is not None and offset is not None:
            yield Entry.of(partition, offset)


def _refusal_of_start(name: str, start_at: StartAt, why: str) -> InvalidRequest:
    return InvalidRequest(f"Nothing was created: {name!r} can't begin at {start_at}: {why}.")


def latest_warning(info: ConnectorInfo, offsets: Offsets, clients: Clients) -> str | None:
    """Say what a MirrorSource with ``source.consumer.auto.offset.reset=latest`` skips; None for any other connector.

    Args:
        info: The new connector.
        offsets: The offsets that are stored before it first runs.
        clients: Its clients; without logs the records are not counted.
    """
    if info.family.name != MirrorSource.name or info.family.offset_reset(info.config) is not OffsetReset.LATEST:
        return None
    stored = {info.family.topic_partition(parse_map(partition)) for partition in offsets.by_partition()}
    without = [where for where in consumed_partitions(clients, info) if where not in stored]
    logs = {} if clients.logs is None else clients.logs.bounds(without)
    skipped = sum(log.log_end - log.log_start for log in logs.values())
    known = f"{quantify(skipped, 'offset')} in {quantify(len(logs), 'partition')}" if logs else "all records"
    return (
        f"{info.name!r} is configured with auto.offset.reset=latest, which gives no at-least-once guarantee. For "
        "partitions without a stored offset, the records before the first poll are never replicated (now "
        f"{known}). The same happens to records that are written later to a new partition before its first poll, or "
        "to a partition whose offset is lost. start_at=latest without that setting skips only the records that "
        "exist now."
    )


def check_new(new: NewConnector, clients: Clients) -> ConnectorInfo:
    """Return what ``new`` would be; raises :class:`InvalidRequest` for what can be refused before the creation."""
    named = new.config.get("name", new.name)
    if named != new.name:
        raise InvalidRequest(
            f"Nothing was created: connector is {new.name!r}, but its configuration has name={named!r}."
        )
    info = find_installed(new.name, new.config, clients)
    steps.refuse_invalid(info, new.offsets, otherwise="Nothing was created")
    return info


def find_installed(name: str, config: Mapping[str, str], clients: Clients) -> ConnectorInfo:
    """Return what a connector with these settings would be; raises :class:`InvalidRequest` for an unknown class."""
    class_name = config.get("connector.class", "")
    types = {kind for one, kind in clients.registry().plugins().items() if _is_named(one, class_name)}
    if len(types) != 1:
        raise InvalidRequest(
            f"Nothing was created: connector.class {class_name!r} of {name!r} is not installed on the worker. "
            "GET /connector-plugins lists the installed classes."
        )
    return ConnectorInfo(name, types.pop(), config)


def _is_named(known: str, given: str) -> bool:
    """Whether ``given`` is a class, its simple name, or its pruned name, without ``Connector`` (``PluginUtils``)."""
    simple = known.rpartition(".")[2]
    return bool(given) and given in {known, simple, simple.removesuffix("Connector")}

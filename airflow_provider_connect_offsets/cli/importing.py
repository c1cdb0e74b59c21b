"""Import: what a KIP-199 document says, written where a worker will find it, and taken back where that fails."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from airflow_provider_connect_offsets.change.steps import differences
from airflow_provider_connect_offsets.cli.opened import Opened
from airflow_provider_connect_offsets.cli.told import counted, tell
from airflow_provider_connect_offsets.exceptions import InvalidDocument, LeftStopped, NotApplied, StoreError
from airflow_provider_connect_offsets.offsets.document import (
    Offsets,
    kip199_document,
    load_json,
    parse_kip199,
    parse_map,
)
from airflow_provider_connect_offsets.offsets.families import ConnectorType, family_of
from airflow_provider_connect_offsets.offsets.verdicts import Rule, Severity
from airflow_provider_connect_offsets.stores.config_topic import ConfiguredConnector


@dataclass(frozen=True, slots=True)
class Change:
    """What is to be written for one connector, and what stands there before."""

    connector: str
    before: Offsets
    changes: Offsets

    @property
    def expected(self) -> Offsets:
        """What stands there afterwards."""
        return self.before.updated(self.changes)

    @property
    def prior(self) -> Offsets:
        """The way back: the changed partitions as they were, None for one that had no offset."""
        return self.before.only(change.partition for change in self.changes)


def read_document(text: str, connectors: frozenset[str]) -> dict[str, Offsets]:
    """Read what is to be imported, of ``connectors`` (none named: of all); raises :class:`InvalidDocument`."""
    try:
        document = parse_kip199(load_json(text))
    except (ValueError, RecursionError) as error:
        raise InvalidDocument(f"The document to import is no JSON, or was cut off: {error}.") from error
    missing = sorted(connectors - document.keys())
    if missing:
        raise InvalidDocument(f"The document holds no offsets of connector {missing[0]!r}; nothing was written.")
    return {name: offsets for name, offsets in document.items() if not connectors or name in connectors}


def plan(opened: Opened, document: Mapping[str, Offsets], *, forced: bool) -> list[Change]:
    """Work out what would change, of what differs; ``forced`` lets workers run that may overwrite it.

    Raises :class:`InvalidDocument` for an offset that its connector would not take, :class:`NotStopped` for a connector
    that runs, and store errors. Nothing is written.
    """
    configured = opened.control.configured()
    for name, offsets in document.items():
        if name in configured:
            _refuse_misfits(configured[name], offsets)
    if not forced:
        opened.refuse_running(document)
    standing = opened.read(document.keys())
    changes = [Change(name, standing[name], _differing(offsets, standing[name])) for name, offsets in document.items()]
    return [change for change in changes if len(change.changes)]


def _differing(wanted: Offsets, standing: Offsets) -> Offsets:
    """What is to be written, of several entries for one partition the last one."""
    stands, last = standing.stored(), {entry.partition: entry for entry in wanted}
    return Offsets.of(entry for entry in last.values() if stands.get(entry.partition) != entry.offset)


def show(changes: list[Change]) -> None:
    """Tell each change, and in the end how many there are."""
    for change in changes:
        stands = change.before.stored()
        for entry in change.changes:
            tell(f"{change.connector}: {entry.partition}: {stands.get(entry.partition)} → {entry.offset}")
    offsets = counted(sum(len(change.changes) for change in changes), "offset")
    tell(f"To be changed: {offsets} of {counted(len(changes), 'connector')}.")


def keep_before(changes: list[Change], target: Path | None) -> Path:
    """Write the way back as a document that can be imported."""
    moment = datetime.now(tz=UTC).strftime("%Y%m%dT%H%M%S%fZ")
    kept = target or Path(f"connect-offsets-before-{moment}.json")
    with kept.open("x", encoding="utf-8") as file:
        file.write(kip199_document({change.connector: change.prior for change in changes}))
    return kept


def write(opened: Opened, changes: list[Change]) -> None:
    """Write all changes and prove them; where one can't be proved, put all of them back.

    Raises :class:`NotApplied` (all is as before) or :class:`LeftStopped` (not even that could be proved).
    """
    try:
        opened.storage.write_all({change.connector: change.changes for change in changes})
        _prove(opened, {change.connector: change.expected for change in changes})
    except (StoreError, NotApplied) as error:
        _take_back(opened, changes, error)
        raise NotApplied(f"{error} All offsets were put back and are as before.") from error


def _take_back(opened: Opened, changes: list[Change], cause: Exception) -> None:
    try:
        opened.storage.write_all({change.connector: change.prior for change in changes})
        _prove(opened, {change.connector: change.before for change in changes})
    except (StoreError, NotApplied) as error:
        raise LeftStopped(
            f"{cause} The offsets of before could not be put back: {error} Leave the workers down and import the "
            "document in which they are kept."
        ) from error


def _prove(opened: Opened, expected: Mapping[str, Offsets]) -> None:
    standing = opened.read(expected.keys())
    for connector, wanted in expected.items():
        difference = differences(standing[connector], wanted)
        if difference:
            raise NotApplied(f"{connector!r} was read back from {opened.name}: {difference}.")


def _refuse_misfits(connector: ConfiguredConnector, offsets: Offsets) -> None:
    if connector.type is ConnectorType.SINK:
        raise InvalidDocument(
            f"Nothing was written. {connector.name!r} is a sink: its offsets are those of its consumer group, and are "
            "not stored here. Use the REST API, or kafka-consumer-groups."
        )
    family = family_of(connector.type, connector.config.get("connector.class", ""))
    for entry in offsets:
        offset = None if entry.offset is None else parse_map(entry.offset)
        for finding in family.check(parse_map(entry.partition), offset, connector.config):
            if finding.rule is Rule.NOT_CONSUMED:  # yet: its configuration may be about to change
                tell(f"{connector.name}: {finding.message}.")
            elif finding.severity is Severity.ERROR:
                raise InvalidDocument(
                    f"Nothing was written. {connector.name!r}, {entry.partition} at {entry.offset}: {finding.message}."
                )

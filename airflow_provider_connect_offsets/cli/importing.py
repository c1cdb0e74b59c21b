"""Import: writes the offsets of a KIP-199 document into a worker's storage, and undoes that if it fails."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path

from airflow_provider_connect_offsets.cli.journals import own_workspace, shell_owner
from airflow_provider_connect_offsets.cli.messages import tell
from airflow_provider_connect_offsets.cli.opened import FORCE_ANYWAY, WorkerStorage
from airflow_provider_connect_offsets.connect.storage.config_topic import ConfiguredConnector
from airflow_provider_connect_offsets.exceptions import InvalidDocument, NotStopped
from airflow_provider_connect_offsets.offsets.document import (
    Offsets,
    check_given,
    kip199_document,
    load_json,
    parse_kip199,
    parse_map,
    parse_rest,
)
from airflow_provider_connect_offsets.offsets.families import ConnectorType, family_of
from airflow_provider_connect_offsets.offsets.verdicts import Rule, Severity
from airflow_provider_connect_offsets.operations.imports import Imports
from airflow_provider_connect_offsets.operations.stages.import_stages import StoredChange, read
from airflow_provider_connect_offsets.words import quantify


def read_document(text: str, connectors: frozenset[str]) -> dict[str, Offsets]:
    """Parse a document; ``connectors``: whose offsets to return, all if empty. Raises :class:`InvalidDocument`."""
    try:
        body = load_json(text)
    except (ValueError, RecursionError) as error:
        raise InvalidDocument(f"The document isn't valid JSON, or was cut off: {error}.") from error
    document = {named: parse_rest(body)} if (named := _of_rest(body, connectors)) else parse_kip199(body)
    missing = sorted(connectors - document.keys())
    if missing:
        raise InvalidDocument(f"Nothing was written: the document has no offsets of connector {missing[0]!r}.")
    return {name: check_given(offsets) for name, offsets in document.items() if not connectors or name in connectors}


def _of_rest(body: object, connectors: frozenset[str]) -> str:
    """Return the only requested connector if ``body`` is an answer of ``GET /connectors/{c}/offsets``; else ''."""
    if not isinstance(body, dict) or set(body) != {"offsets"} or connectors == {"offsets"}:
        return ""
    if len(connectors) != 1:
        raise InvalidDocument(
            "Nothing was written: the document looks like the answer of GET /connectors/{c}/offsets, which does not "
            "contain the connector's name. Give the name with --connectors, even if it is 'offsets'."
        )
    return next(iter(connectors))


def check(opened: WorkerStorage, document: Mapping[str, Offsets]) -> None:
    """Check whether a document can be written; writes nothing.

    Args:
        opened: The workers' storage.
        document: Offsets by connector.

    Raises:
        InvalidDocument: A connector would refuse an offset.
        NotStopped: A connector runs.
        StoreError: A system does not answer, or refuses.
    """
    configured = opened.control.configured_connectors()
    for name, offsets in document.items():
        if name in configured:
            _refuse_misfits(configured[name], offsets)
    opened.refuse_running(document)


def plan(opened: WorkerStorage, document: Mapping[str, Offsets]) -> list[StoredChange]:
    """Return the changes of connectors whose stored offsets differ from ``document``; raises store errors."""
    stored = read(opened.storage, document.keys())
    changes = [
        StoredChange(name, stored[name], _select_differing(offsets, stored[name])) for name, offsets in document.items()
    ]
    return [change for change in changes if len(change.changes)]


def _select_differing(requested: Offsets, stored: Offsets) -> Offsets:
    """Return the requested entries that differ from the stored ones; the last entry of a partition counts."""
    now, last = stored.by_partition(), {entry.partition: entry for entry in requested}
    return Offsets.of(entry for entry in last.values() if now.get(entry.partition) != entry.offset)


def show(changes: list[StoredChange]) -> None:
    """Write a line for each change, and how many there are."""
    for change in changes:
        before = change.before.by_partition()
        for entry in change.changes:
            tell(f"{change.connector}: {entry.partition}: {before.get(entry.partition)} → {entry.offset}")
    offsets = quantify(sum(len(change.changes) for change in changes), "offset")
    tell(f"To be changed: {offsets} of {quantify(len(changes), 'connector')}.")


def backup_file(target: Path | None) -> Path:
    """Return the file for the prior offsets: ``target``, or a new file in this directory."""
    moment = datetime.now(tz=UTC).strftime("%Y%m%dT%H%M%S%fZ")
    return target or Path(f"connect-offsets-before-{moment}.json")


def keep_before(prior: Mapping[str, Offsets], target: Path) -> Path:
    """Write prior offsets as a document that can be imported, and say so; returns the file."""
    with target.open("x", encoding="utf-8") as file:
        file.write(kip199_document(prior))
    tell(f"The prior offsets are in {target}. To undo this change, import that file.")
    return target


def settle(opened: WorkerStorage, workspace: str | None) -> str | None:
    """Undo what a dead import has written. Raises as ``Imports.settle_left`` does.

    Returns:
        A sentence about it; None if nothing was left.
    """
    try:
        return _imports(opened, workspace).settle_left()
    except NotStopped as error:
        raise NotStopped(f"{error} {FORCE_ANYWAY}") from error


def write(
    opened: WorkerStorage,
    changes: list[StoredChange],
    *,
    workspace: str | None = None,
    keep: Callable[[], None] = lambda: None,
) -> None:
    """Write all changes and read them back; undo all if one can't be verified. Raises as ``Imports.write`` does.

    Args:
        opened: The workers' storage.
        changes: The changes.
        workspace: URI of the workspace whose journals exclude other imports and Airflow's runs; None: this user's own.
        keep: Called before the first write.
    """
    # Without a workspace only other imports can interfere, and the journal of the storage excludes them.
    connectors = [change.connector for change in changes] if workspace else []
    _imports(opened, workspace).write(changes, connectors=connectors, keep=keep)


def _imports(opened: WorkerStorage, workspace: str | None) -> Imports:
    return Imports(opened.clients(workspace or own_workspace()), shell_owner("import"))


def _refuse_misfits(connector: ConfiguredConnector, offsets: Offsets) -> None:
    if connector.type is ConnectorType.SINK:
        raise InvalidDocument(
            f"Nothing was written: connector {connector.name!r} is a sink, and its offsets belong to its consumer "
            "group, not to this storage. Change them with the REST API or kafka-consumer-groups."
        )
    family = family_of(connector.type, connector.config.get("connector.class", ""))
    for entry in offsets:
        offset = None if entry.offset is None else parse_map(entry.offset)
        for finding in family.check(parse_map(entry.partition), offset, connector.config):
            if finding.rule is Rule.NOT_CONSUMED:  # yet: its configuration may be about to change
                tell(f"{connector.name}: {finding.message}.")
            elif finding.severity is Severity.ERROR:
                raise InvalidDocument(
                    f"Nothing was written. Connector {connector.name!r}, partition {entry.partition}, offset "
                    f"{entry.offset}: {finding.message}."
                )

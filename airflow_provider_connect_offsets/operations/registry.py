"""The registry of all stages: rebuilds an operation's stages from the journal, and describes how they were settled."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from airflow_provider_connect_offsets.connect.strimzi.resources import workers_of
from airflow_provider_connect_offsets.exceptions import Overlap
from airflow_provider_connect_offsets.observe.clients import Clients
from airflow_provider_connect_offsets.operations.stages.captured import (
    ADDRESSES,
    CONFIGURE,
    EMPTY,
    IMPORT,
    MOVE,
    ORPHANS,
    connections_of,
)
from airflow_provider_connect_offsets.operations.stages.check_records import CheckRecords
from airflow_provider_connect_offsets.operations.stages.connector_stages import (
    RestartConnector,
    ResumeConnector,
    SetState,
    StopConnector,
)
from airflow_provider_connect_offsets.operations.stages.existence_stages import CreateConnector, DeleteConnector
from airflow_provider_connect_offsets.operations.stages.explained import ConnectorExplained, SettingsExplained, describe
from airflow_provider_connect_offsets.operations.stages.flow_stages import EmptyTopics
from airflow_provider_connect_offsets.operations.stages.groups.move_groups import (
    MoveExplained,
    MoveGroups,
    describe_move,
)
from airflow_provider_connect_offsets.operations.stages.import_stages import (
    ImportExplained,
    ImportOffsets,
    describe_import,
)
from airflow_provider_connect_offsets.operations.stages.offset_stages import AlterOffsets
from airflow_provider_connect_offsets.operations.stages.orphans.remove_orphans import RemoveOrphans, describe_removal
from airflow_provider_connect_offsets.operations.stages.reached import ReachedStage, is_of_resource
from airflow_provider_connect_offsets.operations.stages.replay_stages import (
    DeliverInterval,
    PlaceClone,
    RemoveClone,
    StartClone,
    StopClone,
)
from airflow_provider_connect_offsets.operations.stages.settings_stages import ChangeSettings, RunOneByOne, TrySettings
from airflow_provider_connect_offsets.saga import (
    Explanation,
    Journal,
    Left,
    Operation,
    Owner,
    Registry,
    SagaRecord,
    Settled,
    Stage,
    StageRecord,
    Toward,
    settle,
)

_SETTLES = "That finishes or undoes it (a dry run does not). Then try again."
_STAGES: Mapping[str, type[ReachedStage]] = {
    one.title: one
    for one in (
        *(StopConnector, AlterOffsets, ResumeConnector, CheckRecords, SetState, RestartConnector),
        *(CreateConnector, DeleteConnector, ChangeSettings, TrySettings, RunOneByOne, EmptyTopics),
        *(PlaceClone, StartClone, DeliverInterval, StopClone, RemoveClone),
        *(ImportOffsets, MoveGroups, RemoveOrphans),
    )
}
# Operations that stop no connector: by the title of their stage, their errors, and how they describe what was settled.
_OF_NO_CONNECTOR: Mapping[str, tuple[Callable[[], Explanation], Callable[[Settled], str]]] = {
    MOVE: (MoveExplained, describe_move),
    IMPORT: (ImportExplained, describe_import),
    ORPHANS: (Explanation, describe_removal),
}


@dataclass(frozen=True, slots=True)
class Reached(Registry):
    """The registry with clients of everything that can be reached.

    Attributes:
        clients: Clients of each cluster; the first are of the operation's own cluster.
    """

    clients: tuple[Clients, ...]

    def build(self, record: SagaRecord) -> list[Stage]:
        """Rebuild the stages of a record."""
        return [self._build(stage, record) for stage in record.stages]

    def _build(self, stage: StageRecord, record: SagaRecord) -> Stage:
        known = _STAGES.get(stage.title)
        if known is None:
            raise record.unknown(f"the stage {stage.title!r}")
        for clients in self.clients:
            if known.is_reached(clients, stage):
                return known.build(stage.subject, clients, stage.spec)
        raise Overlap(_describe_unreached(record, stage, self.clients))

    def refuse_protected(self, stages: Sequence[Stage]) -> None:
        """Raise :class:`InvalidRequest` for the first name that a stage changes and that may not be changed here."""
        guards = self.clients[0].guards
        for stage in stages:
            for kind, name in stage.changed_names() if isinstance(stage, ReachedStage) else ():
                guards.refuse_names(kind, [name])

    def explanation(self, record: SagaRecord) -> Explanation:
        """Return the explanation of the record's operation."""
        if other := _of_no_connector(record):
            return other[0]()
        explained = SettingsExplained if record.of_title(CONFIGURE) else ConnectorExplained
        return explained(record.resource, self.clients[0].control)

    def describe(self, settled: Settled) -> str:
        """Describe how a saga whose process had died was settled."""
        other = _of_no_connector(settled.record)
        return other[1](settled) if other else describe(settled)


def _of_no_connector(record: SagaRecord) -> tuple[Callable[[], Explanation], Callable[[Settled], str]] | None:
    """Return the entry of ``_OF_NO_CONNECTOR`` for a record; None if its operation changes connectors."""
    return next((found for title, found in _OF_NO_CONNECTOR.items() if record.of_title(title)), None)


def make_registry(*clients: Clients) -> Reached:
    """Return the registry with these clients; the first are of the operation's own cluster."""
    return Reached(clients)


def journal_of(clients: Clients, resource: str) -> Journal:
    """Return the journal of a connector, consumer group or other resource of a Connect cluster.

    A connector that Strimzi runs has one lease, whichever of the three controls changes it: any two of them have a name
    of the cluster in common. Over REST, the other name is the name of the workers' service, from a worker's address.
    """
    also = clients.also or workers_of(clients.control.addresses(resource))
    return Journal(clients.journals, cluster=clients.cluster, resource=resource, also=also)


def operation_on_connector(  # noqa: PLR0913 - each has its own meaning
    clients: Clients,
    connector: str,
    name: str,
    stages: Callable[[Sequence[Left]], Sequence[Stage]],
    *,
    key: str = "",
    explanation: Explanation | None = None,
    others: Sequence[Journal] = (),
) -> Operation:
    """Return an operation on a connector, which its own journal keeps; arguments as in :class:`Operation`."""
    how = explanation or ConnectorExplained(connector, clients.control)
    return Operation(
        journal_of(clients, connector), name, stages, how, make_registry(clients), others, key=key, clock=clients.clock
    )


def settle_of(
    clients: Clients, connector: str, owner: Owner, *, run: str | None = None, toward: Toward | None = Toward.BACK
) -> Left | None:
    """Settle what was left of a connector; arguments and errors as in :func:`settle`."""
    return settle(
        journal_of(clients, connector), owner, make_registry(clients), run=run, toward=toward, clock=clients.clock
    )


def _describe_unreached(record: SagaRecord, stage: StageRecord, clients: tuple[Clients, ...]) -> str:
    """Say how a person settles what was left, if the available clients do not reach it."""
    begun = f"Nothing was done: {record.operation} of {record.resource!r} by run {record.owner.run!r} ended unfinished"
    named = connections_of(record)
    used = f" and connections ({', '.join(named)})" if named else ""
    if is_of_resource(stage):
        is_by_resource = any(one.by_resource for one in clients)
        over_rest = "" if is_by_resource else ", and would overwrite a state that is set over REST"
        return (
            f"{begun}. Strimzi's operator runs {stage.subject!r}{over_rest}. Run that operation again with the same "
            f"control{used}, or run connect-offsets recover with --strimzi-cluster and --namespace. {_SETTLES}"
        )
    addresses = set(stage.spec.get(ADDRESSES, ()))
    here = {
        address for one in clients if one.cluster == stage.cluster for address in one.control.addresses(stage.subject)
    }
    if addresses and here and addresses.isdisjoint(here):
        return (
            f"{begun}, on the Connect cluster at {', '.join(sorted(addresses))}. This is another Connect "
            f"cluster, at {', '.join(sorted(here))}, on the same Kafka cluster. Run that operation there again with "
            f"the same parameters{used}, or run connect-offsets recover with that address. {_SETTLES}"
        )
    again = "mirror_reset again with the same connectors"
    if stage.title != EMPTY:
        again = "it again with the same parameters"
    return f"{begun}, and left more than offsets to restore. Run {again}{used}. {_SETTLES}"

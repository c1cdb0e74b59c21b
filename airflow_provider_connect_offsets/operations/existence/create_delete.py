"""Creating a connector that resumes at given offsets, and deleting one together with its offsets."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace

from airflow_provider_connect_offsets.connect.protocols import ConnectorRegistry, State
from airflow_provider_connect_offsets.exceptions import (
    ConnectOffsetsError,
    InvalidRequest,
    NotApplied,
)
from airflow_provider_connect_offsets.observe.clients import Clients
from airflow_provider_connect_offsets.offsets.document import Offsets, kip199_document
from airflow_provider_connect_offsets.operations.connector.direct import ResetOffsets, WriteOffsets
from airflow_provider_connect_offsets.operations.existence.new_connector import NewConnector, check_new, latest_warning
from airflow_provider_connect_offsets.operations.registry import journal_of, operation_on_connector
from airflow_provider_connect_offsets.operations.stages.captured import CREATE, DELETE, alteration_in
from airflow_provider_connect_offsets.operations.stages.connector_stages import StartConnector, StopConnector
from airflow_provider_connect_offsets.operations.stages.existence_stages import (
    CreateConnector,
    DeleteConnector,
)
from airflow_provider_connect_offsets.saga import (
    Captures,
    Explanation,
    JsonMap,
    Left,
    Owner,
    SagaRecord,
    Settled,
    Stage,
    operate,
)
from airflow_provider_connect_offsets.workspace.files import write_bytes

log = logging.getLogger(__name__)


def create(new: NewConnector, clients: Clients, owner: Owner) -> int:
    """Create a connector STOPPED, write its offsets, read them back, and start it; or leave nothing behind.

    Returns:
        How many partitions have an offset.

    Raises:
        InvalidRequest: The name is taken, the class is not installed, or the connector's family refuses an offset.
        Unsupported: The worker is too old to create STOPPED connectors.
        Overlap: Another run works on a connector of that name.
        NotApplied: It could not be created, its offsets could not be verified, or it failed right after its start;
            nothing is left of it.
    """
    return create_checked(new.name, lambda: new, clients, owner)


def create_checked(
    name: str, check: Callable[[], NewConnector], clients: Clients, owner: Owner, *, others: Sequence[str] = ()
) -> int:
    """Settle what was left of a connector of that name, then create what ``check`` returns, as :func:`create` does.

    ``others``: connectors that no other run may change meanwhile.
    """

    def stages(_left: Sequence[Left]) -> list[Stage]:
        new = check()
        if (warning := latest_warning(check_new(new, clients), new.offsets, clients)) is not None:
            log.warning("%s", warning)
        return [
            CreateConnector(new.name, clients, new.config, like=new.like),
            StartingOffsets(new, clients),
            *([] if new.state is State.STOPPED else [StartConnector(new.name, clients, new.state)]),
        ]

    how = _Created(name, clients.registry())
    creation = operation_on_connector(clients, name, "the creation", stages, key=_key(owner, CREATE), explanation=how)
    return count_stored(operate(replace(creation, others=[journal_of(clients, one) for one in others]), owner).saga)


def delete(connector: str, clients: Clients, owner: Owner, *, kept: str) -> int:
    """Stop a connector, remove its offsets and prove it, and delete it; or leave it as it was.

    Args:
        connector: Its name.
        clients: Clients of the Connect cluster.
        owner: This process.
        kept: URI to which the offsets are written first, as KIP-199 JSON.

    Returns:
        How many partitions had an offset.

    Raises:
        UnknownConnector: There is no such connector.
        Overlap: Another run works on it.
        NotApplied: It was not deleted; prior offsets and state are restored.
        LeftStopped: Prior offsets and state could not be restored.
    """

    def stages(_left: Sequence[Left]) -> list[Stage]:
        clients.registry()
        return [
            StopConnector(connector, clients, for_offsets=True),
            RemovedOffsets(connector, clients, kept),
            DeleteConnector(connector, clients),
        ]

    deletion = operation_on_connector(clients, connector, "the deletion", stages, key=_key(owner, DELETE))
    return count_stored(operate(deletion, owner).saga)


class StartingOffsets(WriteOffsets):
    """Writes the offsets of a connector that has never run, and removes an earlier connector's offsets."""

    def __init__(self, new: NewConnector, clients: Clients) -> None:
        super().__init__(new.name, clients, new.offsets)
        self._inherit = new.inherit

    def changes(self, prior: Offsets) -> Offsets:
        """Return what is written over ``prior``."""
        given = {entry.partition for entry in self._changes}
        left = Offsets() if self._inherit else prior.removals()
        return Offsets.of((*(entry for entry in left if entry.partition not in given), *self._changes))


class RemovedOffsets(ResetOffsets):
    """Writes all offsets of a connector to a file, and removes them; ``kept``: URI of the file, empty for none."""

    def __init__(self, connector: str, clients: Clients, kept: str, *, optional: bool = False) -> None:
        super().__init__(connector, clients, optional=optional)
        self._kept = kept

    def capture(self, earlier: Captures) -> JsonMap:
        """Write the file, and return what is stored."""
        captured = super().capture(earlier)
        if self._kept:
            prior = Offsets.from_json(captured["prior_offsets"])
            write_bytes(self._kept, kip199_document({self.subject: prior}).encode())
        return captured


class _Created(Explanation):
    """Says that nothing is left of a connector that could not be created."""

    def __init__(self, connector: str, registry: ConnectorRegistry) -> None:
        self._connector = connector
        self._registry = registry

    def explain_undone(self, error: Exception, settled: Settled) -> Exception:
        """Return :class:`NotApplied`; the error itself if nothing was created."""
        if isinstance(error, InvalidRequest):
            return error
        return NotApplied(f"{self._connector!r} was not created: {error} Nothing is left of it.{settled.lost}")

    def explain_not_undone(self, error: BaseException, failure: ConnectOffsetsError, record: SagaRecord) -> Exception:
        """Return the failure, with the error that it follows."""
        return type(failure)(
            f"{self._connector!r} was not created: {error} It could not be removed again: {failure} If it is "
            f"there, {self._registry.delete_by_hand(self._connector)}."
        )


def _key(owner: Owner, title: str) -> str:
    """Identify the saga for a retry of the same task."""
    return f"{title} {owner.task}"


def count_stored(record: SagaRecord) -> int:
    """Return how many partitions have, or had, an offset."""
    found = alteration_in(record)
    assert found is not None  # noqa: S101 - both operations alter offsets
    return len((found.expected_offsets if record.of_title(CREATE) else found.prior_offsets).by_partition())

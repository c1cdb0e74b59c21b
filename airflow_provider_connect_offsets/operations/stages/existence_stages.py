"""Stages of a connector's existence: create it STOPPED, and delete it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from types import MappingProxyType

from airflow_provider_connect_offsets.connect.protocols import ConnectorInfo, State
from airflow_provider_connect_offsets.exceptions import (
    Drift,
    Interfered,
    InvalidRequest,
    NotApplied,
    OutcomeUnknown,
    UnknownConnector,
)
from airflow_provider_connect_offsets.observe.clients import Clients
from airflow_provider_connect_offsets.offsets.kept_config import kept_config
from airflow_provider_connect_offsets.offsets.requests.guards import Named
from airflow_provider_connect_offsets.operations.stages.captured import CREATE, DELETE
from airflow_provider_connect_offsets.operations.stages.reached import ConnectorStage
from airflow_provider_connect_offsets.saga import Captures, Done, Found, JsonMap, Kind, StageState, Undoing


class ExistenceStage(ConnectorStage):
    """Creates or deletes a connector."""

    def _find_existing(self) -> ConnectorInfo | None:
        """Return the connector; None if it does not exist."""
        try:
            return self._clients.control.info(self.subject)
        except UnknownConnector:
            return None

    def _delete(self) -> None:
        """Delete the connector and wait until it is gone; raises :class:`NotApplied` and store errors."""
        registry = self._clients.registry()
        with suppress(UnknownConnector, OutcomeUnknown):  # what is there afterwards decides
            registry.delete(self.subject)
        if self._clients.settle(self._find_existing, until=lambda existing: existing is None) is not None:
            raise NotApplied(
                f"{self.subject!r} still exists {self._clients.timeout:g} s after its deletion was requested."
            )


class CreateConnector(ExistenceStage):
    """Creates a connector as STOPPED; the undo deletes it.

    The journal keeps a digest of the settings that aren't secrets. It distinguishes the connector from one that someone
    else has created under the same name.

    Args:
        connector: Its name.
        clients: Clients of the Connect cluster.
        config: Its configuration; a later process, which can only undo, needs none.
        like: The connector of which it is a copy; empty for any other.
        lasting: False if a later stage deletes it again.
    """

    title = CREATE
    kind = Kind.UNDOABLE
    arguments = ("lasting",)

    def __init__(
        self,
        connector: str,
        clients: Clients,
        config: Mapping[str, str] = MappingProxyType({}),
        *,
        like: str = "",
        lasting: bool = True,
    ) -> None:
        super().__init__(connector, clients)
        self._config = config
        self._like = like
        self.lasting = lasting

    def changed_names(self) -> Iterable[tuple[Named, str]]:
        """Return nothing for a connector that is deleted again: the operation that needs it checks names itself."""
        return super().changed_names() if self.lasting else []

    def capture(self, earlier: Captures) -> JsonMap:
        """Return the digest of its settings; raises :class:`InvalidRequest` if a connector of that name exists."""
        if self._find_existing() is not None:
            raise InvalidRequest(
                f"Nothing was created: a connector {self.subject!r} already exists. Choose another name, or delete it "
                "first."
            )
        return {"digest": _digest(self.subject, self._config)}

    def do(self, captured: JsonMap) -> Done:
        """Create it; raises :class:`Rejected` for an invalid configuration, and other store errors."""
        self._clients.registry().create(self.subject, self._config, initial_state=State.STOPPED, like=self._like)
        status = self._clients.await_status(self.subject, lambda observed: observed.is_stopped)
        if not status.is_stopped:
            raise NotApplied(f"{self.subject!r} was created as STOPPED, but is {status.state}.")
        return Done()

    def find(self, captured: JsonMap) -> StageState:
        """Return BEFORE if it does not exist, FOREIGN if its settings differ, PARTIAL while it is held, else DONE."""
        existing = self._find_existing()
        if existing is None:
            return StageState(Found.BEFORE, NotApplied(f"There is no connector {self.subject!r}."))
        if _digest(self.subject, existing.config) != captured["digest"]:
            return StageState(Found.FOREIGN, self._foreign_error())
        if existing.is_held:
            return StageState(Found.PARTIAL, NotApplied(f"The creation of {self.subject!r} was not completed."))
        return StageState(Found.DONE)

    def stands(self, captured: JsonMap) -> StageState:
        """Return DONE while there is a connector of that name: its configuration may have been corrected since."""
        if self.lasting and self._find_existing() is None:
            return StageState(Found.BEFORE, Drift(f"{self.subject!r} has been deleted."))
        return StageState(Found.DONE)

    def undo(self, captured: JsonMap, undoing: Undoing) -> str:
        """Delete it; raises :class:`Interfered` if it is someone else's, and store errors.

        If the answer to its creation was lost, the worker may still be about to create it: then wait for it first.
        """
        if not undoing.returned and isinstance(undoing.error, OutcomeUnknown):
            self._clients.settle(self._find_existing, until=lambda existing: existing is not None)
        found = self.find(captured)
        if found.found is Found.FOREIGN:
            raise self._foreign_error()
        if found.found in {Found.DONE, Found.PARTIAL}:
            self._delete()
        return ""

    def _foreign_error(self) -> Interfered:
        return Interfered(
            f"The connector {self.subject!r} has unexpected settings: someone else has created or changed it."
        )


class DeleteConnector(ExistenceStage):
    """Deletes a connector. That can't be undone: its configuration has secrets, which the journal must not keep."""

    title = DELETE
    kind = Kind.PIVOT

    def do(self, captured: JsonMap) -> Done:
        """Delete it and wait until it is gone; raises :class:`NotApplied` and store errors."""
        self._delete()
        return Done()

    def find(self, captured: JsonMap) -> StageState:
        """Return DONE if there is no such connector."""
        if self._find_existing() is None:
            return StageState(Found.DONE)
        return StageState(Found.BEFORE, NotApplied(f"{self.subject!r} still exists."))

    def stands(self, captured: JsonMap) -> StageState:
        """Return DONE while there is no such connector."""
        if self._find_existing() is None:
            return StageState(Found.DONE)
        return StageState(Found.FOREIGN, Drift(f"A connector {self.subject!r} has been created again."))


def _digest(connector: str, config: Mapping[str, str]) -> str:
    # Without addresses of brokers: a new connector has other addresses as long as it is held.
    own = {name: value for name, value in kept_config(config).items() if not name.endswith("bootstrap.servers")}
    kept = json.dumps({"name": connector, **own}, sort_keys=True)
    return hashlib.sha256(kept.encode()).hexdigest()

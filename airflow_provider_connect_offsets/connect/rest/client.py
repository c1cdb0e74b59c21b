"""A Connect cluster's REST API (KIP-875, KIP-980) as a store of offsets and as control over connectors."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Self, TypeVar
from urllib.parse import quote

from airflow_provider_connect_offsets.clock import SYSTEM_CLOCK, Clock
from airflow_provider_connect_offsets.connect.protocols import (
    ConnectorControl,
    ConnectorInfo,
    ConnectorOverview,
    ConnectorStatus,
    State,
    WriteReply,
)
from airflow_provider_connect_offsets.connect.rest.bodies import (
    info_of,
    names_of,
    overviews_of,
    plugins_of,
    problems_of,
    reply_of,
    status_of,
)
from airflow_provider_connect_offsets.connect.rest.calls import Transport
from airflow_provider_connect_offsets.connect.rest.endpoint import ConnectEndpoint
from airflow_provider_connect_offsets.connect.rest.refusals import Call
from airflow_provider_connect_offsets.connect.rest.releases import Feature
from airflow_provider_connect_offsets.exceptions import (
    InvalidDocument,
    InvalidInput,
    NotReady,
    OutcomeUnknown,
    Rejected,
    UnknownConnector,
    Unsupported,
)
from airflow_provider_connect_offsets.offsets.document import Offsets, parse_rest
from airflow_provider_connect_offsets.offsets.families import ConnectorType, are_of_sink

Read = TypeVar("Read")
_VERBS = {State.RUNNING: "resume", State.PAUSED: "pause", State.STOPPED: "stop"}

# Characters that Jetty (12, Kafka 4) refuses in paths, encoded or not.
_JETTY_REFUSES = re.compile(r"[\x00-\x1f\x7f%\\]")


@dataclass(frozen=True, slots=True)
class WorkerVersion:
    """A worker's Kafka version, and the id of its Kafka cluster."""

    version: str
    kafka_cluster_id: str


class ConnectRest(ConnectorControl):
    """The REST API of one Connect cluster: an :class:`OffsetStore` and a :class:`ConnectorControl`.

    Use it as a context manager. Calls that request a state return when the worker has accepted them; the caller waits.

    Args:
        endpoint: Addresses and credentials of the cluster.
        timeout: Seconds to wait for the end of a rebalance and for starting workers.
        clock: Measures the timeout.
        patient: Whether to wait for workers although nobody is at any address; a task that changes nothing need not.

    Raises:
        StoreError: From every method, by meaning: ``Unreachable``, ``NotReady``, ``AccessDenied``,
            ``UnknownConnector``, ``RebalanceInProgress``, ``Rejected``, ``Unsupported`` (the worker is too old); from
            changing ones also ``NotStopped`` and ``OutcomeUnknown`` (read back then).
    """

    def __init__(
        self, endpoint: ConnectEndpoint, *, timeout: float = 60.0, clock: Clock = SYSTEM_CLOCK, patient: bool = True
    ) -> None:
        self.timeout = timeout
        self._endpoint, self._clock = endpoint, clock
        self._transport = Transport(endpoint, timeout=timeout, clock=clock, patient=patient)
        self._addresses: dict[str, frozenset[str]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections."""
        self._transport.close()

    def another(self) -> ConnectRest:
        """Return another client of the same cluster, for another thread."""
        return ConnectRest(self._endpoint, timeout=self.timeout, clock=self._clock)

    def version(self) -> WorkerVersion:
        """Return the version of a worker."""
        call = Call("GET", "/", "read the worker's version")
        return self._read(call, lambda body: WorkerVersion(body["version"], body["kafka_cluster_id"]))

    def cluster_names(self) -> tuple[str, str]:
        """Return the id of the workers' Kafka cluster, and no other name."""
        return self.version().kafka_cluster_id, ""

    def addresses(self, connector: str) -> frozenset[str]:
        """Return the configured URLs and the addresses of the workers that run the connector and its tasks (cached).

        URLs and workers may change, so one shared address is enough to recognise the cluster.
        """
        if connector not in self._addresses:
            workers = set[str]()
            with suppress(UnknownConnector):
                status = self.status(connector)
                workers = {status.worker, *(task.worker for task in status.tasks)} - {""}
            self._addresses[connector] = frozenset(workers.union(self._endpoint.urls))
        return self._addresses[connector]

    def connectors(self) -> list[str]:
        """Return the names of all connectors, sorted."""
        return self._read(Call("GET", "/connectors", "list the connectors"), names_of)

    def overview(self) -> dict[str, ConnectorOverview]:
        """Return all connectors (KIP-465), except connectors without a state yet or without their plugin."""
        call = Call("GET", "/connectors?expand=info&expand=status", "list the connectors with their states")
        return self._read(call, overviews_of)

    def info(self, connector: str) -> ConnectorInfo:
        """Return type and configuration, which has secrets: mask them before they leave the process."""
        return self._read(_info_call(connector), partial(_read_about, connector, info_of))

    def status(self, connector: str) -> ConnectorStatus:
        """Return the state of the connector and of its tasks; waits for it if the connector was just created."""
        call = _call("GET", connector, "/status", "read the state of")
        return self._read(call, partial(_read_about, connector, status_of))

    def require_offset_changes(self) -> None:
        """Raise :class:`Unsupported` if the worker's Kafka is too old to change offsets."""
        self._require(Feature.CHANGE_OFFSETS)

    def stop(self, connector: str) -> None:
        """Request STOPPED."""
        self._send(_call("PUT", connector, "/stop", "stop", needs=Feature.STOP))

    def pause(self, connector: str) -> None:
        """Request PAUSED; a STOPPED connector starts no task then."""
        self._transport.send(_call("PUT", connector, "/pause", "pause"))

    def resume(self, connector: str) -> None:
        """Request RUNNING."""
        self._transport.send(_call("PUT", connector, "/resume", "resume"))

    def restart(self, name: str, *, failed_only: bool) -> None:
        """Request a restart (KIP-745); workers carry it out after they have answered."""
        asked = f"/restart?includeTasks=true&onlyFailed={str(failed_only).lower()}"
        self._transport.send(_call("POST", name, asked, "restart"))

    def read_offsets(self, connector: str) -> Offsets:
        """Return all offsets: the last *flushed* offsets of a source, or the committed offsets of a sink's group.

        A source's offsets are read twice: a worker lists the partitions it knows before it reads its offsets topic to
        the end (``ConnectorOffsetBackingStore``), so the first answer may lack a partition that was just written.
        """
        call = _call("GET", connector, "/offsets", "read the offsets of", needs=Feature.READ_OFFSETS)
        offsets = self._read(call, parse_rest)
        return offsets if are_of_sink(offsets) else self._read(call, parse_rest)

    def write_offsets(self, connector: str, changes: Offsets) -> WriteReply:
        """Overwrite the listed partitions (offset None removes); the connector must be STOPPED without tasks.

        Read back after any error: if a sink's changes both alter and remove offsets, part of them may be applied.
        """
        body = changes.as_json()
        call = _call("PATCH", connector, "/offsets", "change the offsets of", body=body, needs=Feature.CHANGE_OFFSETS)
        return self._read(call, reply_of)

    def reset_offsets(self, connector: str) -> WriteReply:
        """Remove all offsets; the connector must be STOPPED without tasks. Read back after any error."""
        return self._read(
            _call("DELETE", connector, "/offsets", "reset the offsets of", needs=Feature.CHANGE_OFFSETS), reply_of
        )

    def plugins(self) -> dict[str, ConnectorType]:
        """Return the connector classes that are installed on the answering worker, with their types."""
        return self._read(Call("GET", "/connector-plugins", "list the connector plugins"), plugins_of)

    def create(
        self, name: str, config: Mapping[str, str], *, initial_state: State = State.RUNNING, like: str = ""
    ) -> ConnectorInfo:
        """Create a connector.

        Args:
            name: Its name.
            config: Its configuration.
            initial_state: Its first state; STOPPED makes it possible to write offsets before it first runs.
            like: Not used: here a connector has nothing but its configuration.

        Raises:
            Rejected: A connector of that name exists, or the configuration is invalid.
            InvalidInput: No later call could reach that name.
            Unsupported: A worker before Kafka 3.7 can only create RUNNING connectors.
        """
        del like
        body: dict[str, Any] = {"name": name, "config": dict(config)}
        _refuse_out_of_reach(name)
        if initial_state is not State.RUNNING:
            self._require(Feature.CREATE_STOPPED)
            body["initial_state"] = initial_state.value
        call = Call("POST", "/connectors", f"create connector {name!r}", name, body)
        return self._read(call, info_of)

    def config_problems(self, config: Mapping[str, str]) -> list[str]:
        """Return what is wrong with a configuration, by the plugins of the answering worker."""
        plugin = quote(config.get("connector.class", ""), safe="")
        path = f"/connector-plugins/{plugin}/config/validate"
        return self._read(Call("PUT", path, "validate a configuration", body=dict(config)), problems_of)

    def update_config(self, name: str, config: Mapping[str, str]) -> ConnectorInfo:
        """Replace the whole configuration; the state stays. Raises :class:`UnknownConnector`."""
        self.info(name)
        call = _call("PUT", name, "/config", "change the configuration of", body=dict(config))
        return self._read(call, info_of)

    def delete(self, name: str) -> None:
        """Delete a connector; the offsets of a source stay stored."""
        self._transport.send(_call("DELETE", name, "", "delete"))

    def by_hand(self, connector: str, state: State) -> str:
        """Name the request for RUNNING, PAUSED or STOPPED."""
        return f"send PUT /connectors/{connector}/{_VERBS[state]}"

    def configure_by_hand(self, name: str) -> str:
        """Name the request that changes a configuration."""
        return f"send PUT /connectors/{name}/config"

    def delete_by_hand(self, name: str) -> str:
        """Name the request that deletes a connector."""
        return f"send DELETE /connectors/{name}"

    def _read(self, call: Call, read: Callable[[Any], Read]) -> Read:
        """Send a call and parse its body; :class:`NotReady` or :class:`OutcomeUnknown` if it is not Connect's."""
        body = self._send(call)
        try:
            return read(body)
        except (InvalidDocument, AttributeError, KeyError, TypeError, ValueError) as error:
            text = f"Can't {call.purpose}: the answer is not from Kafka Connect. Check the base URL."
            raise (OutcomeUnknown if call.changes else NotReady)(text) from error

    def _send(self, call: Call) -> Any:
        try:
            return self._transport.send(call)
        except Unsupported as error:
            if call.needs is not None:
                self._require(call.needs, refused=error)
            raise

    def _require(self, feature: Feature, *, refused: Unsupported | None = None) -> None:
        """Raise :class:`Unsupported` if the worker's version lacks a feature."""
        version = self.version().version
        if not feature.is_in(version):
            raise Unsupported(
                f"Nothing was changed. The worker at {self._transport.url} has Kafka {version}, but {feature.need}. "
                f"{feature.advice}"
            ) from refused


def _call(
    method: str, connector: str, suffix: str, verb: str, *, body: object = None, needs: Feature | None = None
) -> Call:
    path = f"/connectors/{_segment(connector)}"
    return Call(
        method,
        path + suffix,
        f"{verb} connector {connector!r}",
        connector,
        body,
        needs,
        if_unknown=_info_call(connector),
    )


def _info_call(connector: str) -> Call:
    path = f"/connectors/{_segment(connector)}"
    return Call("GET", path, f"read the configuration of connector {connector!r}", connector)


def _read_about(connector: str, read: Callable[[Any], Read], body: Any) -> Read:
    """Parse the body of an answer on a connector; raises :class:`Rejected` if it is on another one.

    Between here and the worker, a gateway may decode the name in the path, and ``;`` ends it then (Jetty).
    """
    if (name := body["name"]) != connector:
        raise Rejected(
            f"The answer for connector {connector!r} is about connector {name!r}. Nothing was changed. A gateway in "
            "front of the worker must hand on the path of a request as it came."
        )
    return read(body)


def _segment(connector: str) -> str:
    """Encode a name as one path segment; raises :class:`InvalidInput` for a name that leads to another path."""
    if not connector.strip() or connector in (".", "..") or "/" in connector:
        raise InvalidInput(
            f"Kafka Connect's REST API can't reach a connector named {connector!r}. "
            "The name must not be empty, '.' or '..', and must not contain '/'."
        )
    return quote(connector, safe="")


def _refuse_out_of_reach(name: str) -> None:
    """Raise :class:`InvalidInput` for a name that Connect accepts and no later call can reach."""
    _segment(name)
    if _JETTY_REFUSES.search(name):
        raise InvalidInput(
            f"A connector named {name!r} could be created, but the REST API could not reach it afterwards. "
            "Choose a name without '%', '\\' and control characters."
        )

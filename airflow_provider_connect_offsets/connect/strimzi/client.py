"""A Connect cluster that Strimzi runs: its connectors and their offsets, by custom resources alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from types import TracebackType
from typing import Self

from airflow_provider_connect_offsets.connect.protocols import ConnectorInfo, State, WriteReply
from airflow_provider_connect_offsets.connect.strimzi import preconditions
from airflow_provider_connect_offsets.connect.strimzi.config_maps import names_ours
from airflow_provider_connect_offsets.connect.strimzi.control import StrimziControl
from airflow_provider_connect_offsets.connect.strimzi.patches import (
    config_patch,
    created_resource,
    held_config,
    restoring_patch,
    settings_of,
)
from airflow_provider_connect_offsets.connect.strimzi.places import Place
from airflow_provider_connect_offsets.connect.strimzi.resources import ResourceKind
from airflow_provider_connect_offsets.exceptions import (
    Conflict,
    ConnectionRefused,
    NobodyThere,
    NotReconciled,
    Rejected,
    StoreError,
)
from airflow_provider_connect_offsets.offsets.document import Offsets
from airflow_provider_connect_offsets.offsets.families import are_of_sink


class ConnectStrimzi(StrimziControl):
    """The connectors of one ``KafkaConnect`` or ``KafkaMirrorMaker2``: an offset store, a control and a registry.

    Use it as a context manager: at the end it removes what it has added to resources, and its ConfigMaps. One thread
    uses it at a time.

    Args:
        api: ``kubernetes.client.ApiClient``; whoever opened it closes it.
        namespace: Namespace of the resources.
        cluster: Name of the resource, or ``KafkaMirrorMaker2/name`` where a ``KafkaConnect`` has the same name; empty:
            the only one of the namespace.
        timeout: Seconds to wait for each thing that the operator does. It acts within a second on most events, but
            checks resources by itself only every two minutes, so less than 300 may be too short.
        clock: Measures the timeout.

    Raises:
        StoreError: From every method, by meaning: ``Unreachable``, ``AccessDenied``, ``UnknownConnector``,
            ``NotReconciled`` (the operator does nothing, and why), ``Rejected``, ``Unsupported``; from changing ones
            also ``NotStopped`` and ``OutcomeUnknown`` (read back then).
    """

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def greet(self) -> None:
        """Return when the API server answers.

        Raises:
            NobodyThere: Its name is unknown, its port is closed, or its certificate is not trusted.
            StoreError: As from every method.
        """
        try:
            _ = self._api.version
        except ConnectionRefused as error:
            raise NobodyThere(f"{error} Check the Kubernetes connection.") from error

    def close(self) -> None:
        """Remove what this client has added to resources; log what can't be removed: the next client removes it."""
        self._leftovers.remove()

    @property
    def cluster_id(self) -> str:
        """The Connect cluster's name in journals, datasets and assets: name, namespace and part of the uid."""
        resource = self._cluster.resource
        return f"{resource.name}.{resource.namespace}.{resource.uid[:8]}"

    def cluster_names(self) -> tuple[str, str]:
        """Return ``cluster_id``, and the name of the workers' service, which the workers' addresses contain too."""
        return self.cluster_id, self._cluster.resource.workers

    def describe(self) -> str:
        """Return a sentence about the cluster, for the test of a connection."""
        return (
            f"Strimzi's {self._cluster.resource}, API version {self._api.version}; connectors: "
            f"{len(self.connectors())}."
        )

    # Offsets.

    def another(self) -> ConnectStrimzi:
        """Return another client of the same resource, for another thread."""
        return ConnectStrimzi(
            self._opened, namespace=self._api.namespace, cluster=self._named, timeout=self._timeout, clock=self._clock
        )

    @cached_property
    def _written(self) -> dict[str, set[str]]:
        """Connectors that this client has listed or altered → the partitions to which it has given an offset."""
        return {}

    def read_offsets(self, connector: str) -> Offsets:
        """Return all offsets of a connector.

        A worker lists the partitions of a source that it knows before it reads its offsets topic to the end (Java class
        ``ConnectorOffsetBackingStore``), so an answer may lack partitions that were first written since the previous
        one. So they are listed twice at first, and whenever a partition is missing that this client has written.
        """
        self._begin_operation(connector)
        offsets = self._operations.list(connector)
        is_complete = connector in self._written and self._written[connector] <= offsets.by_partition().keys()
        if not is_complete and not are_of_sink(offsets):
            offsets = self._operations.list(connector)
        self._written.setdefault(connector, set())
        return offsets

    def prepare(self, connector: str) -> None:
        """List the offsets of a connector that still runs: the operator has fewer passes to make once it is down.

        Afterwards the rights are checked, the resource names ConfigMaps, and the worker knows a source's partitions.
        """
        self.read_offsets(connector)
        self._operations.documents.provide(self._cluster.locate(connector))

    def write_offsets(self, connector: str, changes: Offsets) -> WriteReply:
        """Overwrite the listed partitions (offset None removes) of a STOPPED connector. Does not read back."""
        self._begin_operation(connector)
        written = self._written.pop(connector, set()) - {change.partition for change in changes}
        self._operations.alter(connector, changes)
        self._written[connector] = written | {change.partition for change in changes if change.offset is not None}
        return WriteReply("")  # the operator does not pass on what Connect replies

    def reset_offsets(self, connector: str) -> WriteReply:
        """Remove all offsets of a STOPPED connector. Does not read back."""
        self._begin_operation(connector)
        self._written.pop(connector, None)
        self._operations.reset(connector)
        return WriteReply("")

    # Registry.

    def create(
        self, name: str, config: Mapping[str, str], *, initial_state: State = State.RUNNING, like: str = ""
    ) -> ConnectorInfo:
        """Create a ``KafkaConnector`` that otherwise copies the resource of ``like``; delete it if Connect refuses it.

        An operator before Strimzi's pull request 12974 (2026-07) creates a connector RUNNING, and then stops it. So a
        connector that is to be STOPPED is created with clients that reach no Kafka (``patches.held_config``), and gets
        its own configuration once it is STOPPED.

        Raises:
            InvalidInput: Kubernetes allows no resource of that name.
            Rejected: A connector of that name exists, or Connect refuses the configuration.
            Unsupported: The cluster is a ``KafkaMirrorMaker2``, whose connectors are parts of one resource.
        """
        first = held_config(config) if initial_state is State.STOPPED else config
        self.adopt(name, first, state=initial_state, like=like)
        if initial_state is not State.STOPPED:
            return self.info(name)
        with self._delete_on_error(name):
            status = self.await_status(name, lambda one: one.is_stopped, timeout=self._timeout, clock=self._clock)
            if not status.is_stopped:
                raise NotReconciled(
                    f"Connector {name!r} is {status.state}, not STOPPED, {self._timeout:g} s after its creation."
                )
            self._operations.patch(name, lambda place: config_patch(place, config))
            self.status(name)
        return self.info(name)

    def adopt(self, name: str, config: Mapping[str, str], *, state: State, like: str = "") -> None:
        """Create the ``KafkaConnector`` of a connector that may exist in Connect already; raises as :meth:`create`."""
        self.require_creation(name)
        body = created_resource(
            name,
            config,
            cluster=self._cluster.resource.name,
            state=state,
            version=self._api.version,
            like=self._cluster.locate(like) if like else None,
        )
        try:
            self._api.create(ResourceKind.CONNECTOR, body)
        except Conflict as error:
            raise Rejected(f"Nothing was created: a KafkaConnector {name!r} already exists. {error}") from error
        with self._delete_on_error(name):
            self.status(name)

    @contextmanager
    def _delete_on_error(self, name: str) -> Iterator[None]:
        """Delete a new ``KafkaConnector`` if the block raises a store error, whose class stays."""
        try:
            yield
        except StoreError as error:
            self._cluster.forget(name)
            self._api.delete(ResourceKind.CONNECTOR, name)
            raise type(error)(f"Nothing was created: {error} The new resource was deleted again.") from error

    def require_creation(self, name: str) -> None:
        """Raise :class:`AccessDenied` or :class:`Unsupported` if no resource can be created or deleted."""
        self._require(preconditions.existence_rights())
        self._cluster.require_kafka_connect(name)

    def config_problems(self, config: Mapping[str, str]) -> Sequence[str]:
        """Return nothing: the operator's answer to a change is the first to say what is wrong."""
        del config
        return ()

    def update_config(self, name: str, config: Mapping[str, str]) -> ConnectorInfo:
        """Replace the whole configuration in the resource, and wait until Connect has it; the state stays.

        Raises:
            Rejected: Connect refuses it. The message says whether the resource has its prior configuration again: with
                the refused one, the operator would carry out nothing else, not even a stop.
        """
        prior = self._operations.patch(name, lambda place: config_patch(place, config))
        try:
            self.status(name)
        except Rejected as error:
            restored = self._restore_config(name, config, prior)
            raise Rejected(f"{error} {restored} Correct the configuration, then try again.") from error
        return self.info(name)

    def _restore_config(self, name: str, config: Mapping[str, str], prior: Place) -> str:
        """Restore the configuration that a resource had before ``config``; return a sentence about what it has now."""
        try:
            self._operations.patch(name, lambda place: restoring_patch(place, config, prior=prior))
            if settings_of(self._cluster.locate(name)) != settings_of(prior):
                return (
                    f"Someone else has changed {prior.resource} meanwhile, so its prior configuration was not restored."
                )
            self.status(name)
        except StoreError as error:
            return f"It is unknown whether {prior.resource} has its prior configuration again: {error}"
        return f"{prior.resource} has its prior configuration again."

    def delete(self, name: str) -> None:
        """Delete the ``KafkaConnector``; the operator then deletes the connector. A source's offsets stay stored."""
        self.require_creation(name)
        place = self._operations.await_quiet(name)
        self._leftovers.forget(name)
        if names_ours(place.resource):
            self._operations.documents.remove(place.resource)
        self._cluster.forget(name)
        self._api.delete(ResourceKind.CONNECTOR, name)

    def _begin_operation(self, connector: str) -> None:
        self.require_offset_changes()
        self._require_operator(connector)
        self._leftovers.expect(connector)

"""The operator: passes after events and at intervals, in threads; and switches that make it fail in known ways."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from types import TracebackType
from typing import Self

from kubernetes import watch
from kubernetes.client import ApiClient
from kubernetes.client.exceptions import ApiException
from requests import RequestException
from urllib3.exceptions import HTTPError

from sandbox import Connect, SandboxError, wait_until
from sandbox.kubernetes import PLURALS
from tests.support.strimzi.locks import Locks
from tests.support.strimzi.offset_operations import Hook
from tests.support.strimzi.passes import Passes
from tests.support.strimzi.resources import OFFSETS, Resource, Resources, annotations_of, cluster_of
from tests.support.strimzi.settings import Settings

_log = logging.getLogger(__name__)

_WATCHED = 5  # seconds, after which a watch is renewed
_ENDED = 30.0
_SWEPT = 120.0
_GONE = 410


class Killed(Exception):
    """Raised by a hook: the operator dies at this point, and is away until :meth:`Reconciler.back`."""


class Reconciler:
    """An operator for one namespace and one Connect worker, for as long as a ``with`` block lasts.

    ``client`` may do everything in the namespace. ``version`` is the version of Strimzi's API that the operator uses:
    v1 from 1.0 on, and v1beta2 before, also where v1 is served as well.
    """

    def __init__(self, client: ApiClient, connect: Connect, *, namespace: str, version: str) -> None:
        self.settings = Settings()
        self._resources = Resources(client, namespace=namespace, version=version)
        self._closing = threading.Event()
        self._passes = Passes(self._resources, connect, self.settings, wait=self._closing.wait)
        self._locks = Locks(self.settings)
        self._is_away = threading.Event()
        self._dropping = threading.Lock()
        self._to_drop = 0
        self._broken: list[Exception] = []
        self._watches = [watch.Watch() for _ in PLURALS]
        self._threads = [
            threading.Thread(target=self._sweep_at_intervals, name="strimzi", daemon=True),
            *(
                threading.Thread(target=self._watch, args=(kind, watched), name=f"strimzi {kind}", daemon=True)
                for kind, watched in zip(PLURALS, self._watches, strict=True)
            ),
        ]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closing.set()
        for watched in self._watches:
            watched.stop()
        for thread in self._threads:
            thread.join(_ENDED)
            if thread.is_alive():
                raise SandboxError(f"The thread {thread.name!r} did not end.")
        self._locks.settle(_ENDED)
        if self._broken:
            raise ExceptionGroup("the operator of the tests is broken", self._broken)

    def away(self) -> None:
        """The operator is down: it does nothing, and hears of no event; the passes that were under way have ended."""
        self._is_away.set()
        self.settle()

    def back(self) -> None:
        """The operator is up again, and passes over everything."""
        self._is_away.clear()
        self._sweep(self._locks.run_in_any_case)

    def drop_events(self, count: int) -> None:
        """The next events that ask for an operation on offsets are lost, as when a busy cluster's lock is not free."""
        with self._dropping:
            self._to_drop = count

    def heard(self) -> None:
        """Return when the events that were to be dropped have come."""
        wait_until(lambda: not self._to_drop, _SWEPT, "the events to be dropped did not come")

    def sweep(self) -> None:
        """Pass over all resources, and return when that is done."""
        self._sweep(self._locks.run_in_any_case)
        self.settle()

    def settle(self) -> None:
        """Return when all passes have ended, or are given up, that something has happened for."""
        self._locks.settle(_SWEPT)

    def is_awaited(self, kind: str, resource: Resource) -> bool:
        """Whether a pass waits for the lock of the cluster that a resource belongs to."""
        return self._locks.is_awaited(_cluster(kind, resource))

    @contextmanager
    def before_operation(self, hook: Hook) -> Iterator[None]:
        """While the block lasts, call ``hook`` with connector and operation before each operation on offsets.

        The operator has read the resource then: if the hook changes it, the removal of the annotation conflicts. If
        it raises :class:`Killed`, the operator is away.
        """
        self._passes.offsets.before, before = hook, self._passes.offsets.before
        try:
            yield
        finally:
            self._passes.offsets.before = before

    def _watch(self, kind: str, watched: watch.Watch) -> None:
        """Have passed over what events of a kind are about, from what is there at first on."""
        version: str | None = None
        while not self._closing.is_set():
            resumed = {"resource_version": version} if version else {}
            try:
                function, *arguments = self._resources.watch_arguments(kind)
                for event in watched.stream(function, *arguments, timeout_seconds=_WATCHED, **resumed):
                    if event is None:  # of an empty line
                        continue
                    version = event["object"]["metadata"]["resourceVersion"]
                    self._receive(kind, event["type"], event["object"])
            except ApiException as error:
                version = None if error.status == _GONE else version
                self._closing.wait(0.2)
            except HTTPError:
                self._closing.wait(0.2)

    def _receive(self, kind: str, change: str, resource: Resource) -> None:
        if self._is_away.is_set():
            return
        with self._dropping:
            if self._to_drop and OFFSETS in annotations_of(resource):
                self._to_drop -= 1
                return
        self._locks.run(_cluster(kind, resource), partial(self._guarded, kind, change, resource))

    def _sweep_at_intervals(self) -> None:
        due = time.monotonic()
        while not self._closing.wait(0.1):
            interval = self.settings.interval  # which tests change meanwhile
            if interval is not None and time.monotonic() >= due:
                self._sweep(self._locks.run)
                with suppress(SandboxError):  # who waits for a pass that does not end says so
                    self.settle()
                due = time.monotonic() + interval

    def _sweep(self, run: Callable[[str, Callable[[], None]], None]) -> None:
        """Have all resources passed over; a KafkaConnector is passed over with its KafkaConnect."""
        for kind in ("KafkaConnect", "KafkaMirrorMaker2"):
            for resource in self._listed(kind):
                run(_cluster(kind, resource), partial(self._guarded, kind, "SWEPT", resource))

    def _listed(self, kind: str) -> list[Resource]:
        try:
            return [] if self._is_away.is_set() else self._resources.list(kind)
        except (ApiException, HTTPError):
            _log.exception("%s could not be listed", kind)
            return []

    def _guarded(self, kind: str, change: str, resource: Resource) -> None:
        """A pass; what fails is logged, and tried again with the next event or sweep."""
        if self._is_away.is_set() or self._closing.is_set():
            return
        try:
            self._pass(kind, change, resource)
        except Killed:
            self._is_away.set()
        except (ApiException, HTTPError, RequestException, SandboxError):
            _log.exception("the pass over %s %s failed", kind, resource["metadata"]["name"])
        except Exception as error:  # noqa: BLE001 - as Strimzi does, it goes on; the tests fail at their end
            self._broken.append(error)

    def _pass(self, kind: str, change: str, resource: Resource) -> None:
        deleted = change == "DELETED"
        if kind == "KafkaConnector":
            # As Strimzi has it: of the resource as the event had it, which may be outdated.
            (self._passes.over_deleted_connector if deleted else self._passes.over_connector)(resource)
            return
        current = None if deleted else self._resources.get(kind, resource["metadata"]["name"])
        if kind == "KafkaConnect":
            (self._passes.over_deleted_connect(resource) if current is None else self._passes.over_connect(current))
        elif current is None:
            self._passes.over_deleted_mirror_maker(resource)
        else:
            self._passes.over_mirror_maker(current)


def _cluster(kind: str, resource: Resource) -> str:
    """What has the lock of a resource: its KafkaConnect or KafkaMirrorMaker2; a connector of no cluster has its own."""
    connect = cluster_of(resource) if kind == "KafkaConnector" else None
    return f"KafkaConnect {connect}" if connect else f"{kind} {resource['metadata']['name']}"

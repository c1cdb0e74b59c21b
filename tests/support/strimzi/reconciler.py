"""The operator: passes after events and at intervals, in a thread; and switches that make it fail in known ways."""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

from kubernetes import watch
from kubernetes.client import ApiClient
from kubernetes.client.exceptions import ApiException
from requests import RequestException
from urllib3.exceptions import HTTPError

from sandbox import Connect, SandboxError, wait_until
from sandbox.kubernetes import PLURALS
from tests.support.strimzi.offset_operations import Hook
from tests.support.strimzi.passes import Passes
from tests.support.strimzi.resources import OFFSETS, Resource, Resources, annotations_of

_log = logging.getLogger(__name__)

_WATCHED = 5  # seconds, after which a watch is renewed
_ENDED = 30.0
_SWEPT = 120.0
_GONE = 410


class Killed(Exception):
    """Raised by a hook: the operator dies at this point, and is away until :meth:`Reconciler.back`."""


@dataclass(frozen=True, slots=True)
class _Event:
    kind: str
    change: str
    resource: Resource


@dataclass(frozen=True, slots=True)
class _Sweep:
    """Passes over all resources."""

    done: threading.Event = field(default_factory=threading.Event)


class Reconciler:
    """An operator for one namespace and one Connect worker, for as long as a ``with`` block lasts.

    ``client`` may do everything in the namespace. ``version`` is the version of Strimzi's API that the operator uses.
    Every ``interval`` seconds it passes over all resources (None: never), as Strimzi does every 120 seconds.
    """

    def __init__(
        self,
        client: ApiClient,
        connect: Connect,
        *,
        namespace: str,
        version: str = "v1",
        interval: float | None = 1.0,
    ) -> None:
        self.interval = interval
        #: Seconds between the removal of an annotation and the status.
        self.status_delay = 0.0
        self._resources = Resources(client, namespace=namespace, version=version)
        self._passes = Passes(self._resources, connect)
        self._passes.before_status = self._delay
        self._todo: queue.Queue[_Event | _Sweep] = queue.Queue()
        self._closing = threading.Event()
        self._is_away = threading.Event()
        self._passing = threading.RLock()  # a pass may end itself
        self._dropping = threading.Lock()
        self._to_drop = 0
        self._broken: list[Exception] = []
        self._watches = [watch.Watch() for _ in PLURALS]
        self._threads = [
            threading.Thread(target=self._work, name="strimzi", daemon=True),
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
        if self._broken:
            raise ExceptionGroup("the operator of the tests is broken", self._broken)

    def away(self) -> None:
        """The operator is down: it does nothing, and hears of no event; the pass that was under way has ended."""
        self._is_away.set()
        with self._passing:
            pass

    def back(self) -> None:
        """The operator is up again, and passes over everything."""
        self._is_away.clear()
        self._todo.put(_Sweep())

    def drop_events(self, count: int) -> None:
        """The next events that ask for an operation on offsets are lost, as when a busy cluster's lock is not free."""
        with self._dropping:
            self._to_drop = count

    def heard(self) -> None:
        """Return when the events that were to be dropped have come."""
        wait_until(lambda: not self._to_drop, _SWEPT, "the events to be dropped did not come")

    def sweep(self) -> None:
        """Pass over all resources, and return when that is done."""
        sweep = _Sweep()
        self._todo.put(sweep)
        if not sweep.done.wait(_SWEPT):
            raise SandboxError(f"The operator did not pass over all resources within {_SWEPT:.0f} s.")

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

    def _delay(self) -> None:
        self._closing.wait(self.status_delay)

    def _watch(self, kind: str, watched: watch.Watch) -> None:
        """Queue the events of a kind, from what is there at first on."""
        version: str | None = None
        while not self._closing.is_set():
            resumed = {"resource_version": version} if version else {}
            try:
                function, *arguments = self._resources.watch_arguments(kind)
                for event in watched.stream(function, *arguments, timeout_seconds=_WATCHED, **resumed):
                    if event is None:  # of an empty line
                        continue
                    version = event["object"]["metadata"]["resourceVersion"]
                    self._receive(_Event(kind, event["type"], event["object"]))
            except ApiException as error:
                version = None if error.status == _GONE else version
                self._closing.wait(0.2)
            except HTTPError:
                self._closing.wait(0.2)

    def _receive(self, event: _Event) -> None:
        if self._is_away.is_set():
            return
        with self._dropping:
            if self._to_drop and OFFSETS in annotations_of(event.resource):
                self._to_drop -= 1
                return
        self._todo.put(event)

    def _work(self) -> None:
        due = time.monotonic()
        while not self._closing.is_set():
            interval = self.interval  # which tests change meanwhile
            if interval is not None and time.monotonic() >= due:
                self._sweep(_Sweep())
                due = time.monotonic() + interval
            try:
                todo = self._todo.get(timeout=0.1)
            except queue.Empty:
                continue
            if isinstance(todo, _Sweep):
                self._sweep(todo)
            else:
                self._guarded(todo.kind, todo.change, todo.resource)

    def _sweep(self, sweep: _Sweep) -> None:
        for kind in ("KafkaConnect", "KafkaMirrorMaker2"):
            for resource in self._listed(kind):
                self._guarded(kind, "SWEPT", resource)
        sweep.done.set()

    def _listed(self, kind: str) -> list[Resource]:
        try:
            return [] if self._is_away.is_set() else self._resources.list(kind)
        except (ApiException, HTTPError):
            _log.exception("%s could not be listed", kind)
            return []

    def _guarded(self, kind: str, change: str, resource: Resource) -> None:
        """A pass; what fails is logged, and tried again with the next event or sweep."""
        with self._passing:
            if not self._is_away.is_set():
                self._passed(kind, change, resource)

    def _passed(self, kind: str, change: str, resource: Resource) -> None:
        try:
            self._pass(kind, change, resource)
        except Killed:
            self.away()
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
        current: Any = None if deleted else self._resources.get(kind, resource["metadata"]["name"])
        if kind == "KafkaConnect":
            (self._passes.over_deleted_connect(resource) if current is None else self._passes.over_connect(current))
        elif current is None:
            self._passes.over_deleted_mirror_maker()
        else:
            self._passes.over_mirror_maker(current)

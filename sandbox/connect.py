"""A client of Kafka Connect's REST API for the sandbox and tests, independent of the package under test."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import requests

from sandbox.errors import NotInTime, RestRefusal
from sandbox.waiting import Progress, wait_until

# Longer than the 90 s after which Connect itself gives up.
_CALL_TIMEOUT = 100.0
_ANSWERED = 20.0
_TIMEOUT = 60.0
_UNKNOWN = 404
_NOT_YET = (_UNKNOWN, 409)  # just created, or a rebalance is under way

PLUGINS = frozenset(
    f"org.apache.kafka.connect.{name}"
    for name in (
        "mirror.MirrorSourceConnector",
        "mirror.MirrorCheckpointConnector",
        "mirror.MirrorHeartbeatConnector",
        "file.FileStreamSourceConnector",
        "file.FileStreamSinkConnector",
    )
)


class Connect(ABC):
    """A client of a Connect cluster at :attr:`url`."""

    @property
    @abstractmethod
    def url(self) -> str:
        """The address of its REST API, without a slash at the end."""

    def call(self, method: str, path: str, body: object = None, *, timeout: float = _CALL_TIMEOUT) -> Any:
        """Make one request and return the answer's JSON (None: it had no body)."""
        with requests.Session() as session:
            session.trust_env = False  # a proxy of the environment can't reach 127.0.0.1
            response = session.request(method, f"{self.url}{path}", json=body, timeout=timeout)
        if not response.ok:
            raise RestRefusal(f"{method} {path}", response.status_code, response.text)
        return response.json() if response.content else None

    def is_ready(self) -> bool:
        """Whether the worker accepts requests and has all plugins."""
        try:
            self.call("GET", "/connectors", timeout=_ANSWERED)  # not answered before it has joined its group
            plugins = self.call("GET", "/connector-plugins", timeout=_ANSWERED)
        except (requests.RequestException, RestRefusal):
            return False
        return {plugin["class"] for plugin in plugins} >= PLUGINS

    def connectors(self) -> list[str]:
        """The names of all connectors."""
        return sorted(self.call("GET", "/connectors"))

    def create(self, name: str, config: Mapping[str, str], *, initial_state: str = "RUNNING") -> None:
        """Create a connector; a state other than RUNNING needs Kafka 3.7."""
        state = {} if initial_state == "RUNNING" else {"initial_state": initial_state}
        request = {"name": name, "config": dict(config), **state}
        self._insist("POST", "/connectors", request, done_before="already exists")

    def delete(self, name: str) -> None:
        """Delete a connector and wait until it is gone. Connect keeps its source offsets."""
        self._insist("DELETE", _path(name), done_before="not found")
        late = f"connector {name} was not deleted in time"
        wait_until(lambda: name not in self.connectors(), _TIMEOUT, late, progress=self.work)

    def config(self, name: str) -> dict[str, str]:
        """A connector's configuration."""
        config: dict[str, str] = self.call("GET", _path(name, "config"))
        return config

    def update_config(self, name: str, config: Mapping[str, str]) -> None:
        """Replace a connector's configuration."""
        self._insist("PUT", _path(name, "config"), dict(config))

    def status(self, name: str) -> dict[str, Any]:
        """A connector's status, as the REST API returns it."""
        status: dict[str, Any] = self.call("GET", _path(name, "status"))
        return status

    @property
    def work(self) -> Progress:
        """Progress of starting and stopping connectors: how many connectors and tasks are in each state."""
        return {"states of all": self._by_state}

    def offsets(self, name: str) -> list[dict[str, Any]]:
        """A connector's offsets: maps with ``partition`` and ``offset``.

        They are requested twice. For a source, Connect lists the partitions that it has in memory, and only then reads
        its topic to the end: the first answer may lack a partition that was written a moment ago, or have one that was
        removed, with no offset. The second answer contains what the first request has read.
        """
        path = _path(name, "offsets")
        self._insist("GET", path)
        offsets: list[dict[str, Any]] = self._insist("GET", path)["offsets"]
        return offsets

    def stored_offsets(self, name: str) -> list[dict[str, Any] | None]:
        """A connector's offsets without their partitions."""
        return [entry["offset"] for entry in self.offsets(name)]

    def alter(self, name: str, offsets: Sequence[Mapping[str, Any]]) -> str:
        """Alter offsets of a stopped connector and return Connect's message."""
        return str(self._insist("PATCH", _path(name, "offsets"), {"offsets": list(offsets)})["message"])

    def reset(self, name: str) -> str:
        """Reset all offsets of a stopped connector and return Connect's message."""
        return str(self._insist("DELETE", _path(name, "offsets"))["message"])

    def stop(self, name: str) -> None:
        """Stop a connector and wait until it has no task."""
        self._insist("PUT", _path(name, "stop"))
        self.wait_state(name, "STOPPED")

    def pause(self, name: str) -> None:
        """Pause a connector and wait until its tasks are paused."""
        self._insist("PUT", _path(name, "pause"))
        self.wait_state(name, "PAUSED")

    def resume(self, name: str) -> None:
        """Resume a connector and wait until it runs."""
        self._insist("PUT", _path(name, "resume"))
        self.wait_state(name, "RUNNING")

    def wait_state(self, name: str, state: str, tasks: int | None = None, timeout: float = _TIMEOUT) -> dict[str, Any]:
        """Wait until a connector and all its tasks are in ``state`` and return its status.

        ``tasks`` is how many there must be. ``FAILED`` is reached when the connector or any task has failed, and
        ``STOPPED`` only when no task is left.
        """
        last: list[object] = ["no status"]

        def reached() -> dict[str, Any] | None:
            try:
                status = self.status(name)
            except RestRefusal as refusal:
                if refusal.status_code not in _NOT_YET:
                    raise
                last[0] = refusal
                return None
            last[0] = status
            return status if _is_in(status, state, tasks) else None

        try:
            status = wait_until(reached, timeout, f"connector {name} did not become {state}", progress=self.work)
        except NotInTime as late:
            raise NotInTime(f"{late}; its last status: {last[0]}") from late
        return status or {}

    def is_led(self) -> bool:
        """Whether changes reach a leader: only a leader answers that an unknown connector can't be deleted."""
        try:
            self.call("DELETE", "/connectors/no-such-connector")
        except RestRefusal as refusal:
            return refusal.status_code == _UNKNOWN
        return True

    def _insist(self, method: str, path: str, body: object = None, *, done_before: str | None = None) -> Any:
        """Make a request as soon as no rebalance, and no other work of the worker, prevents it.

        ``done_before`` is the error text of a repeated request whose first attempt succeeded, though it timed out.
        """
        answer: list[Any] = []
        failed: list[RestRefusal] = []

        def is_answered() -> bool:
            try:
                answer.append(self.call(method, path, body))
            except RestRefusal as refusal:
                if not (failed and done_before and done_before in refusal.body):
                    failed.append(refusal)
                    raise
                answer.append(None)
            return True

        wait_until(is_answered, _TIMEOUT, f"{method} {path} was not accepted", progress=self.work, interval=0.2)
        return answer[0]

    def _by_state(self) -> Counter[str]:
        statuses: dict[str, Any] = self.call("GET", "/connectors?expand=status")
        parts = [part for one in statuses.values() for part in (one["status"]["connector"], *one["status"]["tasks"])]
        return Counter(part["state"] for part in parts)


@dataclass(frozen=True, slots=True)
class ConnectAt(Connect):
    """A Connect cluster that someone else runs."""

    url: str


def _path(name: str, *rest: str) -> str:
    return "/".join(("/connectors", quote(name, safe=""), *rest))


def _is_in(status: Mapping[str, Any], state: str, tasks: int | None) -> bool:
    connector = status["connector"]["state"]
    states = [task["state"] for task in status["tasks"]]
    if tasks is not None and len(states) != tasks:
        return False
    if state == "FAILED":
        return state in (connector, *states)
    if state == "STOPPED" and states:
        return False
    return all(observed == state for observed in (connector, *states))

"""One pass over one connector: config, or else state and offsets (Strimzi's ``maybeCreateOrUpdateConnector``)."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

from requests import RequestException

from sandbox import Connect, RestRefusal, wait_until
from tests.support.strimzi.conditions import Condition, Failed, now, warning
from tests.support.strimzi.desired import Described
from tests.support.strimzi.offset_operations import OffsetOperations, rest_message
from tests.support.strimzi.resources import Resources
from tests.support.strimzi.settings import Settings

_UNKNOWN = 404
_STATUS_WITHIN = 60.0
# What Strimzi calls to get from one state to another; from UNASSIGNED, RESTARTING and FAILED it changes nothing.
_CHANGES = {
    ("RUNNING", "paused"): "pause",
    ("RUNNING", "stopped"): "stop",
    ("PAUSED", "running"): "resume",
    ("PAUSED", "stopped"): "stop",
    ("STOPPED", "running"): "resume",
    ("STOPPED", "paused"): "pause",
}

#: How often the operator has restarted a connector, and when it did so last, as its status says.
AutoRestart = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Passed:
    """What a pass over a connector found: the body of ``GET /status``, the topics, Warnings, and its restarts."""

    status: dict[str, Any]
    topics: list[str]
    warnings: list[Condition]
    restarts: AutoRestart | None = None

    @property
    def failure(self) -> Failed | None:
        """Why the connector is not ready, though the pass is done."""
        if self.status["connector"]["state"] == "FAILED":
            return Failed("Throwable", "Connector has failed, see connectorStatus for more details.")
        failed = [str(task["id"]) for task in self.status["tasks"] if task["state"] == "FAILED"]
        if not failed:
            return None
        return Failed(
            "Throwable",
            f"The following tasks have failed: {', '.join(failed)}, see connectorStatus for more details.",
        )


class ConnectorPasses:
    """Makes connectors what resources describe."""

    def __init__(self, resources: Resources, connect: Connect, offsets: OffsetOperations, settings: Settings) -> None:
        self._resources = resources
        self._connect = connect
        self._offsets = offsets
        self._settings = settings

    def over(self, described: Described) -> Passed:
        """Do one pass. If the config differs, it is written, and the offsets are left for the next pass."""
        return _raising_failed(lambda: self._over(described))

    def delete(self, name: str) -> None:
        """Delete a connector, if it is there."""
        try:
            self._connect.call("DELETE", _path(name))
        except RestRefusal as refusal:
            if refusal.status_code != _UNKNOWN:
                raise

    def _over(self, described: Described) -> Passed:
        warnings: list[Condition] = []
        if self._config(described.name) == described.config:
            warnings += self._change_state(described)
            warnings += self._offsets.run(described)
        else:
            self._configure(described)
            self._change_state(described)
        status, restarts = self._restart_failed(described, self._status(described.name))
        topics = self._connect.call("GET", _path(described.name, "/topics"))[described.name]["topics"]
        return Passed(status, sorted(topics), warnings, restarts)

    def _configure(self, described: Described) -> None:
        """Write the config; of a refused one Strimzi passes on what Connect says."""
        try:
            self._connect.update_config(described.name, described.config)
        except RestRefusal as refusal:
            said = json.loads(refusal.body)["message"]
            raise Failed("ConnectRestException", rest_message(refusal, said)) from refusal

    def _change_state(self, described: Described) -> list[Condition]:
        state = self._status(described.name)["connector"]["state"]
        change = _CHANGES.get((state, described.state))
        if change is not None:
            self._connect.call("PUT", _path(described.name, f"/{change}"))
        if not described.has_state_twice:
            return []
        text = (
            "Both pause and state are set. Since pause is deprecated, state takes precedence so the connector will be"
        )
        return [warning("UpdateState", f"{text} {described.state}")]

    def _restart_failed(
        self, described: Described, status: dict[str, Any]
    ) -> tuple[dict[str, Any], AutoRestart | None]:
        """Restart what has failed, if the resource wants that (Strimzi's ``autoRestartFailedConnectorAndTasks``)."""
        wish = described.spec.get("autoRestart", {})
        if not wish.get("enabled"):
            return status, None
        last = self._last_restart(described)
        is_due = last is None or _seconds_since(last) >= self._settings.restart_backoff
        states = {one["state"] for one in (status["connector"], *status["tasks"])}
        if "FAILED" not in states:
            # Strimzi does not look at these states: its back-off is long enough for them to pass.
            return status, None if is_due and states.isdisjoint({"RESTARTING", "UNASSIGNED"}) else last
        count = last["count"] if last else 0
        if not is_due or count >= wish.get("maxRestarts", count + 1):
            return status, last
        restart = _path(described.name, "/restart?includeTasks=true&onlyFailed=true")
        status = self._connect.call("POST", restart)
        return status, {"count": count + 1, "connectorName": described.name, "lastRestartTimestamp": now()}

    def _last_restart(self, described: Described) -> AutoRestart | None:
        """The last restart, of the resource as it is now: an event may be of before."""
        resource = described.resource
        current = self._resources.get(resource["kind"], resource["metadata"]["name"]) or {}
        status = current.get("status", {})
        restarts = [status.get("autoRestart"), *status.get("autoRestartStatuses", [])]
        return next((one for one in restarts if one and one["connectorName"] == described.name), None)

    def _config(self, name: str) -> dict[str, str] | None:
        try:
            return self._connect.config(name)
        except RestRefusal as refusal:
            if refusal.status_code != _UNKNOWN:
                raise
            return None

    def _status(self, name: str) -> dict[str, Any]:
        """The status, which a new connector has a moment after its creation."""

        def status() -> dict[str, Any] | None:
            try:
                return self._connect.status(name)
            except RestRefusal as refusal:
                if refusal.status_code != _UNKNOWN:
                    raise
                return None

        return wait_until(status, _STATUS_WITHIN, f"connector {name} has no status", interval=0.2) or {}


def _raising_failed(do: Callable[[], Passed]) -> Passed:
    """What Connect refuses becomes the reason why a resource is not ready."""
    try:
        return do()
    except RestRefusal as refusal:
        raise Failed("ConnectRestException", rest_message(refusal)) from refusal
    except RequestException as error:  # the real operator's message is empty (docs/seen.md)
        raise Failed("ConnectException", "") from error


def _seconds_since(restart: AutoRestart) -> float:
    return (datetime.now(UTC) - datetime.fromisoformat(restart["lastRestartTimestamp"])).total_seconds()


def _path(name: str, rest: str = "") -> str:
    return f"/connectors/{quote(name, safe='')}{rest}"

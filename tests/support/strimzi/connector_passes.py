"""One pass over one connector: config, or else state and offsets (Strimzi's ``maybeCreateOrUpdateConnector``)."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from requests import RequestException

from sandbox import Connect, RestRefusal, wait_until
from tests.support.strimzi.conditions import Condition, Failed, warning
from tests.support.strimzi.desired import Described
from tests.support.strimzi.offset_operations import OffsetOperations, rest_message

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


@dataclass(frozen=True, slots=True)
class Passed:
    """What a pass over a connector found: the body of ``GET /status``, the topics, and Warnings."""

    status: dict[str, Any]
    topics: list[str]
    warnings: list[Condition]

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

    def __init__(self, connect: Connect, offsets: OffsetOperations) -> None:
        self._connect = connect
        self._offsets = offsets

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
        status = self._status(described.name)
        topics = self._connect.call("GET", _path(described.name, "/topics"))[described.name]["topics"]
        return Passed(status, sorted(topics), warnings)

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


def _path(name: str, rest: str = "") -> str:
    return f"/connectors/{quote(name, safe='')}{rest}"

"""The status of a resource, as Strimzi's ``StatusUtils`` and ``StatusDiff`` make and compare it."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

Condition = dict[str, str]
Status = dict[str, Any]


class Failed(Exception):
    """A pass over a resource failed: it becomes NotReady, with the name of Strimzi's exception as its reason."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


def ready(failure: Failed | None) -> Condition:
    """Ready, or why not."""
    if failure is None:
        return {"type": "Ready", "status": "True", "lastTransitionTime": now()}
    return {**_with_reason("NotReady", failure.reason, str(failure)), "lastTransitionTime": now()}


def warning(reason: str, message: str) -> Condition:
    """A condition that says what could not be done, in addition to Ready."""
    return {**_with_reason("Warning", reason, message), "lastTransitionTime": now()}


def paused() -> Condition:
    """The condition of a resource that is left alone."""
    return {"type": "ReconciliationPaused", "status": "True", "lastTransitionTime": now()}


def same(one: Mapping[str, Any] | None, other: Mapping[str, Any]) -> bool:
    """Whether two statuses differ in nothing but times."""
    return _without_times(one or {}) == _without_times(other)


def _with_reason(kind: str, reason: str, message: str) -> Condition:
    return {"type": kind, "status": "True", "reason": reason, "message": message}


def _without_times(status: Mapping[str, Any]) -> dict[str, Any]:
    timeless = copy.deepcopy(dict(status))
    for condition in timeless.get("conditions", []):
        condition.pop("lastTransitionTime", None)
    return timeless


def now() -> str:
    """The time, in the format of a status."""
    return datetime.now(UTC).isoformat().replace("+00:00", "Z")
